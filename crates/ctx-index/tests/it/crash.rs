//! Processes that are killed while they work.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;

use ctx_index::{Index, Options};
use ctx_retrieve::History as _;

use crate::child::{command, said};
use crate::{
    Fixture, block_on, contents, definitions, function, memory, passages, rebuilt, update, write,
};

/// Files that each step writes anew.
const BULK: u32 = 12;

/// Changes the files below `root`: one is new and stays, one changes, some are of another length,
/// one is renamed, and one that was new before is gone.
pub(crate) fn step(root: &Path, number: u32) {
    let before = number - 1;
    write(
        &root.join(format!("kept/k{number}.rs")),
        function(&format!("kept_{number}")),
    );
    write(&root.join("hot.rs"), function(&format!("hot_{number}")));
    for file in 0..BULK {
        let name = format!("bulk_{file}_{}", number % 3);
        let text = function(&name).repeat(1 + (number as usize + file as usize) % 4);
        write(&root.join(format!("bulk/{file}.rs")), text);
    }
    let moved = root.join(format!("moved/m{before}.rs"));
    if !moved.exists() {
        write(&moved, function("moved"));
    }
    fs::rename(moved, root.join(format!("moved/m{number}.rs"))).unwrap();
    write(
        &root.join(format!("short/s{number}.rs")),
        function(&format!("short_{number}")),
    );
    let _ = fs::remove_file(root.join(format!("short/s{before}.rs")));
    // What a step that was cut short left behind is not of this one.
    for folder in ["moved", "short"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(&format!("{number}.rs")) {
                let _ = fs::remove_file(path);
            }
        }
    }
    // A process that is killed while it writes the number leaves the one before.
    let new = root.join("step.new");
    write(&new, number.to_string());
    fs::rename(new, root.join("step.txt")).unwrap();
}

/// How often a process is killed: so many times, or `CTX_KILLS` times if that is set.
pub(crate) fn kills(few: u32) -> u32 {
    std::env::var("CTX_KILLS").map_or(few, |it| it.parse().unwrap())
}

/// Kills `child` at a moment within so many milliseconds after it has said something, and gives
/// what it said until then.
pub(crate) fn kill(mut child: Child, random: &mut u64, within: u64) -> Vec<String> {
    let mut said = said(&mut child);
    let first = said.next().expect("it says something");
    kill_within(child, random, within);
    [first].into_iter().chain(said).collect()
}

fn kill_within(mut child: Child, random: &mut u64, within: u64) {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    thread::sleep(Duration::from_millis((*random >> 33) % within));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let fixture = Fixture::new(&[("step.txt", "0")]);
    let (mut acknowledged, mut random) = (0, 0x9e37_79b9_u64);
    let kills = kills(8);
    for number in 0..kills {
        let mut child = command("steps", fixture.root(), &fixture.folder());
        let said = kill(child.spawn().unwrap(), &mut random, 700);
        let last: u32 = said.last().unwrap().parse().unwrap();
        assert!(last > acknowledged, "kill {number}");
        acknowledged = last;
        let index = fixture.reopen();
        assert_eq!(rebuilt(&index), None, "kill {number}");
        for step in 1..=acknowledged {
            let found = definitions(&index, &format!("kept_{step}"));
            assert_eq!(found, [format!("kept/k{step}.rs:1")], "kill {number}");
        }
        assert_no_duplicates(&index);
        update(&index);
        assert_eq!(contents(&index), fixture.fresh(), "kill {number}");
    }
    eprintln!("{kills} kills in {acknowledged} acknowledged updates");
}

#[test]
fn a_process_that_is_killed_while_it_begins_leaves_an_index_that_opens() {
    let files: Vec<(String, String)> = (0..100)
        .map(|it| (format!("f{it}.rs"), function(&format!("f{it}"))))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(at, it)| (&**at, &**it)).collect();
    let fixture = Fixture::new(&files);
    let fresh = fixture.fresh();
    let (mut done, mut random) = (0, 0x1234_5678_u64);
    let kills = kills(8);
    for number in 0..kills {
        let store = memory();
        let folder = store.path().join("index");
        let mut child = command("update", fixture.root(), &folder).spawn().unwrap();
        let said = said(&mut child);
        while !folder.exists() {
            assert_eq!(child.try_wait().unwrap(), None, "kill {number}");
            thread::sleep(Duration::from_millis(1));
        }
        kill_within(child, &mut random, 600);
        let said: Vec<String> = said.collect();
        done += said.len();
        let index = Index::open(fixture.root(), &folder, Options::default()).unwrap();
        assert_eq!(
            (rebuilt(&index), index.loss()),
            (None, None),
            "kill {number}"
        );
        if !said.is_empty() {
            assert_eq!(contents(&index), fresh, "kill {number}");
        }
        assert_no_duplicates(&index);
        update(&index);
        assert_eq!(contents(&index), fresh, "kill {number}");
    }
    eprintln!("{kills} kills, {done} of a process that was done");
}

#[test]
fn a_process_that_is_killed_forgets_nothing_that_it_acknowledged() {
    let fixture = Fixture::new(&[]);
    let (mut acknowledged, mut random) = (0, 0x8765_4321_u64);
    let kills = kills(8);
    for number in 0..kills {
        let store = memory();
        let folder = store.path().join("index");
        let mut child = command("remember", fixture.root(), &folder);
        let said = kill(child.spawn().unwrap(), &mut random, 300);
        assert!(!said.is_empty(), "kill {number}");
        let index = Index::open(fixture.root(), &folder, Options::default()).unwrap();
        assert_eq!(index.loss(), None, "kill {number}");
        let messages = block_on(index.messages("thread", 1_000_000)).unwrap();
        let ids: Vec<String> = messages.into_iter().map(|it| it.id).collect();
        let expected: Vec<String> = (1..=ids.len()).map(|it| it.to_string()).collect();
        assert_eq!(ids, expected, "kill {number}");
        assert!(ids.len() >= said.len(), "kill {number}");
        acknowledged += said.len();
    }
    eprintln!("{kills} kills in {acknowledged} acknowledged messages");
}

fn assert_no_duplicates(index: &Index) {
    let hits = passages(index, "common");
    let keys: BTreeSet<_> = hits.iter().map(|it| it.key()).collect();
    assert_eq!(keys.len(), hits.len());
}
