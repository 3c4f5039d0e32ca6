//! How `ctx serve` reacts to signals.

use std::io;
use std::path::PathBuf;

use ctx_server::{Credentials, LiveCredentials};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::interrupt::{self, Signal};
use crate::report::{self, Report};

/// Cancelled by the signals that end the server, among them a hang-up if it has no other meaning.
/// The first signal lets requests end; the second ends the program without waiting for anything.
pub(super) struct Stop(CancellationToken);

impl Stop {
    /// Listens from now on, not only once it is waited for; also for a hang-up, if `is_hung_up`.
    pub(super) fn new(is_hung_up: bool) -> Result<Self, Failure> {
        let signals = Signal::ending().filter(|it| is_hung_up || *it != Signal::Hangup);
        let told = CancellationToken::new();
        let stop = Stop(told.clone());
        let heard = interrupt::listen(signals, move || {
            if told.is_cancelled() {
                interrupt::end();
            }
            told.cancel();
        });
        heard.map_err(no_signals)?;
        Ok(stop)
    }

    /// Waits for the first signal.
    pub(super) async fn wait(self) {
        self.0.cancelled().await;
    }
}

/// Reads the tokens at `path` again after each hang-up, as long as the program runs.
pub(super) fn read_again(
    path: PathBuf,
    credentials: LiveCredentials,
    report: Report,
) -> Result<(), Failure> {
    let again = move || match Credentials::read(&path).map_err(anyhow::Error::from) {
        Ok(read) => {
            let (count, path) = (read.len(), path.display());
            credentials.replace(read);
            report.note(&format!(
                "read the tokens in {path} again: {count} are accepted now"
            ));
        }
        Err(error) => report::warning(&format!(
            "the accepted tokens stay the same: failed to {error:#}"
        )),
    };
    let heard = interrupt::listen([Signal::Hangup], again);
    heard.map(drop).map_err(no_signals)
}

fn no_signals(error: io::Error) -> Failure {
    Failure::start(error, "cannot listen for signals")
}
