use ctx_testkit::few;
use ctx_testkit::laws::linear;
use proptest::prelude::*;

use super::message_words::MessageWord;
use super::run::{FEW_TELLING, Run};
use super::tokens::{Token, is_prefix_of_string, placeholder_at};
use super::words::{is_of_word, word_end};
use super::*;

/// Checks the worth of each text for `question`, in hundredths.
#[track_caller]
fn check(question: &str, texts: &[&str], expected: &[u32]) {
    let best = Relevance::new(0.4).expect("it is a share");
    let none = vec![false; texts.len()];
    let texts = texts.iter().copied();
    let worth = Messages::of(&Query::analyse(question)).worth(best, texts, &none, &|| true);
    let hundredths: Vec<String> = worth
        .iter()
        .map(|it| format!("{:.0}", it * 100.0))
        .collect();
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(hundredths, expected, "{question:?}");
}

#[test]
fn a_message_is_found_whatever_values_it_has() {
    check(
        "Error: No such option: --foo Did you mean --force?",
        &[
            "message = _(\"No such option {name!r}.\")",
            "option such no",
            "no option",
        ],
        &[18, 0, 0],
    );
    check(
        "jq: error: Cannot index array with string \"foo\"",
        &["\"Cannot index %s with %s (%s)\"", "an array with an index"],
        &[35, 0],
    );
    let decorator = "The decorator 'user' has already been added!";
    for text in [
        "\"The decorator '%s' has already been added!\"",
        "f\"the decorator {name} has already been added\"",
        "`the decorator ${decorator.name} has already been added`",
        "'the decorator ' + name + ' has already been added'",
        "'the decorator ' . $name . ' has already been added'",
        "\"the decorator %(name)s has already been added\"",
        "the decorator #{name} has\n  already been added",
        "\"The decorator \\(self.name(of: it)) has already been added\"",
        "'The decorator %<name>s has already been added'",
        "'The decorator %{name} has already been added'",
        "\"the decorator %[1]q has already been added\"",
        "\"the decorator \"\n    + name\n    + \" has already been added\"",
        "'the decorator ' .. name .. ' has already been added'",
        "\"the decorator \" <> inspect(name) <>\n  \" has already been added\"",
        "<< \"the decorator \" << name << \" has already been added\";",
        "StrCat(\"the decorator \", name(\"a\"), \" has already been added\")",
        "\"the decorator \" & name & \" has already been added\"",
        "'the decorator '.$this->name.' has already been added'",
        "'the decorator ' + name + f' has already been added'",
    ] {
        check(
            decorator,
            &[text, "what was added to the decorator"],
            &[40, 0],
        );
    }
}

#[test]
fn letters_before_a_quotation_mark_are_no_words() {
    let message = "View function mapping is overwriting an existing endpoint function";
    for text in [
        "\"View function mapping is overwriting an existing\"\n    f\" endpoint function: {name}\"",
        "rb'View function mapping is overwriting an existing' Rb' endpoint function'",
        "L\"View function mapping is overwriting \" L\"an existing endpoint function\"",
    ] {
        check(message, &[text], &[40]);
    }
    for text in [
        "\"View function mapping is overwriting an existing\" g(\" endpoint function\")",
        "\"View function mapping is overwriting an existing\" f(\" endpoint function\")",
    ] {
        check(message, &[text], &[0]);
    }
    for (word, behind) in [
        ("f", "\""),
        ("bR", "'"),
        ("u8", "\""),
        ("U", "'"),
        ("L", "\""),
    ] {
        assert!(is_prefix_of_string(word, behind), "{word}{behind}");
    }
    for (word, behind) in [
        ("ff", "\""),
        ("l", "'"),
        ("f", "("),
        ("", "\""),
        ("for", "\""),
    ] {
        assert!(!is_prefix_of_string(word, behind), "{word}{behind}");
    }
}

#[test]
fn a_longer_common_run_is_worth_more() {
    let texts = [
        "'The decorator %s has already been added'",
        "'The hook %s has already been added'",
        "'has already been added'",
    ];
    check(
        "The decorator 'user' has already been added!",
        &texts,
        &[40, 9, 6],
    );
}

#[test]
fn a_run_is_worth_its_share_of_what_tells_something() {
    let message = "error: connection pool timeout exceeded while waiting for a free worker";
    let texts = ["\"waiting for a free\""];
    check(&format!("It fails\n```\n{message}\n```\n"), &texts, &[11]);
    // What labels it is no part of it.
    let whole = ["\"connection pool timeout exceeded while waiting for a free worker\""];
    check(&format!("It fails\n```\n{message}\n```\n"), &whole, &[40]);
    assert_eq!(
        labels_end("panic: runtime error: index out of range: 5"),
        22
    );
    assert_eq!(labels_end("no such option: --foo"), 0);
    assert_eq!(labels_end("error: "), 0);
}

#[test]
fn a_text_with_a_placeholder_is_worth_more_than_one_with_a_value() {
    let texts = ["No such option: --foo", "No such option: {}"];
    check("Error: No such option: --bar", &texts, &[0, 35]);
}

#[test]
fn runs_of_stop_words_and_of_few_words_tell_nothing() {
    check("it is: what you are not 3", &["what you are not"], &[0]);
    check("no option: 5", &["no option %d"], &[0]);
    check("so: it is up 5", &["it is up %d"], &[0]);
    // Nor do those with one word that tells something.
    check(
        "index out of bounds: the len is 3 but the index is 3",
        &["where the index is; it is made there"],
        &[0],
    );
    // A statement is no text.
    check(
        "error: parse value first",
        &["parse(value); first = 3"],
        &[0],
    );
}

#[test]
fn a_question_is_no_message() {
    let texts = ["the limit of a request is 5"];
    check("where is the limit of a request 5", &texts, &[]);
    check("why do I see: the limit of a request is 3", &texts, &[40]);
    // Without the marks of a message only the whole text counts.
    check("limit of a request in bytes", &texts, &[0]);
    check(
        "cannot index array with string",
        &["cannot index %s with %s"],
        &[30],
    );
}

#[test]
fn failures_of_a_report_are_found_in_blocks_and_traces() {
    for (failure, made, other, worth) in [
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    int(x)\nValueError: cannot convert float NaN to integer",
            "raise ValueError(f\"cannot convert float {x} to integer\")",
            "an integer is made of a float where it can be",
            40,
        ),
        (
            "error[E0599]: no method named `get` found for struct `Pool`",
            "\"no method named `{}` found for {} `{}`\"",
            "the method of a struct is found by its name",
            40,
        ),
        (
            "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:",
            "\"index out of range [%x] with length %y\"",
            "the length of a range",
            40,
        ),
        (
            "TypeError: Cannot read properties of undefined (reading 'x')\n    at f (/app/a.js:3:4)",
            "T(NonObjectPropertyLoad, \"Cannot read properties of % (reading '%')\")",
            "properties are read where they are defined",
            // A bare `%` is no placeholder, so the half of it is there.
            20,
        ),
    ] {
        for report in [
            format!("It fails\n\n```\n{failure}\n```\n"),
            format!("It fails\n\n{failure}\n\nWhy?\n"),
        ] {
            // Without a fence a line counts that begins with its error.
            check(&report, &[made, other], &[worth, 0]);
        }
    }
    check(
        "It fails\n```\nlet total = price.of(the, whole);\n```\n",
        &["let total = price.of(the, whole);"],
        &[],
    );
}

#[test]
fn failures_take_nothing_from_quotations() {
    let quotes = "It says \"no such option %s\" and \"the pool is closed\"";
    let report = format!("{quotes}\n```\nerror: the pool of options is closed now\n```\n");
    let texts = [
        "no such option {}",
        "the pool is closed",
        "the pool of options is closed",
        "a pool",
    ];
    let best = Relevance::new(0.4).expect("it is a share");
    let none = vec![false; texts.len()];
    let worth = |report: &str| {
        let query = Query::analyse(report);
        Messages::of(&query).worth(best, texts.into_iter(), &none, &|| true)
    };
    let (without, with) = (worth(quotes), worth(&report));
    let is_kept = |(with, without): (&f64, &f64)| with >= without;
    assert!(
        with.iter().zip(&without).all(is_kept),
        "{without:?} {with:?}"
    );
    assert!(with[2] > without[2], "{without:?} {with:?}");
    // At most eight are searched for, quotations first.
    let many: Vec<String> = (0..8)
        .map(|n| format!("\"quoted text number {n}\"\n"))
        .collect();
    let many = many.concat();
    let report = format!("It says\n{many}{report}");
    assert_eq!(Messages::of(&Query::analyse(&report)).0.len(), MESSAGES);
}

#[test]
fn texts_that_many_chunks_have_raise_nothing() {
    let texts = ["all rights are reserved since %d"; 9];
    check("all rights are reserved since 1999", &texts, &[0; 9]);
    check("all rights are reserved since 1999", &texts[..4], &[20; 4]);
}

#[test]
fn a_translation_is_raised_only_where_it_alone_has_a_message() {
    let query = Query::analyse("the file was not saved since %d");
    let text = "the file was not saved since %d";
    let best = Relevance::new(0.4).expect("it is a share");
    let worth = |texts: &[&'static str], is_translation: &[bool]| {
        let texts = texts.iter().copied();
        Messages::of(&query).worth(best, texts, is_translation, &|| true)
    };
    let mut is_translation = [true; 12];
    assert!(
        worth(&[text; 12], &is_translation)
            .iter()
            .all(|it| *it == 0.0)
    );
    assert!(worth(&[text; 2], &[true; 2]).iter().all(|it| *it > 0.0));
    is_translation[3] = false;
    let found = worth(&[text; 12], &is_translation);
    assert!(
        found
            .iter()
            .enumerate()
            .all(|(at, it)| (*it > 0.0) == (at == 3)),
        "{found:?}"
    );
    let found = worth(&[text, "not saved since"], &[true, false]);
    assert!(found[0] > 0.0, "{found:?}");
}

#[test]
fn values_are_told_from_words() {
    let told = |text: &str| -> Vec<String> {
        let told = |it: &MessageWord| format!("{}{}", it.word, if it.is_value { "?" } else { "" });
        message_words(text).iter().map(told).collect()
    };
    let expected = "it isn t foo? in ? or ? at 404? end";
    let text = "It isn't 'foo' in \"a b\" or src/a.rs at [404] end:";
    assert_eq!(told(text).join(" "), expected);
    assert_eq!(told("No --é -x 'un").join(" "), "no é x? un");
    assert!(told("").is_empty());
}

#[test]
fn texts_full_of_what_begins_a_placeholder_are_read_in_linear_time() {
    // When the text was read to its end from each of these, a MiB took minutes.
    for mark in ["{", "'+", "%(", "${", "'.", "\\(", "', a"] {
        let text = |n: usize| mark.repeat(n / mark.len());
        linear(mark, text, |text| {
            check("say \"no such option at all\"", &[text], &[0]);
        });
    }
}

#[test]
fn a_question_too_long_for_a_message_is_not_read_as_one() {
    // Splitting these into words and values took minutes.
    for unit in ["`", "a::", " `a"] {
        check(&unit.repeat(100_000), &["no such option at all"], &[]);
    }
}

#[test]
fn words_have_the_numbers_they_have_in_lower_case() {
    let long = "x".repeat(64);
    let words = ["kelvin", "straße", "été", "i\u{307}", "ab", &long];
    let numbers = Numbers::of(words.into_iter());
    let mut lower = String::from("left over");
    let longer = "X".repeat(65);
    for (word, expected) in [
        ("kelvin", Some(0)),
        ("KELVIN", Some(0)),
        // A sign that is an ASCII letter in lower case.
        ("\u{212a}elvin", Some(0)),
        ("STRAßE", Some(1)),
        ("ÉTÉ", Some(2)),
        ("\u{130}", Some(3)),
        ("aB", Some(4)),
        ("abc", None),
        ("ac", None),
        ("X", None),
        (longer.as_str(), None),
        (&longer[1..], Some(5)),
    ] {
        let found = numbers.get_in_any_case(word, &mut lower);
        assert_eq!(found, expected, "{word:?}");
    }
}

#[test]
fn placeholders_for_values_are_known() {
    let is_placeholder = |text: &str, last: char| placeholder_at(text, last);
    for text in [
        "%s", "%-5.2f", "%lld", "%(name)s", "%<name>s", "%{name}", "%[1]q", "{}", "{0:>3}",
        "${a.b}", "#{a}", "$a", "\\(a)", "\\(a(b))",
    ] {
        assert_eq!(is_placeholder(text, ' '), Some(text.len()), "{text}");
    }
    for text in [
        "+ a.b() + \"",
        "+ a + b + \"",
        "+ a(\"b\")\n + f\"",
        ". $a->b . '",
        ".. a .. '",
        "<> a <> \"",
        "<< a << \"",
        ", a, \"",
        "& a & \"",
    ] {
        let end = text
            .trim_end_matches(['"', '\''])
            .trim_end_matches('f')
            .len();
        assert_eq!(is_placeholder(text, '"'), Some(end), "{text}");
        assert_eq!(is_placeholder(text, 'a'), None, "{text}");
    }
    for text in [
        "+ \"a\" + \"",
        "+ a\"",
        "+ a; + \"",
        ", a) + \"",
        ", a: \"",
        "\\(a\n)",
        "\\a",
        "% of",
        "%",
        "100",
        "{\n}",
        "$ ",
        "#a",
        "+ a",
        "%section",
        "\u{e9}",
        "",
    ] {
        assert_eq!(is_placeholder(text, '"'), None, "{text}");
    }
}

#[test]
fn a_word_ends_where_its_last_character_does() {
    let texts = "[a-zA-Z0-9_ é日\u{a0}\u{b}\u{301}(ßİ]{0,12}";
    few::run(few::cases(512), &texts, |text| {
        let end = text.find(|it| !is_of_word(it)).unwrap_or(text.len());
        prop_assert_eq!(word_end(&text), end);
        Ok(())
    });
}

/// A reference implementation of [`tokens`] that works by single characters.
fn tokens_by_characters(text: &str, numbers: &Numbers<'_>) -> Vec<Token> {
    let (mut tokens, mut lower) = (Vec::new(), String::new());
    let (mut rest, mut last) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let placeholder = placeholder_at(rest, last).filter(|_| !is_of_word(c));
        let (token, length) = if is_of_word(c) {
            let end = rest.find(|it| !is_of_word(it)).unwrap_or(rest.len());
            let number = numbers.get_in_any_case(&rest[..end], &mut lower);
            let is_prefix = is_prefix_of_string(&rest[..end], &rest[end..]);
            let token = number.map_or(Token::Other, Token::Word);
            ((!is_prefix).then_some(token), end)
        } else if let Some(end) = placeholder {
            (Some(Token::Placeholder), end)
        } else {
            let is_statement = matches!(c, '{' | '}' | ';' | '=');
            let count = if c == '\\' { 2 } else { 1 };
            let length = rest.chars().take(count).map(char::len_utf8).sum();
            (is_statement.then_some(Token::Other), length)
        };
        tokens.extend(token);
        if !c.is_whitespace() {
            last = c;
        }
        rest = &rest[length..];
    }
    tokens.dedup_by(|a, b| *a == Token::Other && a == b);
    tokens
}

#[test]
fn a_text_is_read_by_bytes_as_by_characters() {
    let numbers = Numbers::of(["the", "été", "a_b", "kelvin"].into_iter());
    let piece = prop_oneof![
        Just("the"),
        Just("ÉTÉ"),
        Just("a_b"),
        Just("\u{212a}elvin"),
        Just("x"),
        Just("f"),
        Just("Rb"),
        Just(" "),
        Just("\n"),
        Just("\u{b}"),
        Just("\u{a0}"),
        Just("\u{1c}"),
        Just("\\"),
        Just("\""),
        Just("'"),
        Just("+"),
        Just("."),
        Just(","),
        Just("<"),
        Just("&"),
        Just("{"),
        Just("}"),
        Just("%s"),
        Just("$"),
        Just("#{"),
        Just(";"),
        Just("="),
        Just("("),
        Just("日"),
        Just("%("),
        Just(")"),
    ];
    let texts = prop::collection::vec(piece, 0..24).prop_map(|it| it.concat());
    few::run(few::cases(1024), &texts, |text| {
        let found = tokens(&text, &numbers, Pace::of(&|| true));
        prop_assert_eq!(found, tokens_by_characters(&text, &numbers), "{:?}", text);
        Ok(())
    });
}

/// The same as [`Message::longest`], by all runs that there may be.
fn longest_of_all(message: &Message, tokens: &[Token], numbered: &[Option<usize>]) -> Longest {
    let mut best = Longest::default();
    let mut runs = vec![Run::default(); message.words.len() + 1];
    for &token in tokens {
        let run = |at: usize| match token {
            Token::Word(word) if numbered[at] == Some(word) => runs[at].with(&message.words[at]),
            Token::Placeholder => message.with_placeholder(&runs, at),
            _ => Run::default(),
        };
        let next = (0..message.words.len()).map(run);
        let next: Vec<Run> = std::iter::once(Run::default()).chain(next).collect();
        best = next
            .iter()
            .map(|it| message.worth(*it))
            .fold(best, Longest::longer);
        runs = next;
    }
    best
}

#[test]
fn the_longest_run_is_that_of_all_runs() {
    // Few words, so that they recur; the first is a stop word.
    let words = ["the", "connection", "timeouts", "failed"];
    let word = || 0..words.len();
    let picked = prop::collection::vec((word(), any::<bool>()), 1..8);
    let token = prop_oneof![
        4 => word().prop_map(Token::Word),
        1 => Just(Token::Placeholder),
        1 => Just(Token::Other),
    ];
    let strategy = (picked, any::<bool>(), prop::collection::vec(token, 0..24));
    few::run(few::cases(512), &strategy, |(picked, is_whole, tokens)| {
        let numbered: Vec<Option<usize>> = picked.iter().map(|it| Some(it.0)).collect();
        let picked = picked.into_iter();
        let picked =
            picked.map(|(word, is_value)| MessageWord::new(words[word].to_owned(), is_value));
        let message = Message::new(picked.collect(), is_whole, 0);
        let longest = message.longest(&tokens, &numbered, Pace::of(&|| true));
        let expected = longest_of_all(&message, &tokens, &numbered);
        prop_assert_eq!(longest, expected, "{:?} {:?}", message, tokens);
        prop_assert!((0.0..=1.0).contains(&longest.share), "{longest:?}");
        let telling = message.words.iter().filter(|it| it.is_telling).count();
        prop_assert!(
            telling >= FEW_TELLING || longest.words == 0.0,
            "{message:?}"
        );
        Ok(())
    });
}
