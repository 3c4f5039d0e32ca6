//! What lies beside the root is not indexed, whatever is exchanged while it is looked at.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{Fixture, contents, definitions, function, update};

/// A file and a link out, a folder and a link out. One second, or as many as `CTX_RACE_SECONDS` says.
#[test]
fn swapping_at_the_right_moment_indexes_nothing_from_outside() {
    let fixture = Fixture::new(&[
        ("inside.rs", &function("inside")),
        ("sub/same.rs", &function("inside")),
    ]);
    let other = Fixture::new(&[("same.rs", &function("secret"))]);
    let at = |path: &str| fixture.path(path);
    symlink(other.path("same.rs"), at("link.rs")).unwrap();
    symlink(other.root(), at("out")).unwrap();
    let index = fixture.open();
    let seconds = std::env::var("CTX_RACE_SECONDS").ok();
    let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(1);
    let stop = AtomicBool::new(false);
    let mut updates = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (a, b) in [("inside.rs", "link.rs"), ("sub", "out")] {
                    renameat_with(CWD, at(a), CWD, at(b), RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(seconds) {
            update(&index);
            updates += 1;
            let found = definitions(&index, "secret");
            let all = contents(&index);
            if !found.is_empty() || all.iter().any(|it| it.contains("secret")) {
                stop.store(true, Ordering::Relaxed);
                panic!("{found:?} {all:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(updates > 1, "{updates}");
}
