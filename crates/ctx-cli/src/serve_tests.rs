use std::process::Command;
#[cfg(unix)]
use std::process::{Output, Stdio};
#[cfg(unix)]
use std::time::Duration;

use super::tell_panics_by_place;

/// The child process of the test below, since the hook applies to the whole process.
#[test]
#[ignore = "it is run by another test"]
fn panics() {
    tell_panics_by_place();
    let text = "\u{e9} canaryofpanics".to_owned();
    let sliced = std::thread::spawn(move || text[1..].len());
    let said = std::thread::spawn(|| panic!("there is a {}", "canaryofpanics"));
    assert!(sliced.join().is_err() && said.join().is_err());
}

#[test]
fn a_panic_is_told_by_its_place_alone() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "serve::tests::panics", "--ignored"])
        .args(["--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "full")
        .output()
        .unwrap();
    let told = String::from_utf8(child.stderr).unwrap() + &String::from_utf8(child.stdout).unwrap();
    assert!(child.status.success(), "{told}");
    assert!(!told.contains("canary"), "{told}");
    assert_eq!(told.matches("panicked at ").count(), 2, "{told}");
    assert_eq!(told.matches("serve_tests.rs:").count(), 2, "{told}");
}

/// Sends this process a Ctrl-C.
#[cfg(unix)]
fn interrupt() {
    let kill = format!("kill -INT {}", std::process::id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
}

/// The child process of the test below, since a signal applies to the whole process.
#[cfg(unix)]
#[test]
#[ignore = "it is run by another test"]
fn is_interrupted_before_it_waits() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stop = super::Stop::new(false).unwrap();
        interrupt();
        stop.wait().await;
        println!("it was let end");
    });
}

/// The child process of the test after it, for the same reason.
#[cfg(unix)]
#[test]
#[ignore = "it is run by another test"]
fn is_interrupted_again_while_it_ends() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stop = super::Stop::new(false).unwrap();
        interrupt();
        stop.wait().await;
    });
    runtime.spawn_blocking(|| {
        std::thread::sleep(Duration::from_millis(100));
        interrupt();
        std::thread::sleep(Duration::from_secs(10));
    });
    drop(runtime);
}

/// What becomes of the test `name`, which heeds signals though whoever runs this may ignore them,
/// where `env` can have that: the one of busybox cannot.
#[cfg(unix)]
fn child(name: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let heeding = ["--default-signal=INT"];
    let mut env = Command::new("env");
    env.args(heeding).arg("true").stderr(Stdio::null());
    let mut command = if env.status().is_ok_and(|it| it.success()) {
        let mut command = Command::new("env");
        command.args(heeding).arg(program);
        command
    } else {
        Command::new(program)
    };
    let command = command.args(["--exact", name, "--ignored", "--nocapture"]);
    command.arg("--test-threads=1").output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_ctrl_c_before_anybody_waits_for_one_is_heard() {
    let child = child("serve::tests::is_interrupted_before_it_waits");
    let told = String::from_utf8(child.stdout).unwrap();
    assert!(child.status.success(), "{:?} {told}", child.status);
    assert!(told.contains("it was let end"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_does_not_wait_for_what_is_still_computed() {
    let child = child("serve::tests::is_interrupted_again_while_it_ends");
    assert_eq!(child.status.code(), Some(5), "{child:?}");
}
