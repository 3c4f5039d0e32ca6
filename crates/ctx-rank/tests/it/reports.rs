//! Analysis of issue reports.

use ctx_rank::{Intent, Query, Region, Role, labels_end};

use crate::{terms, texts, weight};

#[track_caller]
fn files(text: &str, expected: &[(&str, u32)]) {
    let query = Query::analyse(text);
    let found: Vec<(&str, u32)> = query
        .mentions
        .files
        .iter()
        .map(|it| (it.path.as_str(), it.line.unwrap_or(0)))
        .collect();
    assert_eq!(found, expected, "{text}");
}

/// Each frame as `path:line function`.
fn frames(text: &str) -> Vec<String> {
    let query = Query::analyse(text);
    let frames = query.mentions.frames.iter().map(|it| {
        let path = it.path.as_deref().unwrap_or("-");
        let function = it.function.as_deref().unwrap_or("-");
        format!("{path}:{} {function}", it.line.unwrap_or(0))
    });
    frames.collect()
}

fn names(text: &str) -> Vec<String> {
    let query = Query::analyse(text);
    query.mentions.names.into_iter().map(|it| it.text).collect()
}

#[test]
fn a_sign_after_a_name_may_be_part_of_it() {
    for (text, name, sign) in [
        ("where is `valid?` defined", "valid", Some('?')),
        ("where is valid? defined", "valid", Some('?')),
        ("def save!", "save", Some('!')),
        ("def valid?(x)", "valid", Some('?')),
        ("why does user_saved!(x) raise", "user_saved", Some('!')),
        (
            "It fails\n\nin `Session#open?` each time\n",
            "open",
            Some('?'),
        ),
        ("who calls save!", "save", Some('!')),
        // It may end the question, too.
        ("what does take_one?", "take_one", Some('?')),
        ("what does `take_one` do?", "take_one", None),
        // Operators.
        ("It fails\n\nat `take_one?.len`\n", "take_one", None),
        ("It fails\n\nif `take_one!=give_back`\n", "take_one", None),
        ("It fails\n\nin `take_one?:give_back`\n", "take_one", None),
    ] {
        let query = Query::analyse(text);
        let found = query.mentions.names.iter().find(|it| it.last == name);
        let signed = sign.map(|it| format!("{name}{it}"));
        let found = found.map(|it| (it.sign, it.signed()));
        assert_eq!(found, Some((sign, signed)), "{text}");
    }
}

const REPORT: &str = "Cookies are lost when `Session.resolve_redirects` follows a 302

<!-- Please search existing issues before you file a new one. -->
I call a server that says \"moved for good\" and see that `cookies` of the first answer are gone.
The culprit may be `extract_cookies_to_jar` in requests/sessions.py:142, see also
https://github.com/psf/requests/blob/main/src/requests/cookies.py#L120-L130.

## Steps to reproduce

```python
import requests
s = requests.Session()
s.get('http://localhost:5000/login')
```

### Traceback

```
Traceback (most recent call last):
  File \"/home/me/app.py\", line 7, in main
    s.get(url)
  File \"/usr/lib/python3/site-packages/requests/sessions.py\", line 600, in get
    return self.request('GET', url)
ValueError: no such jar
```

## Environment

- Windows 11, zlib
";

#[test]
fn a_report_is_taken_apart() {
    let query = Query::analyse(REPORT);
    assert!(texts(&query.terms[..3]).contains(&"cooki"));
    assert_eq!(query.mentions.phrases, ["moved for good"]);
    assert_eq!(query.code.len(), 2);
    assert!(query.code[0].starts_with("import requests\n"));
    assert_eq!((query.terms_left_out, query.bytes_left_out), (0, 0));
    let paths: Vec<(&str, Option<u32>)> = query
        .mentions
        .files
        .iter()
        .map(|it| (it.path.as_str(), it.line))
        .collect();
    assert_eq!(
        paths,
        [
            ("requests/sessions.py", Some(142)),
            ("src/requests/cookies.py", Some(120))
        ]
    );
    let session = &query.mentions.names[0];
    assert_eq!(session.text, "Session.resolve_redirects");
    assert_eq!(session.last, "resolve_redirects");
    assert_eq!(session.within.as_deref(), Some("Session"));
    let names: Vec<&str> = query
        .mentions
        .names
        .iter()
        .map(|it| it.last.as_str())
        .collect();
    assert!(names.contains(&"extract_cookies_to_jar"), "{names:?}");
    let functions: Vec<&str> = query
        .mentions
        .frames
        .iter()
        .filter_map(|it| it.function.as_deref())
        .collect();
    assert_eq!(functions, ["main", "get"]);
}

#[test]
fn where_a_word_stands_weighs() {
    let query = Query::analyse(
        "alpha\n\nbravo `charlie`\n\n```\ndelta\n```\n\n## Environment\n\necho\n\n```\n  File \"foxtrot.py\", line 1\n```\n",
    );
    let order = ["alpha", "charli", "bravo", "delta", "echo"].map(|it| weight(&query, it));
    assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
    assert!(weight(&query, "foxtrot") < weight(&query, "bravo"));
}

#[test]
fn a_word_that_is_said_again_is_worth_more_but_not_twice_as_much() {
    let once = weight(&Query::analyse("title\nword"), "word");
    let twice = weight(&Query::analyse("title\nword word"), "word");
    assert!(once < twice && twice < 2.0 * once);
}

#[test]
fn the_title_is_the_first_line_that_says_something() {
    let query = Query::analyse("\n\n  \nProxy headers are dropped\n\nby the pool");
    assert_eq!(query.title.len(), 3);
    assert!(texts(&query.title).contains(&"proxi"));
    assert!(Query::analyse("  \n").title.is_empty());
}

#[test]
fn comments_of_templates_are_left_out() {
    let query = Query::analyse("<!-- secret\nwords --> proxy <!----> pool <!-- more -->");
    assert_eq!(texts(&query.terms), ["pool", "proxi"]);
    // One that does not end is text.
    assert!(weight(&Query::analyse("proxy <!-- pool"), "pool") > 0.0);
}

#[test]
fn comments_in_code_and_in_typed_questions_are_kept() {
    let of = |report: &str| {
        let words = ["zebra", "walrus", "giraff", "parser"].into_iter();
        let query = Query::analyse(report);
        let has = |it: &&str| query.terms.iter().any(|term| term.text == *it);
        words.filter(has).collect::<Vec<_>>().join(" ")
    };
    for (report, expected) in [
        // Typed.
        ("<!-- zebra walrus parser -->", "zebra walrus parser"),
        (
            "Comment `<!--` breaks the walrus parser when the zebra closes with `-->` in the giraffe",
            "zebra walrus giraff parser",
        ),
        // Reports.
        (
            "It breaks\n\nThe comment `<!--` of the zebra and its `-->` of the walrus",
            "zebra walrus",
        ),
        (
            "It breaks\n\nThe comment ``<!-- ` zebra -->`` <!-- giraffe --> walrus",
            "zebra walrus",
        ),
        (
            "It breaks\n\n```html\n<!-- zebra parser -->\n```\n<!-- walrus\n\n```\n --> giraffe",
            "zebra giraff parser",
        ),
        ("It breaks\n\na ` b <!-- zebra --> walrus", "walrus"),
        (
            "It breaks\n\n<!-- a `b --> walrus <!-- c` zebra --> parser",
            "walrus parser",
        ),
        (
            "It breaks\n\n<!-- zebra -->\n```\n<!-- walrus -->\n```\n",
            "walrus",
        ),
        (
            "It breaks\n\nThe parser <!-- zebra --> ```\n<!-- walrus -->",
            "parser",
        ),
        (
            "It breaks\n\n~~~\n<!-- zebra\n~~~\n<!-- walrus --> parser",
            "zebra parser",
        ),
    ] {
        assert_eq!(of(report), expected, "{report}");
    }
}

#[test]
fn blocks_of_code_are_kept_whole() {
    let query = Query::analyse("a\n```rust\nlet x = 1;\n\nlet y = 2;\n```\nb\n~~~\nz\n~~~\n");
    assert_eq!(query.code, ["let x = 1;\n\nlet y = 2;\n", "z\n"]);
}

#[test]
fn a_fence_that_is_not_closed_holds_the_rest() {
    let query = Query::analyse("bug\n```\nfirst_call()\n\nsecond_call()");
    assert_eq!(query.code, ["first_call()\n\nsecond_call()\n"]);
    assert!(
        query
            .mentions
            .names
            .iter()
            .all(|it| it.region == Region::CodeBlock)
    );
}

#[test]
fn a_fence_is_closed_by_one_as_long_and_bare() {
    for inner in ["```", "~~~~", "````rust", "x ````"] {
        let text = format!("bug\n````\n{inner}\n````\nalpha");
        let query = Query::analyse(&text);
        assert_eq!(query.code, [format!("{inner}\n")], "{text}");
        assert!(weight(&query, "alpha") > 0.0);
    }
    assert_eq!(Query::analyse("a\n```\nb\n`````  \nc").code, ["b\n"]);
    // Fences of a list are indented.
    assert_eq!(
        Query::analyse("- a\n    ```\n    b\n    ```\n- c").code,
        ["    b\n"]
    );
}

#[test]
fn code_between_backticks_is_code() {
    let query = Query::analyse("title\nuse `pool` and `close the pool` here");
    assert_eq!(query.mentions.phrases, ["close the pool"]);
    assert!(
        query
            .mentions
            .names
            .iter()
            .any(|it| it.text == "pool" && it.region == Region::InlineCode)
    );
    assert!(query.mentions.names.iter().all(|it| it.text != "title"));
    // One that is not closed is a sign like any other.
    assert!(names("title\nthe `pool is lost").is_empty());
}

#[test]
fn phrases_stand_between_quotation_marks() {
    let query = Query::analyse("it says \"no such file\" and \"gone\", \"never ends");
    assert_eq!(query.mentions.phrases, ["no such file"]);
}

#[test]
fn a_name_that_ends_in_a_common_word_is_no_name_and_a_term_still() {
    assert!(names("It waits\n`Pool.get` and pool.get() and `pool.id` and `get`").is_empty());
    assert!(names("It waits\n```\npool.get()\n```\n").is_empty());
    assert_eq!(names("`Session.send` waits"), ["Session.send"]);
    let query = Query::analyse("It waits\n`Pool.get` waits");
    assert!(query.terms.iter().any(|it| it.text == "pool"));
}

#[test]
fn a_common_word_is_a_name_where_a_typed_question_marks_it_as_one() {
    for (text, expected) in [
        ("what does get() do", "get"),
        ("requests.get(url, timeout=5) hangs", "requests.get"),
        ("MethodRouter.on", "MethodRouter.on"),
        ("axum::routing::any", "axum::routing::any"),
        ("why does `use` fail", "use"),
        ("why does ` id ` fail", "id"),
        ("`Pool.get` and `pool.id` wait", "Pool.get pool.id"),
        ("what does h() make", "h"),
        ("app.go() fails", "app.go"),
        ("what does `@on` do", "on"),
        ("what does `:only` do", "only"),
        ("when is `$with` read", "with"),
        ("how is @Since read", "Since"),
        ("how is @Bean read", "Bean"),
        // What is all of a question, but for what sentences have.
        ("get", "get"),
        ("Get?", "Get"),
        ("what does get do", "get"),
        ("do", "do"),
        ("who calls get", "get"),
        ("where is get called", "get"),
        // What is no name.
        ("what does main.rs do, e.g. a.go", ""),
        ("`README.md` of `a.py` at crates.io", ""),
        ("main.rs(7:13) fails", ""),
        ("why does `for it in all` wait", ""),
        ("why does `@a for all` wait", ""),
        ("who is me@Since.all and @some", ""),
        ("read @docs/All.md", ""),
        ("callers of all the functions", ""),
        ("get the parser", ""),
        ("the", ""),
        ("how do I do this?", ""),
        ("is it of me", ""),
    ] {
        assert_eq!(names(text).join(" "), expected, "{text}");
    }
    for text in ["the", "how do I do this?", "is it of me"] {
        assert!(Query::analyse(text).is_empty(), "{text}");
    }
    let query = Query::analyse("Session.get and send()");
    let common: Vec<bool> = query
        .mentions
        .names
        .iter()
        .map(ctx_rank::Name::is_common)
        .collect();
    assert_eq!(common, [true, false]);
}

#[test]
fn a_message_of_a_program_is_told_from_a_question() {
    let said = |text: &str| {
        let query = Query::analyse(text);
        let meant: Vec<&str> = query.meant_names().map(|it| it.text.as_str()).collect();
        (query.is_message(), meant.join(" "))
    };
    for (text, meant) in [
        ("ValueError: cannot pop user_id here", "user_id"),
        (
            "tool: error: unknown field 'user_id' in `a_b` of my_map",
            "my_map",
        ),
        ("java.io.IOException: no max_size given", "max_size"),
        ("unknown field \"user_id\" in [a_b] here", ""),
        ("it's no 'user_id' that isn't known", ""),
    ] {
        assert_eq!(said(text), (true, meant.to_owned()), "{text}");
    }
    for (text, meant) in [
        ("config: how is max_size read", "max_size"),
        ("what does \"max_size too small\" mean", "max_size"),
        ("ValueError: too small", "ValueError"),
        ("ValueError: is max_size too small?", "ValueError max_size"),
        ("retries: max_size and the like", "max_size"),
        ("cannot pop user_id here", "user_id"),
        (
            "ValueError: cannot pop user_id here\n\nIt fails.",
            "ValueError user_id",
        ),
        ("", ""),
    ] {
        assert_eq!(said(text), (false, meant.to_owned()), "{text}");
    }
    let quotes = |text: &str| Query::analyse(text).quotes_message();
    assert!(quotes("why do I get \"max_size too small\" here"));
    assert!(quotes("`max_size too small` is raised"));
    assert!(!quotes("what is \"at least once\" delivery"));
    assert!(!quotes("why do I get \"too small\" here"));
    assert!(!quotes("it says \"max_size too small\"\n\nSince today."));
    let message = |text: &str| Query::analyse(text).message().map(str::to_owned);
    assert_eq!(message("a: b").as_deref(), Some("a: b"));
    assert_eq!(message("why is it: no b").as_deref(), Some("no b"));
    assert_eq!(message("why is it"), None);
    assert_eq!(labels_end("a: b c: d e f: g"), 8);
    assert_eq!(labels_end("a: "), 0);
}

#[test]
fn names_and_files_are_met_in_scripts_without_spaces() {
    for (text, expected) in [
        (
            "resolve_redirects\u{306e}\u{51e6}\u{7406}\u{306f}\u{3069}\u{3053}",
            "resolve_redirects",
        ),
        (
            "\u{8bf7}\u{95ee}resolve_redirects\u{51fd}\u{6570}",
            "resolve_redirects",
        ),
        (
            "\u{300c}Session.send\u{300d}\u{306f}\u{3069}\u{3053}",
            "Session.send",
        ),
        (
            "resolve_redirects\u{b294} \u{c5b4}\u{b514}\u{c5d0}",
            "resolve_redirects",
        ),
        ("\u{201c}max_size\u{201d} is lost", "max_size"),
        ("\u{433}\u{434}\u{435} max_size?", "max_size"),
        ("`gr\u{f6}\u{df}e`", "gr\u{f6}\u{df}e"),
        ("gro\u{308}\u{df}e(x)", "gro\u{308}\u{df}e"),
        ("\u{8a08}\u{7b97}(x)", "\u{8a08}\u{7b97}"),
        (
            "It fails\n```\n# \u{8a08}\u{7b97}\u{3001}\u{51fd}\u{6570}\n```\n",
            "",
        ),
    ] {
        assert_eq!(names(text).join(" "), expected, "{text}");
    }
    for (text, expected) in [
        (
            "sessions.py\u{306e}\u{30d0}\u{30b0}",
            &[("sessions.py", 0)][..],
        ),
        (
            "\u{8bf7}\u{89e3}\u{91ca}sessions.py\u{6587}\u{4ef6}",
            &[("sessions.py", 0)],
        ),
        (
            "sessions.py:186\u{306e}\u{51e6}\u{7406}\u{306f}\u{ff1f}",
            &[("sessions.py", 186)],
        ),
        (
            "docs/\u{8a08}\u{7b97}.md",
            &[("docs/\u{8a08}\u{7b97}.md", 0)],
        ),
        (
            "\u{8bf7}\u{770b}src/app.py:10",
            &[("src/app.py", 10), ("\u{8bf7}\u{770b}src/app.py", 10)],
        ),
    ] {
        files(text, expected);
    }
    let query = Query::analyse("\u{8bf7}\u{770b}src/app.py:10");
    assert_eq!(query.mentioned_files().collect::<Vec<_>>(), ["src/app.py"]);
}

#[test]
fn names_stand_out_of_prose() {
    let text = "Why does maxRedirects ignore max_redirects in HTTPAdapter.send or close() of pool::Pool, \
                self->buffer and Session#close since v2 for x86 at example.com?";
    let expected =
        "maxRedirects max_redirects HTTPAdapter.send close pool::Pool self->buffer Session#close";
    assert_eq!(names(text).join(" "), expected);
    assert!(names("A sentence of plain words. And one more.").is_empty());
    // What begins with a digit is a number.
    let numbers = "at 0x4388d4 for 10ms_or 1stThing\n```\nadd 0x1f, 0b1010u8, 0xdead_beef\n```\n";
    assert_eq!(names(numbers), ["add"]);
    assert_eq!(
        names("see src/main.rs#L12 and Session#Last"),
        ["Session#Last"]
    );
}

#[test]
fn a_name_is_kept_once_with_its_most_telling_region() {
    let query = Query::analyse("title\n```\nread_all()\n```\nand `read_all` fails");
    let found: Vec<Region> = query
        .mentions
        .names
        .iter()
        .filter(|it| it.text == "read_all")
        .map(|it| it.region)
        .collect();
    assert_eq!(found, [Region::InlineCode]);
}

#[test]
fn files_are_named_with_their_lines() {
    files("see src/main.rs:12", &[("src/main.rs", 12)]);
    files("see src/main.rs:12:3.", &[("src/main.rs", 12)]);
    files("(src/main.rs#L7)", &[("src/main.rs", 7)]);
    files(
        "`./a/b.py`, and ../c/d.go!",
        &[("a/b.py", 0), ("c/d.go", 0)],
    );
    files("setup.py", &[("setup.py", 0)]);
    files("src\\win\\io.cpp", &[("src/win/io.cpp", 0)]);
    files("[x](docs/guide.md#L5)", &[("docs/guide.md", 5)]);
    files("at line 0: a/b.rs:0", &[]);
    // As Windows writes paths, and what compilers there.
    files(
        "C:\\Users\\me\\src\\io.rs:7:3",
        &[("Users/me/src/io.rs", 7)],
    );
    files("D:/a/b.cpp", &[("a/b.cpp", 0)]);
    files(
        "src/a.ts(12,5): error TS2345, Bar.cs(7)",
        &[("src/a.ts", 12), ("Bar.cs", 7)],
    );
    for text in [
        "main.rs (7,13): error TS2345: no",
        "main.rs (7:13)",
        "main.rs(7:13)",
        "main.rs: (7:13)",
        "what is at main.rs (7,13)?",
        "`main.rs` (7,13)",
        "main.rs (7) : error C2065: no",
        "main.rs (7): fatal error C1083",
        "title\n```\n  main.rs (7,13): warning\n```",
    ] {
        files(text, &[("main.rs", 7)]);
    }
    // What people put there.
    for text in [
        "main.rs (7 lines)",
        "main.rs (7)",
        "main.rs (7): it is long",
        "main.rs (7, 13)",
        "main.rs (7,)",
        "main.rs (7,13,15)",
        "main.rs (,13)",
        "main.rs (0,13)",
        "main.rs  (7,13)",
    ] {
        files(text, &[("main.rs", 0)]);
    }
    // As people say it.
    for text in [
        "main.rs line 7",
        "main.rs, on line 7?",
        "`main.rs` (line 7)",
        "main.rs at lines 7-9",
        "line 7 of main.rs",
        "Lines 7-9 in `main.rs`",
    ] {
        files(text, &[("main.rs", 7)]);
    }
    files("main.rs is read. Line 7", &[("main.rs", 0)]);
    files(
        "main.rs(argc, argv) and main.rs (7 of 9)",
        &[("main.rs", 0)],
    );
    files("7 of main.rs", &[("main.rs", 0)]);
}

#[test]
fn a_file_may_be_named_with_a_sign_before_it() {
    files("@README.md:3", &[("README.md", 3)]);
    files("what does @src/main.rs do", &[("src/main.rs", 0)]);
    files(
        "@./a/b.py and (@main.go#L7)",
        &[("a/b.py", 0), ("main.go", 7)],
    );
    files("@me, see a@b.py", &[("a@b.py", 0)]);
    assert!(Query::analyse("what does @docs/guide.md say").asks_for(Intent::Files));
    assert!(
        Query::analyse("@README.md")
            .mentioned_files()
            .next()
            .is_none()
    );
    // A folder may be called so.
    let query = Query::analyse("what is in @src/flask/");
    assert_eq!(query.mentions.folders, ["@src/flask", "src/flask"]);
    let query = Query::analyse("It fails\n\nsee @scope/package");
    assert_eq!(query.mentions.folders, ["@scope/package"]);
}

#[test]
fn text_may_follow_the_line_of_a_file_at_once() {
    for (text, expected) in [
        (
            "crates/ctx-rank/src/query.rs:202:pub fn analyse(text: &str) -> Query {",
            ("crates/ctx-rank/src/query.rs", 202),
        ),
        ("src/a.py:12:def foo():", ("src/a.py", 12)),
        ("src/a.py:12:5:def foo():", ("src/a.py", 12)),
        ("error at app/x.rb:42:in 'f'", ("app/x.rb", 42)),
        (
            "X: bad at Pool.Take() in C:\\src\\Pool.cs:line 42",
            ("src/Pool.cs", 42),
        ),
        (
            "https://github.com/o/r/blob/main/src/a.py:12:def",
            ("src/a.py", 12),
        ),
    ] {
        files(text, &[expected]);
        files(&format!("It fails\n```\n{text}\n```\n"), &[expected]);
    }
    // What follows is text like any other, and the words of the place are those of one.
    let query = Query::analyse("It fails\n\nsrc/widget.py:1400:gadget");
    assert!(weight(&query, "widget") < weight(&query, "gadget"));
    let query = Query::analyse("src/widget.py:1400:gadget");
    assert!(weight(&query, "1400") == 0.0 && weight(&query, "gadget") > 0.0);
    for none in [
        "example.com:443:x",
        "12:30:in",
        "localhost:8080:x",
        "https://git.example.rs:3000/o/r",
    ] {
        files(none, &[]);
    }
    files("src/a.py:line", &[("src/a.py", 0)]);
}

#[test]
fn names_in_brackets_belong_to_the_path_of_a_route() {
    for (text, expected) in [
        (
            "why does app/blog/[slug]/page.tsx:12 fail",
            ("app/blog/[slug]/page.tsx", 12),
        ),
        (
            "see (app/(shop)/[[...path]]/page.tsx).",
            ("app/(shop)/[[...path]]/page.tsx", 0),
        ),
        (
            "app/(.)(.)photo/[id].tsx(12,5): error TS2345: no",
            ("app/(.)(.)photo/[id].tsx", 12),
        ),
        (
            "src/routes/[id=integer]/+page.svelte, line 3",
            ("src/routes/[id=integer]/+page.svelte", 3),
        ),
        ("`app/routes/$id.tsx:12`", ("app/routes/$id.tsx", 12)),
        ("app\\[slug]\\page.tsx:12", ("app/[slug]/page.tsx", 12)),
        // Links and calls.
        ("[x](docs/guide.md#L5)", ("docs/guide.md", 5)),
        ("[docs/guide.md](docs/guide.md)", ("docs/guide.md", 0)),
        ("open(src/a.rs)", ("src/a.rs", 0)),
        ("/(src/a.rs)", ("src/a.rs", 0)),
    ] {
        files(text, &[expected]);
        files(&format!("It fails\n\n{text}\n"), &[expected]);
    }
    for none in ["$a.tsx", "a[0].tsx", "a/[b]", "a/[b](c)"] {
        files(none, &[]);
    }
}

#[test]
fn several_lines_of_a_file_are_named_by_the_first_and_the_last() {
    for (text, expected) in [
        ("src/a.rs:10-500", (10, Some(500))),
        ("see (src/a.rs:10-12).", (10, Some(12))),
        ("src/a.rs:10\u{2013}12", (10, Some(12))),
        ("src/a.rs:10..12", (10, Some(12))),
        ("src/a.rs#L10-L20", (10, Some(20))),
        ("src/a.rs#L10-20", (10, Some(20))),
        ("src/a.rs#L10C3-L20C1", (10, Some(20))),
        (
            "https://github.com/o/r/blob/main/src/a.rs#L10-L20",
            (10, Some(20)),
        ),
        ("src/a.rs lines 7-9", (7, Some(9))),
        ("src/a.rs, lines 7 to 9", (7, Some(9))),
        ("lines 7-9 of `src/a.rs`", (7, Some(9))),
        ("lines 12 to 40 of src/a.rs", (12, Some(40))),
        ("line 12 to line 40 in `src/a.rs`", (12, Some(40))),
        ("lines 12 through 40 of the file src/a.rs", (12, Some(40))),
        ("lines 12 \u{2013} 40 in the src/a.rs file", (12, Some(40))),
        ("what do Lines 12 - 40 of src/a.rs do?", (12, Some(40))),
        ("src/a.rs from line 12 to 40", (12, Some(40))),
        ("src/a.rs L12-L40", (12, Some(40))),
        ("line 12 of src/a.rs", (12, None)),
        ("line 12 - 40 are in src/a.rs, line 7", (7, None)),
        ("src/a.rs:10-10", (10, Some(10))),
        ("src/a.rs:10", (10, None)),
        ("src/a.rs:10:3", (10, None)),
        ("src/a.rs:10-x", (10, None)),
        ("src/a.rs:10-3", (10, None)),
        ("src/a.rs:10-99999999999", (10, None)),
    ] {
        let query = Query::analyse(text);
        let mention = &query.mentions.files[0];
        assert_eq!(mention.path, "src/a.rs", "{text}");
        assert_eq!((mention.line.unwrap(), mention.end), expected, "{text}");
    }
}

#[test]
fn lines_of_what_is_no_file_are_none() {
    for text in [
        "lines 3 to 5 of the poem in src/a.rs",
        "lines 3 to 5 of the poem. src/a.rs",
        "line 12 words in src/a.rs",
        "underline 12 of src/a.rs",
        "src/a.rs L2 cache",
        "src/a.rs has lines 3 to 5 of the poem",
        "lines 12 and 40 of src/a.rs",
    ] {
        files(text, &[("src/a.rs", 0)]);
    }
    files("lines 3 to 5 of the poem", &[]);
}

#[test]
fn the_lines_that_a_typed_question_names_are_no_words() {
    for text in [
        "app.py:1400-1560",
        "`app.py:1400:12`",
        "(app.py#L1400-L1560)?",
        "C:\\app.py:1400",
    ] {
        let query = Query::analyse(text);
        for terms in [&query.terms, &query.title] {
            assert_eq!(texts(terms), ["app", "py"], "{text}");
        }
    }
    let query = Query::analyse("is 1400 in app.py:1560");
    assert!(weight(&query, "1400") > 0.0 && weight(&query, "1560") == 0.0);
    let query = Query::analyse("It fails\n\napp.py:1400");
    assert!(weight(&query, "1400") > 0.0);
}

#[test]
fn a_definition_may_be_named_in_its_file() {
    for (text, path, name) in [
        (
            "FAILED tests/test_a.py::test_b - KeyError: 'x'",
            "tests/test_a.py",
            "test_b",
        ),
        (
            "ERROR tests/test_a.py::TestA::test_b[1-x]",
            "tests/test_a.py",
            "TestA::test_b",
        ),
        ("src/api.py#get", "src/api.py", "get"),
        ("what does `src/api.py#Api.get`?", "src/api.py", "Api.get"),
        ("api.py#L", "api.py", "L"),
    ] {
        let query = Query::analyse(text);
        let mention = &query.mentions.files[0];
        assert_eq!(mention.path, path, "{text}");
        let named = mention.name.as_ref().unwrap();
        assert_eq!(named.text, name, "{text}");
        let within = name.split(['.', ':']).next().filter(|it| *it != name);
        assert_eq!(named.within.as_deref(), within, "{text}");
        assert!(mention.is_part() && query.mentioned_files().next().is_some());
    }
    for text in [
        "src/api.py#L12",
        "docs/guide.md#install",
        "src/api.py#",
        "src/api.py::",
        "api.py::a-b",
        "std::a.rs",
        "https://a.b/c/blob/main/d.py#get",
        "It passes\n\ntests/test_a.py::test_b PASSED [ 50%]",
        "It passes\n\n[gw0] [ 50%] SKIPPED tests/test_a.py::test_b",
        "It fails\n\nsrc/api.py#get",
    ] {
        let query = Query::analyse(text);
        assert!(
            query.mentions.files.iter().all(|it| it.name.is_none()),
            "{text}"
        );
    }
}

/// The files and definitions that `text` names, and the names without a file.
#[track_caller]
fn named(text: &str, expected: &[(&str, &str)], names: &[&str]) {
    let query = Query::analyse(text);
    let files: Vec<(&str, &str)> = query
        .mentions
        .files
        .iter()
        .map(|it| {
            let name = it.name.as_ref();
            (it.path.as_str(), name.map_or("", |it| it.text.as_str()))
        })
        .collect();
    assert_eq!(files, expected, "{text}");
    let all: Vec<&str> = query
        .mentions
        .names
        .iter()
        .map(|it| it.last.as_str())
        .collect();
    assert_eq!(all, names, "{text}");
}

#[test]
fn a_test_that_a_runner_reports_as_failed_is_named() {
    named(
        "It fails\n\ntests/a.py::TestX::test_y[1-2] FAILED [ 50%]",
        &[("tests/a.py", "TestX::test_y")],
        &["test_y"],
    );
    let vitest = "FAIL  src/a.test.ts > suite > does x";
    let expected = [("src/a.test.ts", "suite > does x")];
    named(vitest, &expected, &[]);
    let fenced = Query::analyse(&format!("It fails\n\n```\n {vitest}\n```"));
    let name = fenced.mentions.files[0].name.as_ref().unwrap();
    assert_eq!(name.text, "suite > does x");
    // Jest names the file first.
    named(
        "FAIL src/a.test.ts (5.2 s)\n  \u{25cf} suite \u{203a} does x\n\n    at bake (src/b.ts:3:4)",
        &[("src/a.test.ts", ""), ("src/a.test.ts", "suite > does x")],
        &["bake"],
    );
    named(
        "It fails\n\n  \u{25cf} suite \u{203a} does x",
        &[],
        &["does x"],
    );
    // What more than the test may be called.
    named("It fails\n\n  \u{25cf} Session \u{203a} closes", &[], &[]);
    named("It fails\n\n  \u{25cf} does x", &[], &[]);
    let query = Query::analyse("It fails\n\n  \u{25cf} suite \u{203a} does x");
    assert_eq!(query.mentions.names[0].within.as_deref(), Some("suite"));
    assert!(weight(&query, "suit") > 0.0);
}

#[test]
fn links_to_code_name_its_file() {
    files(
        "https://github.com/o/r/blob/0a1b2c3/src/net/tcp.rs#L10-L20",
        &[("src/net/tcp.rs", 10)],
    );
    files(
        "https://gitlab.com/o/r/-/blob/main/a/b.py",
        &[("a/b.py", 0)],
    );
    files("https://example.com/a/b.html", &[]);
    files("https://docs.rs/tokio", &[]);
}

#[test]
fn of_a_link_to_code_only_the_path_is_looked_for() {
    let link = "https://github.com/owner/repo/blob/main/src/tcp.rs#L10-L20";
    assert_eq!(terms("src tcp rs").len(), 3);
    let query = Query::analyse(&format!("({link})"));
    assert_eq!(texts(&query.terms), ["rs", "src", "tcp"]);
    let query = Query::analyse("x\nhttps://github.com/o/repo/tree/main/src/net?x=1#readme");
    assert_eq!(query.mentions.folders, ["src/net"]);
    assert_eq!(texts(&query.terms), ["net", "src"]);
    // Of any other address nobody knows what is meant by it.
    let query = Query::analyse("title\nhttps://example.org/blob/pool");
    assert!(weight(&query, "exampl") > 0.0 && query.mentions.folders.is_empty());
}

#[test]
fn of_a_pattern_the_folder_is_named_that_all_it_fits_is_in() {
    for (pattern, expected) in [
        ("`src/**/*.rs`", &["src"][..]),
        ("crates/*/src/lib.rs,", &["crates"]),
        ("./a/b/*_test.go?", &["a/b"]),
        ("**/render/*.go", &["render"]),
        ("src/**", &["src"]),
        ("*.toml", &[]),
        ("**/*.rs", &[]),
        ("a*b/c", &[]),
        ("2*x/y", &[]),
    ] {
        let query = Query::analyse(&format!("title\nwhat fits {pattern} there"));
        assert_eq!(query.mentions.folders, expected, "{pattern}");
        assert!(query.mentions.files.is_empty(), "{pattern}");
    }
}

#[test]
fn files_may_be_named_by_a_pattern() {
    for (text, expected) in [
        ("*.toml", &["*.toml"][..]),
        ("what do the **/*.sql files do?", &["**/*.sql"]),
        (
            "which `test_*.py`, \"*_test.go\" and (*.c) are there",
            &["test_*.py", "*_test.go", "*.c"],
        ),
        ("what is in src/**/*.rs", &["src/**/*.rs"]),
        (
            "why does crates/*/Cargo.toml differ",
            &["crates/*/Cargo.toml"],
        ),
        ("what do **kwargs and *args do", &[]),
        ("what is a*b or 2*x.5", &[]),
        ("what does **main.rs** do", &[]),
        ("what does *main.rs* do", &[]),
        ("which src/* are there", &[]),
        // Reports quote patterns of others.
        ("title\n`*.toml` is not read", &[]),
    ] {
        let query = Query::analyse(text);
        assert_eq!(query.mentions.patterns, expected, "{text}");
        let is_alone = [
            "*.toml",
            "which `test_*.py`, \"*_test.go\" and (*.c) are there",
            "what do the **/*.sql files do?",
            "what is in src/**/*.rs",
        ];
        assert_eq!(
            query.asks_for(Intent::Patterns),
            is_alone.contains(&text),
            "{text}"
        );
        let is_stressed = text.contains("main.rs");
        assert_eq!(query.mentions.files.is_empty(), !is_stressed, "{text}");
    }
    // It is something to look for, and no word.
    let query = Query::analyse("*.c");
    assert!(
        !query.is_empty()
            && query.mentions.names.is_empty()
            && query.mentions.file_names.is_empty()
    );
    assert!(Role::Test.is_asked_for(&Query::analyse("list test_*.py")));
}

#[test]
fn folders_are_paths_of_two_names_or_with_a_slash_behind() {
    let text = "title\nIn `docs/design`, and crates/ctx-rank/, (src/), ./a/b. See /usr/lib: and/or, not src/a.rs nor \
        https://a.b/c/d nor x//y nor 1/ \u{2026}/b.\n```\nin/code\n```\n    at f (in/trace.js:3:4)";
    let expected = [
        "docs/design",
        "crates/ctx-rank",
        "src",
        "a/b",
        "usr/lib",
        "and/or",
        "1",
    ];
    assert_eq!(Query::analyse(text).mentions.folders, expected);
    // What says nothing is nothing to look for, a folder or not.
    assert!(Query::analyse("and/or").is_empty());
}

#[test]
fn folders_and_patterns_may_be_written_as_windows_does() {
    let folders = |text: &str| Query::analyse(text).mentions.folders;
    assert_eq!(folders("what is in src\\handlers\\"), ["src/handlers"]);
    assert_eq!(folders("what does src\\handlers do"), ["src/handlers"]);
    // In reports these are mostly names of classes and escapes.
    assert!(folders("It fails\n\nApp\\Models of a\\nb").is_empty());
    let patterns = |text: &str| Query::analyse(text).mentions.patterns;
    assert_eq!(patterns("which src\\*.cs are there"), ["src/*.cs"]);
    assert_eq!(patterns("find \\*.cs"), ["*.cs"]);
}

#[test]
fn files_may_be_named_without_an_extension() {
    for (text, expected) in [
        ("README", &["README"][..]),
        ("makefile?", &["makefile"]),
        ("what does the Makefile build", &["Makefile"]),
        ("why is Cargo.lock there", &["Cargo.lock"]),
        ("how does the index work", &[]),
        (
            "title\nThe Makefile, `LICENSE` and \"Dockerfile\" of `make all`, `the_maker`",
            &["LICENSE", "Dockerfile"],
        ),
        ("title\n```\n\"Makefile\"\n```", &[]),
        ("src/lib.rs", &[]),
        ("1.2.3", &[]),
        ("the", &[]),
        ("The", &[]),
    ] {
        assert_eq!(
            Query::analyse(text).mentions.file_names,
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn names_of_files_may_have_marks_apart_from_their_letters() {
    let place = |text: &str| -> Vec<String> {
        let places = Query::analyse(text).mentions.files;
        places.into_iter().map(|it| it.path).collect()
    };
    for path in [
        "re\u{301}sume\u{301}.md",
        "\u{915}\u{94d}\u{937}.md",
        "cafe\u{301}/menu.txt",
    ] {
        assert_eq!(place(&format!("what is in {path}?")), [path]);
    }
    for name in ["cafe\u{301}", "U\u{308}berblick"] {
        assert_eq!(Query::analyse(name).mentions.file_names, [name]);
    }
    let folders = Query::analyse("what is in cafe\u{301}/").mentions.folders;
    assert_eq!(folders, ["cafe\u{301}"]);
    let patterns = Query::analyse("cafe\u{301}/*.md").mentions.patterns;
    assert_eq!(patterns, ["cafe\u{301}/*.md"]);
}

#[test]
fn words_like_file_names_are_no_files() {
    for text in [
        "e.g. this",
        "v1.2.3",
        "and/or",
        "a.c",
        "3.14",
        "example.com",
        "//cdn.x/a.js",
        "..",
        "/",
    ] {
        files(text, &[]);
    }
}

#[test]
fn frames_of_python() {
    let trace = "  File \"/app/pkg/mod.py\", line 12, in run\n    step()\n  File \"C:\\app\\x.py\", line 3\n  File \"<stdin>\", line 1, in <module>";
    assert_eq!(
        frames(trace),
        [
            "/app/pkg/mod.py:12 run",
            "C:/app/x.py:3 -",
            "<stdin>:1 <module>"
        ]
    );
}

#[test]
fn the_form_of_a_frame_without_a_function_is_no_word() {
    let query = Query::analyse("It breaks\n\n  File \"/app/pool.py\", line 12\n    take(\n");
    let terms: Vec<&str> = query.terms.iter().map(|it| it.text.as_str()).collect();
    assert!(terms.contains(&"pool"), "{terms:?}");
    for form in ["file", "line", "12"] {
        assert!(!terms.contains(&form), "{terms:?}");
    }
    assert!(query.mentions.names.iter().all(|it| it.last != "File"));
}

#[test]
fn frames_of_pytest() {
    let trace = "tests/test_a.py:10: in test_b\n    run()\nsrc/a.py:33: ValueError\nnot a.py:3: x\na.py:0: b";
    assert_eq!(
        frames(trace),
        ["tests/test_a.py:10 test_b", "src/a.py:33 -"]
    );
    let said = "It fails\n\nC:\\a\\test_b.py:42: AssertionError\nE     File \"a.py\", line 3\nE       def f(";
    assert_eq!(frames(said), ["/a/test_b.py:42 -", "a.py:3 -"]);
    let query = Query::analyse(said);
    assert!(
        query
            .terms
            .iter()
            .all(|it| it.text != "file" && it.text != "line")
    );
}

#[test]
fn frames_of_rust() {
    let trace = "   0: core::panicking::panic\n             at /rustc/1/library/core/src/panicking.rs:80:14\n   1: app::net::connect\n             at ./src/net.rs:7:9";
    assert_eq!(
        frames(trace),
        [
            "/rustc/1/library/core/src/panicking.rs:80 core::panicking::panic",
            "./src/net.rs:7 app::net::connect"
        ]
    );
}

#[test]
fn frames_of_javascript() {
    let trace = "TypeError: x is not a function\n    at Router.handle (/app/lib/router.js:12:5)\n    at async run (file:///app/main.mjs:3:1)\n    at new Pool (pool.ts:8:2)\n    at /app/index.js:1:1\n    at Array.map (<anonymous>)";
    assert_eq!(
        frames(trace),
        [
            "/app/lib/router.js:12 Router.handle",
            "/app/main.mjs:3 run",
            "pool.ts:8 Pool",
            "/app/index.js:1 -"
        ]
    );
}

#[test]
fn frames_of_browsers() {
    let trace = "TypeError: x is not a function\n    at zork (http://localhost:3000/src/forwardRef.js:10:2)\n    at spin (http://127.0.0.1:5173/src/widgets/spin.js?t=1700000000:3:10)\n    at https://app.example.com/src/turn.js:7:1\n    at load (webpack:///./src/load.ts:4:9)";
    assert_eq!(
        frames(trace),
        [
            "localhost:3000/src/forwardRef.js:10 zork",
            "127.0.0.1:5173/src/widgets/spin.js:3 spin",
            "app.example.com/src/turn.js:7 -",
            "/./src/load.ts:4 load"
        ]
    );
}

#[test]
fn frames_of_firefox_and_safari() {
    let trace = "zork@http://localhost:3000/src/a.js:10:2\nasync*spin/<@https://a.b/src/spin.js?t=17:3:10\n@http://a.b/main.js:1:1\nwho@mail.to:10:2\nsee me@http://a.b/c.js:1:2";
    assert_eq!(
        frames(trace),
        [
            "localhost:3000/src/a.js:10 zork",
            "a.b/src/spin.js:3 spin",
            "a.b/main.js:1 -",
        ]
    );
}

#[test]
fn frames_of_elixir() {
    let trace = "** (ArgumentError) no such user\n    (app 0.1.0) lib/app/user.ex:12: App.User.take/2\n    lib/app/pool.ex:3: anonymous fn/1 in App.Pool.run/0\n    (stdlib 4.0) gen_server.erl:7: :gen_server.try/4\n    lib/a.ex:3: it is not/2\n    a.rs:3: b/2";
    assert_eq!(
        frames(trace),
        [
            "lib/app/user.ex:12 App.User.take",
            "lib/app/pool.ex:3 App.Pool.run",
            "gen_server.erl:7 :gen_server.try"
        ]
    );
}

#[test]
fn frames_of_lua() {
    let trace = "lua: src/pool.lua:12: none is free\nstack traceback:\n\t[C]: in function 'error'\n\tsrc/pool.lua:12: in function 'Pool.take'\n\tsrc/main.lua:7: in method `run'\n\tsrc/main.lua:9: in main chunk\n\tsrc/main.lua:9: in function <src/main.lua:8>";
    assert_eq!(
        frames(trace),
        [
            "src/pool.lua:12 Pool.take",
            "src/main.lua:7 run",
            "src/main.lua:9 -"
        ]
    );
}

#[test]
fn frames_of_dart() {
    let trace = "#0      Pool.take (package:app/src/pool.dart:12:5)\n#1      run.<anonymous closure> (file:///home/a/bin/run.dart:3:1)\n#2      _Timer.run (dart:isolate-patch/timer.dart:4:2)\n#3      all of it (see a.dart:1:2)";
    assert_eq!(
        frames(trace),
        [
            "app/lib/src/pool.dart:12 Pool.take",
            "/home/a/bin/run.dart:3 run"
        ]
    );
}

#[test]
fn frames_of_ruby() {
    let trace = "lib/pool.rb:42:in 'Pool#take': none is free (RuntimeError)\n\tfrom lib/pool.rb:12:in `block (2 levels) in each'\n\tfrom /app/main.rb:7:in '<main>'";
    assert_eq!(
        frames(trace),
        [
            "lib/pool.rb:42 Pool#take",
            "lib/pool.rb:12 each",
            "/app/main.rb:7 <main>"
        ]
    );
}

#[test]
fn a_call_of_ruby_with_a_message_in_backticks_is_one_line() {
    let line = "app/models/user.rb:42:in `name': undefined method `upcase' for nil:NilClass (NoMethodError)";
    for report in [
        line.to_owned(),
        format!("It fails\n\n{line}\n\tfrom app/main.rb:7:in `<main>'\n"),
    ] {
        assert_eq!(frames(&report)[0], "app/models/user.rb:42 name");
        let query = Query::analyse(&report);
        assert!(query.mentions.files.is_empty() && query.mentions.phrases.is_empty());
        assert_eq!(names_of(&query)[0], "name");
        assert!(weight(&query, "upcas") > 0.0);
    }
}

#[test]
fn the_message_of_a_ruby_error_is_asked_for() {
    let line = "lib/pool.rb:42:in 'Pool#take': connection refused upstream (RuntimeError)";
    for text in [
        line.to_owned(),
        format!("{line}\n\tfrom lib/pool.rb:12:in 'Pool#each'\n"),
    ] {
        let query = Query::analyse(&text);
        let terms: Vec<&str> = query.terms.iter().map(|it| it.text.as_str()).collect();
        for said in ["refus", "upstream", "runtimeerror"] {
            assert!(terms.contains(&said), "{said} of {terms:?}");
        }
    }
}

#[test]
fn frames_of_php() {
    let trace = "PHP Fatal error:  Uncaught Exception: none in /app/src/Pool.php:42\nStack trace:\n#0 /app/src/Web.php(12): App\\Pool->take(1)\n#1 {main}";
    assert_eq!(frames(trace), ["/app/src/Web.php:12 -"]);
}

#[test]
fn frames_of_dotnet() {
    let trace = "Unhandled exception. System.InvalidOperationException: none\n   at Acme.Pool.Take(Int32 n) in C:\\src\\Pool.cs:line 42\n   at Acme.Program.Main() in /src/Program.cs:line 7\n   at System.Threading.Thread.Start()";
    assert_eq!(
        frames(trace),
        [
            "/src/Pool.cs:42 Acme.Pool.Take",
            "/src/Program.cs:7 Acme.Program.Main",
            "-:0 System.Threading.Thread.Start"
        ]
    );
    let stripped = "   at Acme.Pool.Take(Int32 n, Nullable`1 most)\n   at Acme.Program.Main()\n   at lambda_method12(Closure, Object)";
    assert_eq!(
        frames(stripped),
        ["-:0 Acme.Pool.Take", "-:0 Acme.Program.Main"]
    );
    for text in [
        "at the.end.of(the day it was)",
        "at a.b.c(d)",
        "at a.b(int c)",
    ] {
        assert_eq!(frames(text), [""; 0], "{text}");
    }
}

#[test]
fn frames_of_programs_without_debug_information() {
    let trace = "./server *:6379(takeAll+0x54)[0x55d0c9a9a1b4]\n/lib/x86_64-linux-gnu/libc.so.6(+0x42520) [0x7f4b7c642520]\n/usr/bin/server(main+0x3c5) [0x55d0c99e2c35]";
    assert_eq!(frames(trace), ["-:0 takeAll", "-:0 -", "-:0 main"]);
    let query = Query::analyse(&format!("It crashes\n\n{trace}"));
    assert_eq!(query.mentions.folders, [""; 0]);
    for text in ["f(a+0x1)[0]", "f(a b+0x1)[0x2]", "f(a+0xg)[0x2]"] {
        assert_eq!(frames(text), [""; 0], "{text}");
    }
}

#[test]
fn lines_of_modules_tables_and_logs_are_mentions() {
    files("what is at vite.config.mts:3?", &[("vite.config.mts", 3)]);
    files(
        "lib/index.cjs:40 and a.d.cts",
        &[("lib/index.cjs", 40), ("a.d.cts", 0)],
    );
    files("see build.gradle.kts", &[("build.gradle.kts", 0)]);
    files(
        "why is data/orders.csv:501 wrong",
        &[("data/orders.csv", 501)],
    );
    files("Events.JSONL#L7", &[("Events.JSONL", 7)]);
    files("what failed at server.log:13001", &[("server.log", 13_001)]);
    files("lib/tasks/db.rake:9", &[("lib/tasks/db.rake", 9)]);
    files("src/core.clj:12:5", &[("src/core.clj", 12)]);
    files("Makefile:30: *** missing separator", &[("Makefile", 30)]);
    files("docker/Dockerfile:12", &[("docker/Dockerfile", 12)]);
    // A host and its port, a time, and words of code are none.
    for none in [
        "localhost:8080",
        "example.com:443",
        "www.example.org:443",
        "10.0.0.1:80",
        "12:30",
        "foo.bar:3",
        "core.clj and Makefile",
    ] {
        files(none, &[]);
    }
    // Only a line of a log is asked for.
    files("the whole output is in /tmp/build-325.log", &[]);
    files("console.log and this.catalog:3", &[]);
}

#[test]
fn a_path_as_editors_open_it_is_a_mention() {
    for (text, line) in [
        ("file:///home/ada/app/src/pool.rs:300", Some(300)),
        ("vscode://file/home/ada/app/src/pool.rs:300:2", Some(300)),
        ("file:///C:/ada/app/src/pool.rs", None),
    ] {
        let files = Query::analyse(&format!("what is at {text}")).mentions.files;
        assert_eq!(files.len(), 1, "{text}: {files:?}");
        assert!(files[0].path.ends_with("ada/app/src/pool.rs"), "{files:?}");
        assert_eq!(files[0].line, line, "{text}");
    }
}

#[test]
fn frames_of_java() {
    let trace = "Exception in thread \"main\" java.lang.NullPointerException\n\tat com.acme.Pool.take(Pool.java:42)\n\tat java.base/java.lang.Thread.run(Thread.java:829)\n\tat com.acme.Native.call(Native Method)";
    assert_eq!(
        frames(trace),
        [
            "Pool.java:42 com.acme.Pool.take",
            "Thread.java:829 java.base/java.lang.Thread.run"
        ]
    );
}

#[test]
fn frames_of_go() {
    let trace = "goroutine 1 [running]:\nmain.(*Pool).Take(0xc000012345, {0x1, 0x2})\n\t/app/pool.go:42 +0x1d\nmain.main()\n\t/app/main.go:7 +0x2a";
    let expected = [
        "/app/pool.go:42 main.(*Pool).Take",
        "/app/main.go:7 main.main",
    ];
    assert_eq!(frames(&format!("crash\n```\n{trace}\n```")), expected);
    assert_eq!(frames(&format!("crash\n{trace}")), expected);
}

#[test]
fn of_a_panic_of_go_the_functions_are_asked_for_and_no_packages_arguments_or_addresses() {
    let trace = "panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\n\
        panic({0x1041, 0x1400})\n\t/usr/local/go/src/runtime/panic.go:884 +0x204\n\
        github.com/cli/cli/v2/pkg/cmd/pr/shared.(*finder).Find(0xc0001a2000, {{0x0, 0x0}, {0xc0002b4000, 0xc, 0x10}, 0x0, {0x0, 0x0, 0x0}})\n\
        \tgithub.com/cli/cli/v2/pkg/cmd/pr/shared/finder.go:142 +0x1a5\n\
        github.com/cli/cli/v2/pkg/cmd/pr/checkout.checkoutRun[...](0xc0003d6000)\n\
        \tgithub.com/cli/cli/v2/pkg/cmd/pr/checkout/checkout.go:120 +0xbe\n\
        created by net/http.(*Server).Serve in goroutine 7\n\t/usr/local/go/src/net/http/server.go:3086 +0x5cb\n";
    for report in [
        trace.to_owned(),
        format!("Checkout fails\n\n{trace}"),
        format!("Checkout fails\n\n```\n{trace}```\n"),
    ] {
        let expected = [
            "/usr/local/go/src/runtime/panic.go:884 panic",
            "github.com/cli/cli/v2/pkg/cmd/pr/shared/finder.go:142 github.com/cli/cli/v2/pkg/cmd/pr/shared.(*finder).Find",
            "github.com/cli/cli/v2/pkg/cmd/pr/checkout/checkout.go:120 github.com/cli/cli/v2/pkg/cmd/pr/checkout.checkoutRun",
            "/usr/local/go/src/net/http/server.go:3086 net/http.(*Server).Serve",
        ];
        assert_eq!(frames(&report), expected, "{report}");
        let query = Query::analyse(&report);
        let found = texts(&query.terms);
        for form in [
            "github", "com", "cli", "cmd", "pkg", "v2", "xc", "0x0", "usr", "142",
        ] {
            assert!(!found.contains(&form), "{form} of {found:?}");
        }
        assert!(weight(&query, "finder") > 0.0 && weight(&query, "checkoutrun") > 0.0);
        assert!(
            weight(&query, "finder") < weight(&query, "rang"),
            "{found:?}"
        );
        assert!(!names(&report).iter().any(|it| it.contains("github")));
    }
    assert!(texts(&Query::analyse(trace).title).contains(&"rang"));
    // A call of code is no line of a trace.
    let code = Query::analyse("It fails\n```\npool.take(timeout)\nprint(1)\n```\n");
    assert!(weight(&code, "timeout") > 0.0 && code.mentions.frames.is_empty());
}

#[test]
fn functions_of_rust_are_of_a_trace_without_their_locations_too() {
    let traced = Query::analyse("It fails\n```\n   3: app::pool::gadget\n   4: app::main\n```\n");
    let code = Query::analyse("It fails\n```\ngadget\n```\n");
    assert!(0.0 < weight(&traced, "gadget"));
    assert!(weight(&traced, "gadget") < weight(&code, "gadget"));
}

#[test]
fn a_number_in_hexadecimal_is_asked_for_where_it_is_meant() {
    for (text, is_term) in [
        ("what is 0x80070005", true),
        ("Saving fails with 0x80070005\n\nevery time\n", true),
        ("Saving fails\n\nit says `0x80070005`\n", true),
        ("Saving fails\n\nit is at 0x80070005, 0X80070005.\n", false),
        ("Saving fails\n```\ncode=0x80070005\n```\n", false),
        ("Saving fails\n\nit is 0x80070005g\n", true),
    ] {
        let query = Query::analyse(text);
        let found = query.terms.iter().any(|it| it.text.contains("80070005"));
        assert_eq!(found, is_term, "{text}: {:?}", query.terms);
    }
    let long = format!("fails\n\n0x{}\n", "f".repeat(200_000));
    assert!(!Query::analyse(&long).terms.is_empty());
}

#[test]
fn the_header_of_a_panic_of_rust_is_a_frame_and_what_it_says_the_title() {
    let path =
        "/root/.cargo/registry/src/index.crates.io-6f17d22bba15001f/axum-0.7.4/src/routing/mod.rs";
    let said = "Paths must start with a `/`";
    for header in [
        format!(
            "thread 'main' panicked at {path}:132:13:
{said}
"
        ),
        format!(
            "thread 'main' (4711) panicked at {path}:132:13:
{said}
"
        ),
        format!(
            "thread 'tokio-runtime-worker' panicked at '{said}', {path}:132:13
"
        ),
    ] {
        let report = format!(
            "{header}note: run with `RUST_BACKTRACE=1` for a backtrace
"
        );
        assert_eq!(frames(&report), [format!("{path}:132 -")], "{report}");
        let query = Query::analyse(&report);
        assert!(
            query.mentions.files.is_empty(),
            "{:?}",
            query.mentions.files
        );
        assert_eq!(texts(&query.title), ["path", "start"], "{report}");
        for form in [
            "regist",
            "0.7.4",
            "6f17d22bba15001f",
            "132",
            "main",
            "panick",
            "axum",
        ] {
            assert!(
                4.0 * weight(&query, form) < weight(&query, "start"),
                "{form} of {:?}",
                query.terms
            );
        }
        assert_eq!(query.failures, [said], "{report}");
        let fenced = Query::analyse(&format!(
            "It fails
```
{report}```
"
        ));
        assert_eq!(fenced.failures, [said], "{report}");
        assert_eq!(fenced.mentions.frames, query.mentions.frames);
        assert!(weight(&fenced, "regist") < weight(&fenced, "start"));
    }
    for text in [
        "thread 'main' panicked at noon",
        "thread 'main' panicked at 'it is', so it ends",
        "the thread 'main' panicked at src/lib.rs:3:5:",
    ] {
        assert!(frames(text).is_empty(), "{text}");
    }
    files(
        "the thread 'main' panicked at src/lib.rs:3:5:",
        &[("src/lib.rs", 3)],
    );
}

#[test]
fn words_of_a_mention_with_a_line_weigh_as_a_trace_wherever_it_stands() {
    for mention in [
        "src/widget.ts:14:5",
        "src/widget.ts(14,5):",
        "(src/widget.ts#L14)",
    ] {
        for report in [
            format!(
                "{mention} - error: gadget is gone

why is that
"
            ),
            format!(
                "It fails

{mention} - error: gadget is gone
"
            ),
            format!(
                "It fails
```
{mention} - error: gadget is gone
```
"
            ),
            format!("{mention} gadget"),
        ] {
            let query = Query::analyse(&report);
            assert!(0.0 < weight(&query, "widget"), "{report}");
            assert!(
                weight(&query, "widget") < weight(&query, "gadget"),
                "{report}"
            );
            assert_eq!(query.mentions.files.len(), 1, "{report}");
        }
    }
    // A file without a line is as any other word.
    let query = Query::analyse(
        "It fails

src/widget.ts has no gadget
",
    );
    assert!((weight(&query, "widget") - weight(&query, "gadget")).abs() < 1e-9);
}

#[test]
fn frames_of_gin() {
    let trace = "2024/01/02 15:04:05 [Recovery] panic recovered:\nno pool\n\
        /usr/go/src/runtime/panic.go:260 (0x44c1a4)\n\tpanicmem: panic(memoryError)\n\
        /go/gin@v1.9.1/context.go:174 (0x8b1c21)\n\t(*Context).Next: c.handlers[c.index](c)\n\
        /app/main.go:7 (0x1a)\n/app/other.go:8 (0x2b)";
    let expected = [
        "/usr/go/src/runtime/panic.go:260 panicmem",
        "/go/gin@v1.9.1/context.go:174 (*Context).Next",
        "/app/main.go:7 -",
        "/app/other.go:8 -",
    ];
    assert_eq!(frames(&format!("crash\n```\n{trace}\n```")), expected);
    assert_eq!(frames(&format!("crash\n{trace}\n")), expected);
    let query = Query::analyse(&format!("crash\n{trace}"));
    assert!(
        query.mentions.files.is_empty(),
        "{:?}",
        query.mentions.files
    );
    assert!(weight(&query, "8b1c21") == 0.0 && weight(&query, "0x8b1c21") == 0.0);
    assert!(2.0 * weight(&query, "handler") < weight(&query, "crash"));
    for text in ["a.go:3 (0x)", "a.go:3 (see 0x1)", "a.go:3 (0x1) x"] {
        assert!(frames(text).is_empty(), "{text}");
    }
}

#[test]
fn prose_is_no_trace() {
    for text in [
        "at 10:30 it fails",
        "at noon",
        "at home (see above)",
        "File \"x\" is gone",
        "a.py: fails",
        "note.go: it does not",
    ] {
        assert!(frames(text).is_empty(), "{text}: {:?}", frames(text));
    }
}

#[test]
fn settings_weigh_less_than_text() {
    for text in [
        "title\n## Environment\nzlib",
        "title\n**Versions**\n\n- zlib",
        "title\nSystem info:\nzlib",
        "title\n- Python version: zlib",
    ] {
        let setting = weight(&Query::analyse(text), "zlib");
        let prose = weight(&Query::analyse("title\nzlib"), "zlib");
        assert!(0.0 < setting && setting < prose, "{text}");
    }
    // Names of code and paths have such words in them.
    for text in [
        "title\nSystem.InvalidOperationException: zlib",
        "title\nextensions/git/src/api.ts:12:5 - error TS2345: zlib",
        "title\nsrc/version.rs:3:5: error: zlib",
        "title\nos.listdir: zlib",
        "title\n/usr/bin/python: zlib",
        "title\nSystem.IO.Pipes:\nzlib",
    ] {
        let prose = weight(&Query::analyse("title\nzlib"), "zlib");
        assert_eq!(weight(&Query::analyse(text), "zlib"), prose, "{text}");
    }
    for text in ["title\nOS/Arch: zlib", "title\n- **OS**: zlib"] {
        let prose = weight(&Query::analyse("title\nzlib"), "zlib");
        assert!(weight(&Query::analyse(text), "zlib") < prose, "{text}");
    }
    // The next heading ends it.
    let text = "title\n## Environment\nzlib\n## What happens\nproxy";
    let query = Query::analyse(text);
    assert!(weight(&query, "zlib") < weight(&query, "proxi"));
}

#[test]
fn a_block_of_code_below_a_heading_about_settings_is_one() {
    let of = |heading: &str| {
        let text = format!("title\n{heading}\n\n```json\n{{\"zlib\": \"new_pool\"}}\n```\n");
        Query::analyse(&text)
    };
    let code = of("## What happens");
    assert!(names_of(&code).contains(&"zlib"));
    for heading in ["## System Information", "**Versions**", "Environment:"] {
        let setting = of(heading);
        assert!(
            0.0 < weight(&setting, "zlib") && weight(&setting, "zlib") < weight(&code, "zlib"),
            "{heading}"
        );
        assert_eq!(names_of(&setting), ["new_pool"], "{heading}");
    }
    // A sentence ends the settings, for code too.
    let said = "## Python version\n\nThis is what I run, and it is of no use:";
    assert_eq!(weight(&of(said), "zlib"), weight(&code, "zlib"));
}

#[test]
fn lists_of_versions_are_settings_wherever_they_are() {
    let setting = weight(&Query::analyse("title\n## Versions\nzlib"), "zlib");
    for list in [
        "```\nzlib 1.2.11\nattrs 19.3.0 /opt/attrs\n```",
        "```\nPackage Version\n------- -------\nattrs   19.3.0\nzlib    1.2\n```",
        "```\nattrs==19.3.0\nzlib==1.2.11\n```",
        "- zlib 1.2.11\n- attrs (19.3.0)",
        "zlib-1.2.11, attrs-19.3.0, six-1.14.0",
        "```\npy38 installed: zlib==1.2.11,attrs==19.3.0,six==1.14.0\n```",
    ] {
        let query = Query::analyse(&format!("title\n{list}\n"));
        assert_eq!(weight(&query, "zlib"), setting, "{list}");
    }
    for text in [
        "```\nzlib 1.2\n```",
        "```\nzlib = 1.2.11\nattrs = f(19.3)\n```",
        "```\nzlib uses 1.2.11\nattrs uses 19.3.0\n```",
        "zlib 1.2.11",
        "It works in zlib 1.2.11 and in 1.2.12, but not in 1.2.13.",
        "```\nINFO zlib of client 1.2.11 said hello to pool 1.2.12 with id 7 and got 1.2.13\n```",
    ] {
        let query = Query::analyse(&format!("title\n{text}\n"));
        assert!(weight(&query, "zlib") > 2.0 * setting, "{text}");
    }
    // The first line is deliberate.
    let title = "zlib 1.2.11, attrs 19.3.0, six 1.14.0";
    assert!(weight(&Query::analyse(&format!("{title}\n\nfail")), "zlib") > 2.0 * setting);
}

#[test]
fn options_of_commands_are_no_names() {
    let query = Query::analyse("pytest `--collect-only` needs --co=short\n\nI run `--fail-fast`.");
    assert_eq!(query.mentions.options, ["--collect-only", "--co"]);
    assert!(
        query.mentions.names.is_empty(),
        "{:?}",
        query.mentions.names
    );
    assert!(weight(&query, "collect") > 0.0);
    for text in [
        "a rule ---",
        "count--;",
        "`i--j`",
        "-- and",
        "--1",
        "--A",
        "--a",
    ] {
        assert!(Query::analyse(text).mentions.options.is_empty(), "{text}");
    }
    let beside = Query::analyse("`fetch --keep-alive pool_size`");
    assert_eq!(names_of(&beside), ["fetch", "pool_size"]);
}

fn names_of(query: &Query) -> Vec<&str> {
    query
        .mentions
        .names
        .iter()
        .map(|it| it.text.as_str())
        .collect()
}

#[test]
fn sentences_are_no_settings_whatever_is_above_them() {
    let said = "Saving goes on until the pool is empty,\nthen `load_table` hangs.\n\nproxy";
    let of = |heading: &str, said: &str| {
        let query = Query::analyse(&format!("Crash when saving\n{heading}\n\n{said}\n"));
        ["pool", "tabl", "proxi"].map(|it| weight(&query, it))
    };
    let expected = of("## What happens", said);
    for heading in [
        "## Python bindings",
        "### Browser",
        "**System tray**",
        "On the latest version:",
    ] {
        assert_eq!(of(heading, said), expected, "{heading}");
        let german = "Wenn ich die Datei speichere, ist der pool leer und es stürzt ab.";
        let german_expected = of("## Was passiert", german);
        assert_eq!(of(heading, german), german_expected, "{heading}");
        // Values, lists and labels say what is set, and end nothing.
        for setting in [
            "pool 3.11 (main, Feb 8 2023, 14:49:25) [GCC 12.2.0] on linux",
            "- [x] I have looked for this among the issues of the pool",
            "1. it is the version of the pool that I use",
            "| pool | the one that is in the image |",
            "OS version: it is the one of the pool that is in the image",
        ] {
            let found = of(heading, &format!("{setting}\nproxy"));
            assert!(found[2] > 0.0, "{setting}");
            assert!(
                found[0] < expected[0] && found[2] < expected[2],
                "{setting}"
            );
        }
    }
}

#[test]
fn addresses_say_little() {
    let query = Query::analyse("title\nproxy https://example.org/pool");
    assert!(weight(&query, "pool") < weight(&query, "proxi"));
}

#[test]
fn when_something_was_logged_says_little() {
    let log =
        "uploads fail\n[GIN] 2023/10/12 - 10:11:12 | 500 | POST\n[2023-10-12T10:11:12.345Z] 500\n";
    let query = Query::analyse(log);
    for number in ["2023", "10", "11", "12"] {
        assert!(
            2.0 * weight(&query, number) < weight(&query, "500"),
            "{query:?}"
        );
    }
    // A date without a time may be what is asked for.
    let query = Query::analyse("released\nwhat changed in 2023-10-12 and 10:11");
    assert!(
        (weight(&query, "2023") - weight(&query, "chang")).abs() < 1e-9,
        "{query:?}"
    );
}

#[test]
fn by_which_process_something_was_logged_is_not_looked_for() {
    let id = "3f0c1c1a-1111-4222-8333-abcdefabcdef";
    let log = format!(
        "Worker dies\n\n[2024-01-01 10:00:00,000: ERROR/MainProcess] Task app.add[{id}] raised\n\
        [2024-01-01 10:00:01,000: WARNING/ForkPoolWorker-1] /lib/celery/app/trace.py:657: Outside\n"
    );
    for report in [log.clone(), log.replace("dies\n\n", "dies\n```\n")] {
        let query = Query::analyse(&report);
        for term in ["process", "mainprocess", "fork", "3f0c1c1a", "4222"] {
            assert_eq!(weight(&query, term), 0.0, "{term} of {report}");
        }
        assert!(weight(&query, "task") > 0.0 && query.mentions.folders.is_empty());
        assert!(!names(&report).contains(&"MainProcess".to_owned()));
        files(&report, &[("lib/celery/app/trace.py", 657)]);
    }
    // Nothing was logged: it is what is asked for.
    let query = Query::analyse(&format!("ERROR/MainProcess {id}"));
    assert!(weight(&query, "process") > 0.0 && weight(&query, "3f0c1c1a") > 0.0);
}

#[test]
fn a_question_may_ask_for_files_and_for_nothing_in_them() {
    for text in [
        "What does CONTRIBUTING.md say?",
        "docs/guide.md",
        "README",
        "Summarize README for me, please",
        "what is written in `NOTES.txt` and docs/a.rst?",
    ] {
        assert!(Query::analyse(text).asks_for(Intent::Files), "{text}");
    }
    for text in [
        "What does CONTRIBUTING.md say about tests?",
        "README.md:7",
        "what does \"read me\" in README.md say",
        "Summarize the Parser",
        "Parser",
        "read",
        "What does a.md say?\nIt is long.",
        "The guide is not built\n\n```\n# docs/a.rst\n.. toctree::\n```\n",
    ] {
        assert!(!Query::analyse(text).asks_for(Intent::Files), "{text}");
    }
}

#[test]
fn a_question_of_what_a_project_is_asks_for_its_front() {
    for text in [
        "What does this repo do?",
        "what is this project about",
        "what's the project's purpose?",
        "Explain this codebase",
        "give me a high-level overview of the repository",
        "overview",
        "Project overview",
        "what does the library do?",
        "how do I use this crate?",
        "What problem does this tool solve?",
        "what is This Package for",
        "how do I get started?",
        "Where do I start?",
        "how do I get started with this project",
    ] {
        let query = Query::analyse(text);
        assert!(
            query.asks_for(Intent::Project) && query.asks_for(Intent::Files),
            "{text}"
        );
        assert_eq!(query.mentions.file_names, ["README"], "{text}");
    }
    for text in [
        "project",
        "summary",
        "start",
        "getting started",
        "where is the start of the file",
        "where does it start",
        "how does this project start",
        "what is a package",
        "what is package",
        "where is the library used",
        "which tool is it",
        "how does the project find its settings",
        "what does src/app.rs of this project do",
        "what does the \"hidden project\" of this repo do",
        "What does this project do?\nIt is long.",
        "the repo of the project",
        "it is what it is",
    ] {
        let query = Query::analyse(text);
        assert!(!query.asks_for(Intent::Project), "{text}");
        assert!(
            !query.mentions.file_names.contains(&"README".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_project_may_be_called_by_its_name() {
    let asked = |text: &str, name: &str| Query::analyse(text).in_project(name);
    for (text, name) in [
        ("What is Flask?", "flask"),
        ("what does flask do", "Flask"),
        ("how does flask work?", "flask-main"),
        ("how do I use flask", "flask"),
        ("how to get started with flask", "flask"),
        ("get started with flask", "flask"),
        ("flask overview", "flask"),
        ("what's flask's purpose", "flask"),
        ("explain the flask library", "flask"),
        ("what is my-app", "my_app"),
        ("what is my_app", "my-app"),
    ] {
        let query = asked(text, name);
        assert!(
            query.asks_for(Intent::Project) && query.asks_for(Intent::Files),
            "{text}"
        );
        assert_eq!(query.mentions.file_names, ["README"], "{text}");
        assert!(
            !Query::analyse(text).asks_for(Intent::Project) || text.contains("library"),
            "{text}"
        );
    }
    for (text, name) in [
        ("flask", "flask"),
        ("what is flask", "django"),
        ("where is flask used", "flask"),
        ("who uses flask", "flask"),
        ("how does flask find its config", "flask"),
        ("what is another flask", "flask"),
        ("what is a server", "server"),
        ("how does auth work?", "auth"),
        ("how does main work", "main"),
        ("what is Flask?\nIt is long.", "flask"),
    ] {
        assert!(!asked(text, name).asks_for(Intent::Project), "{text}");
    }
    let news = asked("what's new in flask?", "flask");
    assert!(news.asks_for(Intent::News));
    assert_eq!(news.mentions.file_names[0], "CHANGELOG");
}

#[test]
fn a_question_of_what_is_new_asks_for_a_changelog() {
    for text in [
        "what is new in the last release",
        "What's new?",
        "what is new in this project?",
        "What changed recently in this project",
        "latest version",
        "release notes",
    ] {
        let query = Query::analyse(text);
        assert!(
            query.asks_for(Intent::News) && query.asks_for(Intent::Files),
            "{text}"
        );
        assert_eq!(query.mentions.file_names[0], "CHANGELOG", "{text}");
    }
    for text in [
        "what is new in 8.2.1",
        "what does new do",
        "what is a new version",
        "what changed",
        "the last change of the parser",
        "version",
        "which release added retries",
        "how do I update the version",
        "change the version",
        "update the release version",
        "What is new?\nIt is long.",
    ] {
        let query = Query::analyse(text);
        assert!(!query.asks_for(Intent::News), "{text}");
        assert!(
            !query.mentions.file_names.contains(&"CHANGELOG".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn function_words_say_nothing_in_their_own_language() {
    for (text, expected) in [
        (
            "Wie wird die Konfiguration in `load_config` geladen?",
            "config geladen konfigur load loadconfig",
        ),
        (
            "Wo ist die Klasse Session definiert und was macht sie",
            "definiert klass macht session",
        ),
        (
            "Comment fonctionne le routage dans src/router.js ?",
            "fonctionn js routag router src",
        ),
        (
            "O\u{f9} est d\u{e9}finie l'option max_retries",
            "d\u{e9}fini max maxretries option retri",
        ),
        (
            "\u{bf}C\u{f3}mo se carga la sesi\u{f3}n para el usuario?",
            "carga sesi\u{f3}n usuario",
        ),
        // They are names where they are written as such.
        (
            "Wann ruft das Programm die() auf, und wo ist `des`",
            "des die programm ruft",
        ),
        (
            "Was macht die Funktion \"con\" und wann wird sie benutzt",
            "benutzt con funktion macht",
        ),
        (
            "Warum schl\u{e4}gt \"could not apply\" beim rebase fehl",
            "appli fehl rebas schl\u{e4}gt",
        ),
        // In English, and in code, they are words.
        ("does die on error close con", "close con die error"),
        ("implement sin and tan", "implement sin tan"),
        ("comment parser", "comment parser"),
        ("des para con", "con des para"),
        (
            "What is the DER encoding of the DES key in le order",
            "der des encod key le order",
        ),
        ("die das", "das die"),
        ("load a LAS file", "file las load"),
        ("an error in a DEM tile", "dem error tile"),
        ("what was in the IM client", "client im"),
    ] {
        let query = Query::analyse(text);
        for terms in [&query.terms, &query.title] {
            let mut found = texts(terms);
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
    let report = "Der Parser bricht ab\n\nWenn die Datei leer ist, wird kein Fehler gezeigt.\n```\ndie(\"the file is not here\")\nif the das\n```\n";
    let query = Query::analyse(report);
    assert_eq!((weight(&query, "wenn"), weight(&query, "wird")), (0.0, 0.0));
    assert!(weight(&query, "die") > 0.0 && weight(&query, "das") > 0.0);
}

#[test]
fn line_ends_do_not_matter() {
    let query = Query::analyse(REPORT);
    let other = Query::analyse(&REPORT.replace('\n', "\r\n"));
    assert_eq!(query.terms, other.terms);
    assert_eq!(query.mentions.files, other.mentions.files);
    assert_eq!(query.mentions.frames, other.mentions.frames);
    assert_eq!(query.code.len(), other.code.len());
}

#[test]
fn terms_are_those_of_the_analyzer() {
    let of_text = terms("parseHTTPHeader redirects 日本語");
    let query = Query::analyse("parseHTTPHeader redirects 日本語");
    assert!(query.terms.iter().all(|it| of_text.contains(&it.text)));
    assert_eq!(query.terms.len(), of_text.len());
}

#[test]
fn of_a_trace_its_calls_are_names_and_its_form_is_not() {
    let python = "Traceback (most recent call last):\n  File \"/home/u/app/tools/run.py\", line 12, in lock_patiently\n    wait()\nValueError: no lock\n";
    let script = "TypeError: no lock\n    at lock_patiently (/srv/x/dist/a.js:3:4)\n";
    for trace in [python, script] {
        let query = Query::analyse(trace);
        let names: Vec<&str> = query
            .mentions
            .names
            .iter()
            .map(|it| it.last.as_str())
            .collect();
        assert!(names.contains(&"lock_patiently"), "{names:?}");
        for form in ["File", "home", "tools", "line", "srv", "dist", "Traceback"] {
            assert!(!names.contains(&form), "{names:?}");
        }
        let is_form =
            |it: &&ctx_rank::Term| ["recent", "call", "traceback"].contains(&it.text.as_str());
        assert_eq!(query.terms.iter().find(is_form), None, "{trace}");
        let lock = query
            .title
            .iter()
            .chain(&query.terms)
            .find(|it| it.text == "lock");
        assert!(lock.is_some(), "{query:?}");
    }
    // What it is about is what follows the calls.
    let title = Query::analyse(python).title;
    assert!(title.iter().any(|it| it.text == "wait"), "{title:?}");
}

#[test]
fn a_question_of_a_few_words_is_kept_as_it_is_written() {
    let words = |text: &str| -> Option<String> {
        let query = Query::analyse(text);
        let words: Vec<&str> = query.words().collect();
        query.typed.as_ref().map(|_| words.join(" "))
    };
    let quick = "  asembler, \"quick\"!";
    assert_eq!(
        words(&format!("{quick}\n\n")).as_deref(),
        Some("asembler quick")
    );
    assert_eq!(Query::analyse(quick).typed.as_deref(), Some(quick.trim()));
    assert_eq!(words("two\nlines"), None);
    assert_eq!(words(&"word ".repeat(24)), Some(["word"; 24].join(" ")));
    assert_eq!(words(&"word ".repeat(25)), None);
    assert_eq!(words(""), None);
}

#[test]
fn a_short_question_asks_for_tests_examples_and_documents_by_their_words() {
    let asked = |text: &str| -> Vec<Role> {
        let query = Query::analyse(text);
        let roles = [Role::Source, Role::Test, Role::Example, Role::Documentation];
        roles
            .into_iter()
            .filter(|it| it.is_asked_for(&query))
            .collect()
    };
    assert_eq!(asked("README"), [Role::Documentation]);
    assert_eq!(asked("which Tests cover --watch?"), [Role::Test]);
    assert_eq!(
        asked("an example in the docs"),
        [Role::Example, Role::Documentation]
    );
    assert_eq!(asked("where is the lock taken?"), []);
    let first = |text: &str| Role::Test.is_asked_for_first(&Query::analyse(text));
    for text in [
        "which tests cover the lock?",
        "Tests of the lock",
        "show me the fixtures",
    ] {
        assert!(first(text), "{text}");
    }
    for text in [
        "what is locked when a test fails",
        "is before() run again in tests",
        "examples and tests",
        "tests fail\nsince yesterday",
    ] {
        assert!(!first(text), "{text}");
    }
    assert_eq!(asked("the tests fail\nsince yesterday"), []);
    let alone = |text: &str| Role::asks_for_tests_alone(&Query::analyse(text));
    for text in [
        "which tests cover the lock?",
        "Tests of the lock",
        "find all unit tests for the lock",
        "are there any tests that use it",
        "where is the lock tested?",
    ] {
        assert!(alone(text), "{text}");
    }
    for text in [
        "how are tests collected",
        "tests",
        "the test client",
        "run tests in parallel",
        "where are tests collected",
        "is it locked when tests for it fail",
        "",
    ] {
        assert!(!alone(text), "{text}");
    }
}

#[test]
fn a_version_is_one_term_of_a_question() {
    for (text, expected) in [
        ("8.2.0", "8.2.0"),
        ("v10.12.1?", "10.12.1"),
        ("what was fixed in 10.12.1-rc.1", "10.12.1rc1 fix"),
        ("10.12 and 12", "10.12 12"),
    ] {
        let query = Query::analyse(text);
        let mut found = texts(&query.terms);
        found.sort_unstable();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

#[test]
fn a_version_that_is_typed_is_worth_twice_a_word() {
    let query = Query::analyse("what was fixed in 1.7.1");
    for terms in [&query.terms, &query.title] {
        assert_eq!(texts(terms), ["1.7.1", "fix"]);
        assert_eq!(terms[0].weight, 2.0 * terms[1].weight);
    }
    let query = Query::analyse("what was fixed in 1.7.1\n\nsee above");
    assert_eq!(weight(&query, "1.7.1"), weight(&query, "fix"));
}

#[test]
fn the_verb_at_the_end_of_a_question_is_worth_little() {
    let weights = |text: &str| -> Vec<(String, u32)> {
        let terms = Query::analyse(text).terms.into_iter();
        let hundredths = |it: f64| format!("{:.0}", it * 100.0).parse().unwrap();
        terms.map(|it| (it.text, hundredths(it.weight))).collect()
    };
    let expected = |all: &[(&str, u32)]| -> Vec<(String, u32)> {
        all.iter().map(|it| (it.0.to_owned(), it.1)).collect()
    };
    let little = expected(&[("pool", 67), ("work", 13)]);
    assert_eq!(weights("how does the pool work?"), little);
    assert_eq!(weights("Why do the pools work"), little);
    let all = expected(&[("pool", 67), ("work", 67)]);
    for text in [
        "the pool works",
        "how does work pool",
        "why do they work in a pool",
    ] {
        assert_eq!(weights(text), all, "{text}");
    }
    assert_eq!(weights("how does it work?"), expected(&[("work", 67)]));
    assert!(
        weights("how does the work queue work")
            .iter()
            .all(|it| it.1 >= 67)
    );
    assert_eq!(weights("how does the pool work?\n\nIt hangs.").len(), 3);
}

#[test]
fn numbers_are_looked_for_as_far_as_text_has_them() {
    let is_kept = |text: &str, number: &str| weight(&Query::analyse(text), number) > 0.0;
    assert!(is_kept("10234", "10234"));
    assert!(is_kept("a limit of 65535", "65535"));
    assert!(is_kept("It fails\n\nwith `4294967296`.", "4294967296"));
    assert!(is_kept(&"9".repeat(20), &"9".repeat(20)));
    assert!(!is_kept(&"9".repeat(21), &"9".repeat(21)));
    // Nobody means a number of a dump or an address.
    assert!(!is_kept("It fails\n```\nat 65535\n```\n", "65535"));
    assert!(is_kept("It fails\n```\nat 8080\n```\n", "8080"));
    assert!(!is_kept("0x65535", "65535"));
}

#[test]
fn a_short_question_about_a_version_asks_for_documents() {
    let asks = |text: &str| Role::Documentation.is_asked_for(&Query::analyse(text));
    for text in [
        "8.2.0",
        "v8.2",
        "what was fixed in version 8.2.1?",
        "What is New in 3.12",
    ] {
        assert!(asks(text), "{text}");
    }
    for text in [
        "what is a new version",
        "why is 8.2.1 checked twice",
        "It fails\nin version 8.2.1",
        "82",
    ] {
        assert!(!asks(text), "{text}");
    }
}

#[test]
fn a_short_question_asks_for_what_uses_a_name() {
    for text in [
        "callers of removeDirectory",
        "Who calls removeDirectory?",
        "which methods call removeDirectory()",
        "what uses `removeDirectory`",
        "uses of removeDirectory",
        "usages of removeDirectory in Cache",
        "references to Filesystem::removeDirectory",
        "where is removeDirectory used?",
        "where is the method removeDirectory called",
        "all calls to removeDirectory",
    ] {
        let query = Query::analyse(text);
        assert!(query.asks_for(Intent::Users), "{text}");
        let asks = ["call", "caller", "usag", "refer"];
        let terms = texts(&query.terms);
        assert!(!terms.iter().any(|it| asks.contains(it)), "{terms:?}");
        assert!(terms.contains(&"removedirectory"), "{terms:?}");
    }
    for text in [
        "what does removeDirectory call",
        "what is removeDirectory to call",
        "where is removeDirectory",
        "how is removeDirectory used",
        "callers",
        "usage of memory",
        "callers of a_b, c_d and e_f",
        "It fails\n\ncallers of removeDirectory",
    ] {
        assert!(!Query::analyse(text).asks_for(Intent::Users), "{text}");
    }
}

#[test]
fn the_word_behind_a_definition_keyword_is_a_name() {
    for (text, expected) in [
        ("def get", "get"),
        ("async def get(self, url, max_size=1):", "get"),
        ("fn route", "route"),
        ("pub fn layer<L>(self, layer: L)", "layer"),
        ("func Validate", "Validate"),
        ("func (r *Replacer) Get(key string)", "Get"),
        ("class Session", "Session"),
        ("public abstract class Session", "Session"),
        ("class Foo(Bar):", "Foo"),
        ("type Handler struct", "Handler"),
        ("type handler struct {", "handler"),
        ("trait Handler", "Handler"),
        ("impl Display for Handler {", "Display"),
        ("where is get defined", "get"),
        ("Where is the function parse defined?", "parse"),
    ] {
        let query = Query::analyse(text);
        assert!(query.asks_for(Intent::Definition), "{text}");
        assert_eq!(names(text).join(" "), expected, "{text}");
        for word in ["def", "fn", "func", "class", "defin", "pub"] {
            assert_eq!(weight(&query, word), 0.0, "{text}");
        }
    }
    // A name, and words of a sentence about it.
    for (text, expected) in [
        ("class Session is not safe to share", "Session"),
        ("how does class Session keep cookies", "Session"),
        ("function route", "route"),
        ("the function get", "get"),
        ("class Session parse_header", "parse_header Session"),
        ("class Session cookie persistence", "Session"),
    ] {
        let query = Query::analyse(text);
        assert!(!query.asks_for(Intent::Definition), "{text}");
        assert_eq!(names(text).join(" "), expected, "{text}");
        let kept = ["class", "function"].map(|it| weight(&query, it));
        assert!(kept.iter().any(|&it| it > 0.0), "{text}");
    }
    // What is asked of is what the verb is about.
    for text in ["which fn calls parse", "which func calls parse"] {
        assert_eq!(names(text), ["parse"], "{text}");
    }
    let of_both = names("where is Session defined and how is parse_header used");
    assert!(
        of_both.contains(&"parse_header".to_owned()) && of_both.contains(&"Session".to_owned())
    );
    for text in [
        "type conversion of values",
        "which fn is called first",
        "which type is returned",
        "what does this function do",
        "which function to call",
        "the class of the file",
        "module system loader",
        "get function name",
        "HTTP method GET is refused",
        "where is it defined",
        "where is the timeout of a pool defined",
        "It fails\n\ndef get",
    ] {
        let query = Query::analyse(text);
        assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        assert!(!query.asks_for(Intent::Definition), "{text}");
    }
}

#[test]
fn a_called_name_is_a_name_as_any_word() {
    assert_eq!(names("who calls parse"), ["parse"]);
    assert_eq!(names("callers of the function parse"), ["parse"]);
    assert_eq!(names("where is parse called"), ["parse"]);
    for text in [
        "who calls the",
        "uses of memory",
        "who calls",
        "parse is called",
    ] {
        assert!(names(text).is_empty(), "{text}");
    }
}

#[test]
fn a_letter_is_a_name_where_it_is_all_of_a_question() {
    for text in ["x", " x? ", "`x`", "X"] {
        let query = Query::analyse(text);
        let letter = text.trim_matches(|it: char| !it.is_alphanumeric());
        assert_eq!(names(text), [letter], "{text:?}");
        assert_eq!(query.mentions.file_names, [letter], "{text:?}");
        assert!(!query.is_empty(), "{text:?}");
    }
    for text in ["a", "I", "?", "1", "x y", "x\ny"] {
        let query = Query::analyse(text);
        assert!(
            query.mentions.names.is_empty() && query.is_empty(),
            "{text:?}: {query:?}"
        );
    }
}

#[test]
fn a_typed_question_asks_for_the_kinds_of_files_that_it_names() {
    for (question, role) in [
        ("README", Role::Documentation),
        ("what does notes.md say", Role::Documentation),
        ("docs/design", Role::Documentation),
        ("why does tests/it/main.rs fail", Role::Test),
    ] {
        let query = Query::analyse(question);
        assert!(role.is_asked_for(&query), "{question}");
        assert!(!Role::Vendored.is_asked_for(&query), "{question}");
        let report = Query::analyse(&format!("It fails\n\n{question}"));
        assert!(!role.is_asked_for(&report), "{question}");
    }
}

#[track_caller]
fn failures(report: &str, expected: &[&str]) {
    assert_eq!(Query::analyse(report).failures, expected, "{report}");
}

#[test]
fn the_first_or_last_line_of_a_trace_says_what_failed() {
    let nan = "ValueError: cannot convert float NaN to integer";
    let python = format!(
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    error: int(x, y)\n{nan}\n"
    );
    failures(&format!("It fails\n\n```\n{python}```\n"), &[nan]);
    failures(&format!("It fails\n\n{python}\nWhat can I do?\n"), &[nan]);
    // The name need not say so.
    let gone = "requests.exceptions.ConnectTimeout: no answer from the host";
    let report = python.replace(nan, gone);
    failures(&report, &[gone]);
    failures(
        &format!(
            "Chained\n```\n{python}\nDuring handling of it, another occurred:\n\n{report}```\n"
        ),
        &[nan, gone],
    );
    let undefined = "TypeError: Cannot read properties of undefined (reading 'x')";
    let calls = "    at f (/app/src/a.js:3:4)\n    at /app/src/b.js:1:2\n";
    for before in ["", "Uncaught ", "[vite] Internal "] {
        let report = format!("It fails\n```\n{before}{undefined}\n{calls}```\n");
        failures(&report, &[undefined]);
    }
    let plain = "Invariant Violation: hooks were called in another order";
    failures(&format!("It fails\n{plain}\n{calls}"), &[plain]);
    failures(&format!("This is what I did: I called it\n{calls}"), &[]);
    failures(
        "It fails\nException in thread \"main\" java.lang.IllegalStateException: the pool is closed\n\tat p.C.m(C.java:3)\nCaused by: java.io.IOException: no more of it\n\tat p.C.n(C.java:4)\n",
        &[
            "java.lang.IllegalStateException: the pool is closed",
            "java.io.IOException: no more of it",
        ],
    );
    let len = "index out of bounds: the len is 3 but the index is 99";
    failures(
        &format!("It fails\n```\nthread 'main' panicked at src/main.rs:4:5:\n{len}\n```\n"),
        &[len],
    );
    let old = format!("thread 'main' panicked at '{len}', src/main.rs:4:5");
    failures(&format!("It fails\n{old}\n"), &[len]);
    let go = "panic: runtime error: index out of range [5] with length 3";
    failures(
        &format!(
            "It fails\n```\n{go}\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/b.go:3 +0x1d\n```\n"
        ),
        &[go],
    );
}

#[test]
fn compilers_and_logs_in_a_block_say_what_failed() {
    for (line, expected) in [
        (
            "error[E0599]: no method named `f` found for struct `S` in the current scope",
            "error[E0599]: no method named `f` found for struct `S` in the current scope",
        ),
        (
            "src/a.ts(3,5): error TS2339: Property 'x' does not exist on type 'Y'.",
            "error TS2339: Property 'x' does not exist on type 'Y'.",
        ),
        (
            "./a/b.go:3:4: undefined: Parser or what",
            "./a/b.go:3:4: undefined: Parser or what",
        ),
        ("E       ValueError: no such jar", "ValueError: no such jar"),
        (
            "PHP Fatal error:  Uncaught Error: Call to undefined function f()",
            "error:  Uncaught Error: Call to undefined function f()",
        ),
        (
            "2026-01-02 10:00:00,123 ERROR app.pool: connection refused by peer",
            "ERROR app.pool: connection refused by peer",
        ),
        (
            "a.rb:3:in 'f': undefined method 'g' for nil (NoMethodError)",
            "a.rb:3:in 'f': undefined method 'g' for nil (NoMethodError)",
        ),
        (
            "** (ArgumentError) cannot convert it",
            "ArgumentError) cannot convert it",
        ),
    ] {
        failures(&format!("It fails\n```sh\n{line}\n```\n"), &[expected]);
    }
}

#[test]
fn a_form_without_a_message_says_nothing_and_what_follows_is_told() {
    let socket = "error: cannot open the socket now";
    for form in ["what():", "  what():  ", "** ("] {
        failures(
            &format!("It fails\n```\n{form}\n{socket}\n```\n"),
            &[socket],
        );
    }
    failures(
        "It fails\n```\n  what():  cannot open\n```\n",
        &["cannot open"],
    );
}

#[test]
fn code_and_sentences_say_nothing_of_what_failed() {
    for line in [
        "except ValueError: return none of them",
        "    error: Option<String>",
        "    error: &'static str",
        "interface A { error: of three words",
        "error: Error = of three words",
        "error: this.is(a, b, c);",
        "# Error: when it is not there",
        "// error: when it is not there",
        "class MyError(Exception): pass or what",
        "log.error(\"Error: it is not %s\", x)",
        "\"error\": it is of JSON",
        "default: it is not there",
    ] {
        failures(&format!("It fails\n```\n{line}\n```\n"), &[]);
    }
    failures("There is an error: it is not there\nand more\n", &[]);
    failures("Title\nWarning: I did not try it\n", &[]);
    failures(
        "TypeError: x is not a function\nand more\n",
        &["TypeError: x is not a function"],
    );
}

#[test]
fn few_lines_that_say_what_failed_are_kept_and_none_is_long() {
    let lines: Vec<String> = (0..20)
        .map(|n| format!("error: there is no {n}\n"))
        .collect();
    let lines = lines.concat();
    let found = Query::analyse(&format!("It fails\n```\n{lines}```\n")).failures;
    assert_eq!(found.len(), 8);
    assert_eq!(found[0], "error: there is no 0");
    let long = "Größe ".repeat(100);
    let found = Query::analyse(&format!("It fails\n```\nerror: {long}\n```\n")).failures;
    assert!((190..=200).contains(&found[0].len()), "{found:?}");
}

#[test]
fn the_mark_of_a_reference_alone_is_no_folder() {
    for (text, folders) in [
        ("@/0", &["@/0", "0"][..]),
        ("@/", &["@"]),
        ("@src/net", &["@src/net", "src/net"]),
    ] {
        assert_eq!(Query::analyse(text).mentions.folders, folders, "{text}");
    }
}

#[test]
fn a_name_may_be_that_of_a_file() {
    let of = |text: &str| -> Vec<(String, bool)> {
        let names = Query::analyse(text).mentions.names.into_iter();
        names.map(|it| (it.text, it.may_be_file)).collect()
    };
    for (text, name, may_be_file) in [
        ("where is config.yaml loaded", "config.yaml", true),
        ("what does Response.json return", "Response.json", true),
        ("what does Response.json() return", "Response.json", false),
        (
            "why does `app.config.json(12,5)` fail",
            "app.config.json",
            true,
        ),
        ("It fails\n\nr.json, or r.json()\n\nr.json", "r.json", false),
        ("where is Session.send", "Session.send", false),
    ] {
        let found = of(text);
        assert!(found.contains(&(name.to_owned(), may_be_file)), "{found:?}");
    }
    let asks = |text: &str| Query::analyse(text).asks_for(Intent::Users);
    assert!(!asks("where is config.json used?"));
    assert!(asks("where is load_config used?"));
    assert!(asks("where is Response.json() used?"));
}

#[test]
fn a_question_in_a_script_without_spaces_may_have_several_words() {
    for (text, is_one) in [
        ("config.py", true),
        ("max-retries", true),
        ("设置", true),
        ("docs/安装说明.md", true),
        ("安装说明.md", true),
        ("config.py在哪里被读取？", false),
        ("max_retries在哪里设置", false),
        ("设置文件在哪里被读取", false),
        ("two words", false),
        ("", false),
        ("two\nlines", false),
    ] {
        assert_eq!(Query::analyse(text).is_one_word(), is_one, "{text}");
    }
    assert_eq!(Query::analyse("max_retries").setting(), Some("max_retries"));
    assert_eq!(Query::analyse("max_retries在哪里设置").setting(), None);
}
