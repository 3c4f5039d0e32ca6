//! Processes that end in the middle of an update.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::child::{command, said};
use crate::{Fixture, contents, definitions, function, passages, update, write};

/// Files that each step writes anew.
const BULK: u32 = 12;

/// Changes the files below `root`: one is new and stays, one changes, some are of another length, one is
/// renamed, and one that was new before is gone.
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
    write(&root.join("step.txt"), number.to_string());
}

/// 8 times by default, and `CTX_KILLS` times if that is set.
#[test]
fn a_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let kills: u32 = std::env::var("CTX_KILLS").map_or(8, |it| it.parse().unwrap());
    let fixture = Fixture::new(&[("step.txt", "0")]);
    let mut acknowledged = 0;
    let mut random = 0x9e37_79b9_u64;
    let mut steps = 0;
    for kill in 0..kills {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut child = command("steps", fixture.root(), &fixture.folder())
            .spawn()
            .unwrap();
        let said = said(&mut child);
        thread::sleep(Duration::from_millis((random >> 33) % 700));
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(last) = said.last() {
            let last = last.parse().unwrap();
            steps += last - acknowledged;
            acknowledged = last;
        }
        let (index, why) = fixture.reopen();
        assert_eq!(why, None, "kill {kill}");
        for number in 1..=acknowledged {
            let found = definitions(&index, &format!("kept_{number}"));
            assert_eq!(found, [format!("kept/k{number}.rs:1")], "kill {kill}");
        }
        assert_no_duplicates(&index);
        update(&index);
        assert_eq!(contents(&index), fixture.fresh(), "kill {kill}");
    }
    eprintln!("{kills} kills in {steps} acknowledged updates");
}

fn assert_no_duplicates(index: &ctx_index::Index) {
    let hits = passages(index, "common");
    let keys: BTreeSet<_> = hits.iter().map(ctx_retrieve::Hit::key).collect();
    assert_eq!(keys.len(), hits.len());
}
