//! Several at once.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ctx_index::IndexError;

use crate::child::{command, said};
use crate::{Fixture, contents, definitions, function, try_update, update};

#[test]
fn a_second_writer_is_told_who_writes() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    let mut said = said(&mut child);
    assert_eq!(said.next().as_deref(), Some("holding"));
    let index = fixture.open();
    let error = try_update(&index).unwrap_err();
    match &error {
        IndexError::Busy { holder, .. } => assert_eq!(*holder, child.id().to_string()),
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains(&child.id().to_string()));
    assert!(contents(&index).is_empty());
    child.stdin.take().unwrap().write_all(b"\n\n").unwrap();
    assert!(said.any(|word| word == "true"));
    child.wait().unwrap();
    assert_eq!(update(&index).changed, 0);
    assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
}

#[test]
fn a_writer_that_was_killed_holds_nothing() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    assert_eq!(said(&mut child).next().as_deref(), Some("holding"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(update(&fixture.open()).changed, 1);
}

#[test]
fn readers_answer_while_a_writer_writes() {
    let fixture = Fixture::new(&[("steady.rs", &function("steady"))]);
    let first = fixture.updated();
    let is_done = AtomicBool::new(false);
    let (mut old, mut new) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let writer = fixture.open();
            for round in 0..15 {
                fixture.write("hot.rs", function(&format!("hot_{round}")));
                fixture.write(&format!("new_{round}.rs"), function("new"));
                update(&writer);
            }
            is_done.store(true, Ordering::Release);
        });
        while !is_done.load(Ordering::Acquire) || new == 0 {
            assert_eq!(definitions(&first, "steady"), ["steady.rs:1"]);
            old += 1;
            let opened = fixture.open();
            assert_eq!(definitions(&opened, "steady"), ["steady.rs:1"]);
            new += 1;
        }
    });
    assert!(old > 0 && new > 0);
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn several_that_begin_at_once_have_one_index() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let index = fixture.open();
                loop {
                    match index.update(&mut |_| ControlFlow::Continue(())) {
                        Err(IndexError::Busy { .. }) => thread::yield_now(),
                        result => {
                            result.unwrap();
                            break;
                        }
                    }
                }
                assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
            });
        }
    });
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn two_that_write_in_turn_come_to_the_same() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let (first, second) = (fixture.updated(), fixture.open());
    for round in 0..6 {
        fixture.write("a.rs", function(&format!("one_{round}")));
        update(if round % 2 == 0 { &first } else { &second });
    }
    assert_eq!(update(&first).changed + update(&second).changed, 0);
    assert_eq!(contents(&first), contents(&second));
    assert_eq!(contents(&first), fixture.fresh());
}
