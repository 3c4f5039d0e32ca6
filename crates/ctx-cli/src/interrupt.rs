//! Ctrl-C: stop soon, and leave nothing half written.

use std::time::Duration;

use ctx::assemble::Cancel;

use crate::failure::{Exit, Failure};
use crate::report;

/// How long work may take to notice the flag before the program ends without it, as it must when
/// it waits for input that never comes.
const GRACE: Duration = Duration::from_millis(300);

/// A flag that Ctrl-C (and on Unix a termination or a hang-up) raises.
///
/// Nothing is written to standard output before it is complete, so ending at any moment before
/// that leaves nothing partial there.
pub(crate) fn install() -> Cancel {
    let cancel = Cancel::default();
    let raised = cancel.clone();
    // Without a handler the system's own applies: the program ends, only with another exit code.
    let _ = ctrlc::set_handler(move || {
        if raised.is_cancelled() {
            end();
        }
        raised.cancel();
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            end();
        });
    });
    cancel
}

fn end() -> ! {
    report::failure(&Failure::cancelled());
    std::process::exit(i32::from(Exit::Cancelled as u8));
}
