//! Sections of reStructuredText, AsciiDoc and Org, for which no grammar is needed, and those of
//! Markdown that its grammar leaves without their texts.

use ctx_model::{LineSpan, RenditionKind};
use ctx_syntax::{Limits, Source, SymbolKind, lines, pieces};
use ctx_testkit::laws::linear;
use proptest::prelude::*;

/// The sections of `text`, each with its lines.
fn sections(path: &str, text: &str) -> Vec<(String, u32, u32)> {
    let source = Source::new(path, text, &Limits::default());
    let outline = source.outline();
    assert_eq!(outline.fallback, None, "{path}");
    crate::is_nested(text, &source, source.whole(), &[1, 4]);
    let section = |it: &ctx_syntax::Symbol| {
        assert_eq!(it.kind, SymbolKind::Section);
        let name = it.qualified_name.clone();
        (name, it.span.start(), it.span.end())
    };
    outline.symbols.iter().map(section).collect()
}

#[track_caller]
fn has(path: &str, text: &str, expected: &[(&str, u32, u32)]) {
    let found = sections(path, text);
    let found: Vec<(&str, u32, u32)> = found.iter().map(|(a, b, c)| (&**a, *b, *c)).collect();
    assert_eq!(found, expected, "{path}");
}

#[test]
#[cfg(feature = "markdown")]
fn a_heading_of_markdown_is_called_what_its_links_say_without_images() {
    let text = "\
# Clinic [![Build](https://a.org/b(1).svg)](https://a.org/c) ![Chat](d.svg)

text

## The [guide](https://a.org/wiki/A_(b)) to [`run`](#run), [x] and `a[0](1)`

text

## ![Logo](logo.svg)

text

## An [open](link and [one](more

text

Of [others](a.md)
-----------------

text
";
    let names: Vec<String> = sections("a.md", text).into_iter().map(|it| it.0).collect();
    let of = |name: &str| format!("Clinic > {name}");
    assert_eq!(
        names,
        [
            "Clinic".to_owned(),
            of("The guide to `run`, [x] and `a[0](1)`"),
            of("![Logo](logo.svg)"),
            of("An [open](link and [one](more"),
            of("Of others"),
        ]
    );
}

#[test]
fn underlined_headings_of_markdown_have_their_texts() {
    let text = "\
Title
=====

Intro.

One
---

text

### Deep

more

Two
---

> # Quoted
> text

```
Code
----
```
last
";
    has(
        "a.md",
        text,
        &[
            ("Title", 1, 25),
            ("Title > One", 6, 14),
            ("Title > One > Deep", 11, 14),
            ("Title > Two", 15, 25),
            ("Title > Two > Quoted", 18, 19),
        ],
    );
    has(
        "a.md",
        "Title\n=====\n\na\n\n  ## One\n\nb\n\n  Two\n  ===\n\nc\n",
        &[("Title", 1, 9), ("Title > One", 6, 9), ("Two", 10, 13)],
    );
    has(
        "a.md",
        "# One\n\na\n\nTwo\nlines\n===\n\nb\n\n## Three\nc\n\nFour\n---\n",
        &[
            ("One", 1, 4),
            ("Two lines", 5, 15),
            ("Two lines > Three", 11, 13),
            ("Two lines > Four", 14, 15),
        ],
    );
}

#[test]
fn titles_of_restructuredtext_are_as_deep_as_their_lines_came_late() {
    let text = "\
=====
Guide
=====

Installing
----------

Run it::

    Text
    ====

Older
.....

.. _upgrading:
Upgrading from 1.x
------------------
Stop it.

* an item
---------

:mod:`flask` --- a module
~~~~~~~~~~~~~~~~~~~~~~~~~

=====  =====
a      b
=====  =====

What
goes on
-------

Kurz
==
";
    has(
        "a.rst",
        text,
        &[
            ("Guide", 1, 36),
            ("Guide > Installing", 5, 16),
            ("Guide > Installing > Older", 13, 16),
            ("Guide > Upgrading from 1.x", 17, 36),
            (
                "Guide > Upgrading from 1.x > :mod:`flask` --- a module",
                24,
                36,
            ),
        ],
    );
    // Where the first style comes again, it is the outermost again.
    has(
        "a.rst",
        "A\n=\n\nB\n-\n\nC\n=\n",
        &[("A", 1, 6), ("A > B", 4, 6), ("C", 7, 8)],
    );
    // Wider than its line, and longer than it.
    has(
        "a.rst",
        "日本語の題\n----------\n\nb\n",
        &[("日本語の題", 1, 4)],
    );
    has(
        "a.rst",
        "A long title\r\n-----\r\nb",
        &[("A long title", 1, 3)],
    );
    for none in [
        "",
        "a\n",
        "----\n",
        "=====\n  b\n",
        "ab\n-\n",
        "a\n\n----\n\nb\n",
        " a\n--\n",
    ] {
        has("a.rst", none, &[]);
    }
}

#[test]
fn a_title_of_asciidoc_may_follow_a_title_or_a_comment() {
    let text =
        "// A comment.\nGuide\n=====\nOne\n---\ntext\n\n////\nhidden\n////\nTwo\n---\ntext\n";
    has(
        "a.adoc",
        text,
        &[
            ("Guide", 2, 13),
            ("Guide > One", 4, 10),
            ("Guide > Two", 11, 13),
        ],
    );
}

#[test]
fn titles_of_asciidoc_are_not_in_its_blocks() {
    let text = "\
= Guide
:toc:

== Installing ==

[source,sh]
----
== not a title
# nor this
----

....
Text
~~~~
....

```sh
# nor this
```

|===
| == a | b
|===

Old style
~~~~~~~~~

=== Deeper
# Markdown's
==None
";
    has(
        "a.adoc",
        text,
        &[
            ("Guide", 1, 28),
            ("Guide > Installing", 4, 28),
            ("Guide > Installing > Old style", 25, 27),
            ("Guide > Installing > Deeper", 28, 28),
            ("Markdown's", 29, 30),
        ],
    );
}

#[test]
fn titles_of_org_are_not_in_blocks_of_code() {
    let text = "\
#+TITLE: Guide
* Installing
Run it.
#+begin_src sh
* no title
#+END_SRC
** TODO Upgrading :ops:later:
*bold* text
#+BEGIN_EXAMPLE
* a title all the same, as nothing ends the block
***
* Backups
";
    has(
        "a.org",
        text,
        &[
            ("Installing", 2, 9),
            ("Installing > Upgrading", 7, 9),
            ("a title all the same, as nothing ends the block", 10, 11),
            ("Backups", 12, 12),
        ],
    );
}

#[test]
fn a_skeleton_has_titles_and_what_comes_first_below_them() {
    let text = "Guide\n=====\n\nFirst.\nGoes on.\n\nSecond.\n\nThird.\n\nUse\n---\n\nOnly.\n";
    let source = Source::new("a.rst", text, &Limits::default());
    let skeleton = source.render(source.whole(), RenditionKind::Skeleton, &[]);
    assert_eq!(
        skeleton.text(),
        "Guide\n=====\n\nFirst.\nGoes on.\n\n.. … 3 lines left out\n\nUse\n---\n\nOnly.\n"
    );
    let signature = source.render(source.whole(), RenditionKind::Signature, &[]);
    let numbers: Vec<u32> = signature.numbers().collect();
    assert_eq!(numbers, [1, 2, 11, 12]);
}

#[test]
fn a_part_is_a_section() {
    let paragraph = "Some words of it that go on.\n".repeat(12);
    let text =
        format!("One\n===\n\n{paragraph}\nTwo\n---\n\n{paragraph}\nThree\n-----\n\n{paragraph}");
    let source = Source::new("a.rst", &text, &Limits::default());
    let found = pieces(&lines(&text), source.outline());
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.kind.as_str(), it.name.as_deref(), it.span))
        .collect();
    let span = |start, end| LineSpan::new(start, end).unwrap();
    assert_eq!(
        found,
        [
            ("section", Some("One"), span(1, 15)),
            ("section", Some("Two"), span(17, 32)),
            ("section", Some("Three"), span(33, 47)),
        ]
    );
}

#[test]
fn titles_are_found_in_linear_time() {
    type Text = fn(usize) -> String;
    let texts: [(&str, &str, Text); 6] = [
        ("titles", "a.rst", |n| "a\n=\n\n".repeat(n)),
        ("underlines", "a.md", |n| "a\n=\n\n".repeat(n)),
        ("signs", "a.rst", |n| "=\n-\n".repeat(n)),
        ("blocks", "a.adoc", |n| {
            (4..)
                .map(|it| "-".repeat(it) + "\n")
                .take_while({
                    let mut bytes = 0;
                    move |it| {
                        bytes += it.len();
                        bytes < n * 4
                    }
                })
                .collect()
        }),
        ("blocks that nothing ends", "a.org", |n| {
            "#+begin_src\n* a\n#+begin_example\n".repeat(n)
        }),
        ("levels", "a.org", |n| "* a\n** a\n*** a\n".repeat(n)),
    ];
    for (what, path, text) in texts {
        let text = |n: usize| text(n.min(50_000));
        linear(what, text, |text| {
            Source::new(path, text, &Limits::default())
                .outline()
                .symbols
                .len()
        });
    }
}

proptest! {
    /// Of signs that mean something, and lines of them.
    #[test]
    fn sections_nest_and_every_line_is_shown(
        path in prop::sample::select(vec!["a.rst", "a.adoc", "a.org", "a.md"]),
        text in "([=*.`~#+-]{1,5} ?|[ab ]{1,4}|\\[a\\]|\r?\n|#\\+(begin|end)_src|é|\\|===){0,60}",
    ) {
        let source = Source::new(path, &text, &Limits::default());
        crate::is_nested(&text, &source, source.whole(), &[1, 3]);
        let symbols = &source.outline().symbols;
        for (index, symbol) in symbols.iter().enumerate() {
            prop_assert!(text.get(symbol.bytes.clone()).is_some());
            prop_assert!(symbol.span.end() <= source.line_count());
            if let Some(parent) = symbol.parent {
                prop_assert!(parent < index);
                let around = symbols[parent].span;
                prop_assert!(around.start() < symbol.span.start());
                prop_assert!(symbol.span.end() <= around.end());
            }
        }
        let lines = lines(&text);
        let mut last = 0;
        for piece in pieces(&lines, source.outline()) {
            prop_assert!(piece.span.start() > last);
            last = piece.span.end();
        }
    }
}
