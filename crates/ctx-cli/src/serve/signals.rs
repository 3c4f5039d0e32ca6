//! What `ctx serve` does when it is told something by a signal.

use std::path::PathBuf;

use ctx_server::{Credentials, LiveCredentials};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::report::{self, Report};

/// Ctrl-C, and on Unix a termination, or a hang-up where that means nothing else: the first lets requests end, the second does
/// not wait for them.
pub(super) struct Stop {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    hangup: Option<Signal>,
}

/// Whether whoever started this wants hang-ups ignored, as `nohup` does; told by Linux alone.
pub(super) fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    // The first bit is the first signal's.
    mask.is_some_and(|it| it & 1 == 1)
}

impl Stop {
    /// On Unix from now on, and not from when it is waited for; also by a hang-up, if `is_hung_up`.
    #[cfg_attr(
        not(unix),
        expect(
            unused_variables,
            clippy::unnecessary_wraps,
            reason = "there is Ctrl-C alone"
        )
    )]
    pub(super) fn new(is_hung_up: bool) -> Result<Self, Failure> {
        Ok(Stop {
            #[cfg(unix)]
            interrupt: signals(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signals(SignalKind::terminate())?,
            #[cfg(unix)]
            hangup: is_hung_up
                .then(|| signals(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits for the first; the second ends the process.
    pub(super) async fn wait(mut self) {
        self.signal().await;
        tokio::spawn(async move {
            self.signal().await;
            std::process::exit(i32::from(Exit::Cancelled as u8));
        });
    }

    #[cfg(unix)]
    async fn signal(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hangup => {}
        }
    }

    #[cfg(not(unix))]
    async fn signal(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Has the tokens at `path` read again after each hang-up, for as long as the server runs.
#[cfg(unix)]
pub(super) fn read_again(
    path: PathBuf,
    credentials: LiveCredentials,
    report: Report,
) -> Result<(), Failure> {
    let mut hangup = signals(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let from = path.clone();
            let read = tokio::task::spawn_blocking(move || Credentials::read(&from)).await;
            match read.map_err(anyhow::Error::from).and_then(|it| Ok(it?)) {
                Ok(read) => {
                    let (count, path) = (read.len(), path.display());
                    credentials.replace(read);
                    report.note(&format!(
                        "the tokens in {path} are let in from now on: {count}"
                    ));
                }
                Err(error) => report::warning(&format!(
                    "the tokens stay those that they were: failed to {error:#}"
                )),
            }
        }
    });
    Ok(())
}

/// There are no hang-ups.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as it is where there are")]
pub(super) fn read_again(_: PathBuf, _: LiveCredentials, _: Report) -> Result<(), Failure> {
    Ok(())
}

#[cfg(unix)]
fn signals(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::start(error, "the system gives no signals"))
}
