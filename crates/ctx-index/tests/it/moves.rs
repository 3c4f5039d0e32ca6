//! The usage of a renamed file follows it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;

use ctx_index::{Index, IndexError};
use ctx_model::UnixSeconds;
use ctx_retrieve::{Feedback as _, Usage as _, Usefulness, Vote};

use crate::{Fixture, block_on, function, update};

/// An index of these files, and those of them that were shown, each a second after the one before
/// and of use as often as said.
fn used(files: &[&str], uses: &[(&str, u64)]) -> (Fixture, Index) {
    let fixture = Fixture::new(&[]);
    for path in files {
        fixture.write(path, function(&path.replace(['/', '.'], "_")));
    }
    let index = fixture.updated();
    for ((path, uses), at) in uses.iter().zip(1..) {
        block_on(index.shown(&[(*path).to_owned()], UnixSeconds::new(at))).unwrap();
        for vote in 0..*uses {
            let vote = Vote::new(
                format!("{path} {vote}"),
                *path,
                Usefulness::Useful,
                UnixSeconds::new(at),
            );
            assert!(block_on(index.vote(&vote)).unwrap());
        }
    }
    (fixture, index)
}

/// What is remembered of each file that is recent, and of those `expected`, in the order of their
/// paths: when it was shown, 0 where it is not recent, and how often it was of use.
#[track_caller]
fn remembers(index: &Index, expected: &[(&str, i64, u64)]) {
    let recent = block_on(index.recent(100)).unwrap();
    let recent = recent.into_iter().map(|(path, at)| (path, at.get()));
    let mut shown: BTreeMap<String, i64> = recent.collect();
    for (path, ..) in expected {
        shown.entry((*path).to_owned()).or_default();
    }
    let paths: Vec<String> = shown.keys().cloned().collect();
    let counts: BTreeMap<String, u64> = block_on(index.counts(&paths)).unwrap();
    let found: Vec<_> = shown
        .iter()
        .map(|(path, at)| (path.as_str(), *at, counts.get(path).copied().unwrap_or(0)))
        .collect();
    assert_eq!(found, expected);
}

fn rename(fixture: &Fixture, from: &str, to: &str) {
    let to = fixture.path(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(fixture.path(from), to).unwrap();
}

#[test]
fn uses_follow_a_file_that_gets_another_name() {
    let (fixture, index) = used(&["src/a.rs", "b.rs"], &[("src/a.rs", 3), ("b.rs", 1)]);
    rename(&fixture, "src/a.rs", "lib/moved.rs");
    update(&index);
    remembers(&index, &[("b.rs", 2, 1), ("lib/moved.rs", 1, 3)]);
    drop(index);
    let index = fixture.open();
    update(&index);
    remembers(&index, &[("b.rs", 2, 1), ("lib/moved.rs", 1, 3)]);
}

#[test]
fn uses_follow_into_an_index_that_is_made_anew() {
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    rename(&fixture, "a.rs", "b.rs");
    index.rebuild(&mut |_| ControlFlow::Continue(())).unwrap();
    remembers(&index, &[("b.rs", 1, 3)]);
}

#[test]
fn uses_follow_all_files_of_a_folder() {
    let (fixture, index) = used(
        &["old/a.rs", "old/b.rs"],
        &[("old/a.rs", 1), ("old/b.rs", 2)],
    );
    rename(&fixture, "old", "new");
    update(&index);
    remembers(&index, &[("new/a.rs", 1, 1), ("new/b.rs", 2, 2)]);
}

#[test]
fn files_that_take_each_others_places_take_their_uses_along() {
    let (fixture, index) = used(&["a.rs", "b.rs"], &[("a.rs", 3), ("b.rs", 1)]);
    for (from, to) in [("a.rs", "c"), ("b.rs", "a.rs"), ("c", "b.rs")] {
        rename(&fixture, from, to);
    }
    update(&index);
    remembers(&index, &[("a.rs", 2, 1), ("b.rs", 1, 3)]);
    // Also where one was never shown.
    let (fixture, index) = used(&["a.rs", "b.rs"], &[("a.rs", 3)]);
    for (from, to) in [("a.rs", "c"), ("b.rs", "a.rs"), ("c", "b.rs")] {
        rename(&fixture, from, to);
    }
    update(&index);
    remembers(&index, &[("b.rs", 1, 3)]);
}

#[test]
fn uses_follow_files_that_move_up_one_after_the_other() {
    let (fixture, index) = used(&["a.rs", "b.rs"], &[("b.rs", 2)]);
    rename(&fixture, "b.rs", "c.rs");
    rename(&fixture, "a.rs", "b.rs");
    update(&index);
    remembers(&index, &[("c.rs", 1, 2)]);
}

#[test]
fn a_file_in_the_place_of_another_has_the_more_of_both() {
    let (fixture, index) = used(&["a.rs", "b.rs"], &[("a.rs", 3), ("b.rs", 1)]);
    rename(&fixture, "a.rs", "b.rs");
    update(&index);
    remembers(&index, &[("b.rs", 2, 3)]);
}

#[test]
fn a_copy_is_not_followed_whatever_becomes_of_the_original_in_its_place() {
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    let text = fs::read_to_string(fixture.path("a.rs")).unwrap();
    fixture.write("b.rs", &text);
    update(&index);
    remembers(&index, &[("a.rs", 1, 3)]);
    fixture.write("c.rs", &text);
    fixture.write("a.rs", function("edited"));
    update(&index);
    remembers(&index, &[("a.rs", 1, 3)]);
}

#[test]
fn the_copy_of_a_file_whose_place_a_copy_took_is_not_followed() {
    let (fixture, index) = used(&["a.rs", "b.rs", "d.rs"], &[("a.rs", 3), ("b.rs", 1)]);
    let [a, b] = ["a.rs", "b.rs"].map(|it| fs::read_to_string(fixture.path(it)).unwrap());
    // Where b.rs went, nobody gave way: a.rs is edited.
    fixture.write("c.rs", b);
    fixture.write("b.rs", a);
    fixture.write("a.rs", function("edited"));
    update(&index);
    remembers(&index, &[("a.rs", 1, 3), ("b.rs", 2, 1)]);
}

#[test]
fn a_file_that_is_edited_too_is_not_followed() {
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    rename(&fixture, "a.rs", "b.rs");
    fixture.write("b.rs", function("edited"));
    update(&index);
    remembers(&index, &[("a.rs", 0, 3)]);
}

#[test]
fn where_it_cannot_be_told_which_is_meant_nothing_is_followed() {
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    let text = fs::read_to_string(fixture.path("a.rs")).unwrap();
    fixture.write("twin.rs", &text);
    update(&index);
    // Two went, one came.
    rename(&fixture, "a.rs", "b.rs");
    fs::remove_file(fixture.path("twin.rs")).unwrap();
    update(&index);
    remembers(&index, &[("a.rs", 0, 3)]);
    // One went, two came.
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    rename(&fixture, "a.rs", "b.rs");
    fixture.write("c.rs", &text);
    update(&index);
    remembers(&index, &[("a.rs", 0, 3)]);
}

#[test]
fn a_file_without_text_is_not_followed() {
    let fixture = Fixture::new(&[("a.rs", ""), ("b.rs", " \n")]);
    let index = fixture.updated();
    for path in ["a.rs", "b.rs"] {
        block_on(index.shown(&[path.to_owned()], UnixSeconds::new(1))).unwrap();
    }
    rename(&fixture, "a.rs", "c.rs");
    rename(&fixture, "b.rs", "d.rs");
    update(&index);
    remembers(&index, &[("a.rs", 0, 0), ("b.rs", 0, 0)]);
}

#[test]
fn uses_of_what_is_left_out_stay_where_they_are() {
    let (fixture, index) = used(&["a.rs"], &[("a.rs", 3)]);
    fs::copy(fixture.path("a.rs"), fixture.path("b.rs")).unwrap();
    fixture.write(".ctxignore", "a.rs\n");
    update(&index);
    remembers(&index, &[("a.rs", 0, 3)]);
}

#[test]
fn an_update_that_is_cut_short_moves_nothing() {
    let (fixture, index) = used(&["a.rs", "b.rs"], &[("a.rs", 3)]);
    rename(&fixture, "a.rs", "c.rs");
    let result = index.update(&mut |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(IndexError::Cancelled)), "{result:?}");
    remembers(&index, &[("a.rs", 0, 3)]);
}
