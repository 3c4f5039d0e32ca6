//! Handles signals, above all those to stop: the program ends soon, and leaves nothing half
//! written.

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

/// How long work may take to notice the flag before the program ends without it, for example
/// because it waits for input that never comes.
const GRACE: Duration = Duration::from_millis(300);

/// A signal that the program handles. Only the first exists outside Unix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
    Hangup,
}

impl Signal {
    /// The signals that end the program, except those that its parent process set to be ignored:
    /// `nohup` does so with hang-ups, and a script with Ctrl-C for background processes. Only Linux
    /// reports which these are.
    pub(crate) fn ending() -> impl Iterator<Item = Signal> {
        let ignored = ignored();
        let all = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];
        all.into_iter().filter(move |it| !it.is_in(ignored))
    }

    /// Whether the signal is in a mask, whose lowest bit is signal 1.
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

/// The mask of the signals that are ignored because the parent process set them so.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.unwrap_or_default()
}

/// Starts a thread that calls `told` for each of `signals` from now on, whatever other threads wait
/// for. Several signals of one kind may be reported as one.
///
/// # Errors
/// The system provides no signals, or no thread.
#[cfg(unix)]
pub(crate) fn listen(
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
pub(crate) fn listen(
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

/// Returns a flag that Ctrl-C (and on Unix a termination or a hang-up) raises.
///
/// Nothing is written to standard output before it is complete, so ending at any moment before that
/// leaves no partial output.
pub(crate) fn install() -> Cancel {
    let cancel = Cancel::default();
    let raised = cancel.clone();
    // If no handler can be installed, the system's apply: the program ends, only with another exit
    // code.
    let heard = listen(Signal::ending(), move || {
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

/// The runtime that listens for signals, and the flag that they raise.
static HEARD: OnceLock<(Handle, Cancel)> = OnceLock::new();

/// Whether a signal has arrived, even if the flag is not raised yet.
fn is_told() -> bool {
    let Some((listener, cancel)) = HEARD.get() else {
        return false;
    };
    let (asked, answer) = mpsc::channel();
    listener.spawn(async move {
        // Each yield lets the listener process what has arrived.
        for _ in 0..2 {
            tokio::task::yield_now().await;
        }
        let _ = asked.send(());
    });
    let _ = answer.recv_timeout(GRACE);
    cancel.is_cancelled()
}

/// Standard input. If it ends because Ctrl-C ended the process that writes it, this program ends
/// too: the input is incomplete.
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

/// Ends the program at once, without waiting for a slow reader of standard error. Of several
/// threads that call this, one reports it.
pub(crate) fn end() -> ! {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        report::write_behind();
        report::failure(&Failure::cancelled());
        report::flush();
    });
    exit(i32::from(Exit::Cancelled as u8));
}
