//! Reports the progress of indexing to clients that request it.

use std::sync::Arc;

use ctx_index::Progress;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::workspace::Report;

/// Returns a callback that reports the progress of indexing to the client, if it requested that.
pub(crate) fn progress(context: &RequestContext<RoleServer>) -> (Report, Option<JoinHandle<()>>) {
    let Some(token) = context.meta.get_progress_token() else {
        return (Arc::new(|_| {}), None);
    };
    let (sender, mut receiver) = mpsc::unbounded_channel::<Progress>();
    let peer = context.peer.clone();
    let forward = tokio::spawn(async move {
        let mut told = Reported::default();
        while let Some(progress) = receiver.recv().await {
            let Some((done, of)) = told.next(progress) else {
                continue;
            };
            #[expect(
                clippy::cast_precision_loss,
                reason = "there are fewer than 2^52 files"
            )]
            let parameters = ProgressNotificationParam::new(token.clone(), done as f64)
                .with_total(of as f64)
                .with_message("indexing files");
            if peer.notify_progress(parameters).await.is_err() {
                break;
            }
        }
    });
    let report = move |progress| {
        // A client that has gone needs no progress.
        let _ = sender.send(progress);
    };
    (Arc::new(report), Some(forward))
}

/// What was reported so far, for folders that are indexed one after another.
#[derive(Debug, Default)]
struct Reported {
    /// Files of the folders before.
    before: usize,
    /// Files of this folder.
    done: usize,
    /// The count that was reported last, over all folders.
    last: Option<usize>,
}

impl Reported {
    /// How many files are done, and of how many; `None` if that is no more than was reported.
    fn next(&mut self, progress: Progress) -> Option<(usize, usize)> {
        if progress.is_waiting {
            return None;
        }
        if progress.done < self.done {
            self.before += self.done;
        }
        self.done = progress.done;
        let done = self.before + self.done;
        let is_more = self.last.is_none_or(|it| it < done);
        is_more.then(|| {
            self.last = Some(done);
            (done, self.before + progress.of)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_only_grows() {
        let mut told = Reported::default();
        let mut waiting = Progress::default();
        waiting.is_waiting = true;
        let of = |(done, of): (usize, usize)| {
            let mut progress = Progress::default();
            (progress.done, progress.of) = (done, of);
            progress
        };
        let first = [(0, 90), (64, 90), (90, 90)].map(of);
        let second = [(0, 2), (2, 2)].map(of);
        let nothing = [(0, 0), (0, 0)].map(of);
        let all = [&[waiting; 3], &first[..], &[waiting; 3], &second, &nothing];
        let all = all.concat().into_iter();
        let all: Vec<_> = all.filter_map(|it| told.next(it)).collect();
        assert_eq!(all, [(0, 90), (64, 90), (90, 90), (92, 92)]);
    }
}
