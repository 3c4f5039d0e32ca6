//! What is told by signals, and above all to stop: soon, and leaving nothing half written.

use std::io::{self, Read, StdinLock};
use std::process::exit;
use std::sync::{Once, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use ctx::assemble::Cancel;
use tokio::runtime::{Builder, Handle};
#[cfg(unix)]
use tokio::signal::unix::{Signal as Heard, SignalKind, signal};

use crate::failure::{Exit, Failure};
use crate::report;

/// How long work may take to notice the flag before the program ends without it, as it must when
/// it waits for input that never comes.
const GRACE: Duration = Duration::from_millis(300);

/// A signal that is heard. Elsewhere than on Unix there is the first alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
    Hangup,
}

impl Signal {
    /// Those that end the program, but for those that whoever started it wants ignored: `nohup` hang-ups, and a script Ctrl-C for
    /// what it leaves in the background. Which these are is told by Linux alone.
    pub(crate) fn ending() -> impl Iterator<Item = Signal> {
        let ignored = ignored();
        let all = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];
        all.into_iter().filter(move |it| !it.is_in(ignored))
    }

    /// Whether it is in a mask, in which the first bit is the first signal's.
    #[cfg(unix)]
    fn is_in(self, mask: u64) -> bool {
        mask >> (self.kind().as_raw_value() - 1) & 1 == 1
    }

    #[cfg(not(unix))]
    fn is_in(self, _: u64) -> bool {
        false
    }

    #[cfg(unix)]
    fn kind(self) -> SignalKind {
        match self {
            Signal::Interrupt => SignalKind::interrupt(),
            Signal::Terminate => SignalKind::terminate(),
            Signal::Hangup => SignalKind::hangup(),
        }
    }
}

/// The mask of the signals that whoever started this wants ignored.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.unwrap_or_default()
}

/// Has a thread of its own call `told` at each of `signals` that comes from now on, whatever the others wait for. Of one that
/// comes several times meanwhile it is told once.
///
/// # Errors
/// The system gives no signals, or no thread.
#[cfg(unix)]
pub(crate) fn hear(
    signals: impl IntoIterator<Item = Signal>,
    mut told: impl FnMut() + Send + 'static,
) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let within = runtime.enter();
    let heard = signals.into_iter().map(|it| signal(it.kind()));
    let mut heard = heard.collect::<io::Result<Vec<Heard>>>()?;
    drop(within);
    let listen = async move {
        loop {
            let next = std::future::poll_fn(|context| {
                let is_told = |it: &mut Heard| it.poll_recv(context).is_ready();
                if heard.iter_mut().any(is_told) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            });
            next.await;
            told();
        }
    };
    thread::Builder::new().spawn(move || runtime.block_on(listen))?;
    Ok(handle)
}

#[cfg(not(unix))]
pub(crate) fn hear(
    signals: impl IntoIterator<Item = Signal>,
    mut told: impl FnMut() + Send + 'static,
) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    if signals.into_iter().all(|it| it != Signal::Interrupt) {
        return Ok(handle);
    }
    let listen = async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            told();
        }
    };
    thread::Builder::new().spawn(move || runtime.block_on(listen))?;
    Ok(handle)
}

/// A flag that Ctrl-C (and on Unix a termination or a hang-up) raises.
///
/// Nothing is written to standard output before it is complete, so ending at any moment before
/// that leaves nothing partial there.
pub(crate) fn install() -> Cancel {
    let cancel = Cancel::default();
    let raised = cancel.clone();
    // Where none is heard the system's own handlers apply: the program ends, only with another exit code.
    let heard = hear(Signal::ending(), move || {
        if raised.is_cancelled() {
            end();
        }
        raised.cancel();
        thread::spawn(|| {
            thread::sleep(GRACE);
            end();
        });
    });
    if let Ok(listener) = heard {
        let _ = HEARD.set((listener, cancel.clone()));
    }
    cancel
}

/// Who listens for signals, and the flag that they raise.
static HEARD: OnceLock<(Handle, Cancel)> = OnceLock::new();

/// Whether a signal came before now, also one that the flag does not tell of yet.
fn is_told() -> bool {
    let Some((listener, cancel)) = HEARD.get() else {
        return false;
    };
    let (asked, answer) = mpsc::channel();
    listener.spawn(async move {
        // Each time, what came is looked at before this goes on.
        for _ in 0..2 {
            tokio::task::yield_now().await;
        }
        let _ = asked.send(());
    });
    let _ = answer.recv_timeout(GRACE);
    cancel.is_cancelled()
}

/// Standard input. Where it ends because Ctrl-C ended who writes it, the program ends too: what came is not all.
#[derive(Debug)]
pub(crate) struct Stdin(StdinLock<'static>);

impl Stdin {
    pub(crate) fn lock() -> Self {
        Stdin(io::stdin().lock())
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if read == 0 && !buffer.is_empty() && is_told() {
            end();
        }
        Ok(read)
    }
}

/// Ends the program at once, whatever else waits for whoever reads standard error. Of several threads that do, one says so.
pub(crate) fn end() -> ! {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        report::write_behind();
        report::failure(&Failure::cancelled());
        report::flush();
    });
    exit(i32::from(Exit::Cancelled as u8));
}
