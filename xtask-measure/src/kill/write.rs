//! The writers, and what was acknowledged to each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::files;
use crate::served::{Client, Owner, Request, post, put};

/// How long to wait before trying again when there is nothing to vote for, or the server is full.
const PAUSE: Duration = Duration::from_millis(5);

/// What was acknowledged to one owner.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    /// The possible pins of each thread: while a change of them was not acknowledged, the earlier
    /// ones, and those that were sent.
    pub(super) threads: BTreeMap<String, Vec<Pins>>,
    pub(super) messages: Vec<String>,
    /// The content of each path, and the run that sent it.
    pub(super) files: BTreeMap<String, (u32, String)>,
    /// The possible contents of each path whose replacement was not acknowledged: the earlier one,
    /// and the one that was sent.
    pub(super) either: BTreeMap<String, [String; 2]>,
    /// Handles whose vote counted, by run.
    pub(super) votes: Vec<(u32, String)>,
    /// Handles whose vote was sent but not acknowledged.
    pub(super) unknown_votes: Vec<String>,
    /// The number of acknowledgements of each kind.
    pub(super) counts: Counts,
}

/// What is pinned to a thread, in order.
pub(super) type Pins = Vec<String>;

/// Counts by kind.
pub(super) type Counts = BTreeMap<Kind, usize>;

/// A kind of acknowledged change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    File,
    /// A file that replaced another.
    Replaced,
    Vote,
    Thread,
    Message,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] = [
        Kind::File,
        Kind::Replaced,
        Kind::Vote,
        Kind::Thread,
        Kind::Message,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Replaced => "replaced file",
            Kind::Vote => "vote",
            Kind::Thread => "thread",
            Kind::Message => "message",
        }
    }
}

/// The writer for one owner.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) client: Client,
    pub(super) owner: Owner,
    pub(super) at: usize,
    pub(super) run: u32,
    pub(super) told: Rc<RefCell<Vec<Acknowledged>>>,
}

impl Writer {
    async fn send(&self, path: &str, body: &Value) -> Result<Value> {
        self.ask(post(path, &self.owner.token, body)?).await
    }

    /// Repeats a request that the server rejected for lack of room, which had no effect.
    async fn ask(&self, request: Request) -> Result<Value> {
        loop {
            let reply = self.client.ask(request.clone()).await?;
            let is_shed = reply.status == 503 && reply.contains("problem-overloaded");
            if !is_shed {
                return reply.data();
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn note(&self, note: impl FnOnce(&mut Acknowledged)) {
        note(&mut self.told.borrow_mut()[self.at]);
    }

    /// Records something of this kind as acknowledged.
    fn acknowledged(&self, kind: Kind, note: impl FnOnce(&mut Acknowledged)) {
        self.note(|it| {
            note(it);
            *it.counts.entry(kind).or_default() += 1;
        });
    }

    pub(super) async fn threads(self) -> Result<()> {
        for number in 0_u64.. {
            let id = format!("t-{}-{number}", self.run);
            let first = vec![format!("first-{number}.md")];
            let body = json!({"id": id, "title": id, "pinned": first});
            self.send("/v1/threads", &body).await?;
            self.acknowledged(Kind::Thread, |it| {
                it.threads.insert(id.clone(), vec![first]);
            });
            if number % 2 == 0 {
                continue;
            }
            let then = vec![format!("then-{number}.md"), format!("also-{number}.md")];
            let path = format!("/v1/threads/{id}/pinned");
            let request = put(&path, &self.owner.token, &json!({ "pinned": then }))?;
            // Until it is acknowledged, either may be pinned.
            self.note(|it| it.threads.entry(id.clone()).or_default().push(then.clone()));
            self.ask(request).await?;
            self.note(|it| drop(it.threads.insert(id, vec![then])));
        }
        Ok(())
    }

    pub(super) async fn messages(self) -> Result<()> {
        // It exists already, except in the first run.
        let _ = self.send("/v1/threads", &json!({"id": "t"})).await;
        for number in 0_u64.. {
            let content = format!(
                "message {number} of run {} of {}",
                self.run, self.owner.name
            );
            let body = json!({"role": "user", "content": content});
            self.send("/v1/threads/t/messages", &body).await?;
            self.acknowledged(Kind::Message, |it| it.messages.push(content));
        }
        Ok(())
    }

    pub(super) async fn files(self) -> Result<()> {
        for number in 0_u64.. {
            // Every other one replaces an existing file: one of two in turn, so that the content of
            // one is always known.
            let path = match number % 4 {
                1 => "replaced.md".to_owned(),
                3 => "also-replaced.md".to_owned(),
                _ => format!("notes/{}-{number}.md", self.run),
            };
            let content = files::content(&self.owner, self.run, number);
            let body = json!({"files": [{"path": path, "content": content}]});
            self.note(|it| {
                if let Some((_, before)) = it.files.remove(&path) {
                    it.either.insert(path.clone(), [before, content.clone()]);
                }
            });
            let kept = self.send("/v1/files", &body).await?;
            let kind = match kept["files"][0]["status"].as_str() {
                Some("updated") => Kind::Replaced,
                _ => Kind::File,
            };
            self.acknowledged(kind, |it| {
                it.either.remove(&path);
                it.files.insert(path, (self.run, content));
            });
        }
        Ok(())
    }

    pub(super) async fn votes(self) -> Result<()> {
        for number in 0_u64.. {
            let message = format!("vote {number} of run {}", self.run);
            let built = self
                .send("/v1/context/build", &json!({"message": message}))
                .await?;
            // Until a file is stored, a context shows nothing to vote for.
            let Some(handle) = built["handle"].as_str().map(str::to_owned) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            self.note(|it| it.unknown_votes.push(handle.clone()));
            let body = json!({"handle": handle, "useful": true});
            let voted = self.send("/v1/context/feedback", &body).await?;
            self.note(|it| it.unknown_votes.retain(|it| *it != handle));
            if voted["counted"] == true {
                self.acknowledged(Kind::Vote, |it| it.votes.push((self.run, handle)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers requests with a body on one connection, up to the first `PUT`.
    fn serve(listener: &TcpListener) {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut read) = (Vec::new(), [0; 1_024]);
        loop {
            let count = stream.read(&mut read).unwrap();
            assert!(count > 0, "the next request does not come");
            request.extend_from_slice(&read[..count]);
            if request.starts_with(b"PUT") {
                return;
            }
            if request.ends_with(b"}") {
                request.clear();
                let reply = b"HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{\"data\":{}}";
                stream.write_all(reply).unwrap();
            }
        }
    }

    #[tokio::test]
    async fn until_a_change_of_pins_is_acknowledged_both_are_possible() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let told = Rc::new(RefCell::new(vec![Acknowledged::default()]));
        let writer = Writer {
            client: Client::new(listener.local_addr().unwrap()),
            owner: Owner {
                name: "ada".to_owned(),
                token: String::new(),
            },
            at: 0,
            run: 0,
            told: Rc::clone(&told),
        };
        let server = thread::spawn(move || serve(&listener));
        writer.threads().await.unwrap_err();
        server.join().unwrap();
        let pins = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Pins>();
        let either = vec![pins(&["first-1.md"]), pins(&["then-1.md", "also-1.md"])];
        let expected = BTreeMap::from([
            ("t-0-0".to_owned(), vec![pins(&["first-0.md"])]),
            ("t-0-1".to_owned(), either),
        ]);
        assert_eq!(told.borrow()[0].threads, expected);
    }
}
