//! For any text, twice the length takes twice the time.

use ctx_format::{OwnText, Slot, check_text, neutralise};
use ctx_model::Format;
use ctx_testkit::laws::linear;

/// What is judged by its neighbours, and runs of it.
const UNSEEN: &[&str] = &[
    "a",
    "\u{200d}",
    "م\u{200d}",
    "🔥\u{200d}",
    "☎\u{fe0f}",
    "\u{fe0f}",
    "1\u{fe0f}",
    "\u{115f}",
    "\u{115f}\u{1160}",
    "\u{e0061}",
    "🏴\u{e0061}\u{e0062}",
    "あ",
    "\r",
];

/// What opens and closes in Markdown, and nearly does.
const MARKDOWN: &[&str] = &[
    "`",
    "`a",
    "```\n",
    "~~~ a\n",
    "````\n```\n",
    " \t",
    "\t",
    "- ",
    "- a\n  ",
    "1",
    "1. a\n",
    "---\n",
    "<",
    "<a",
    "</",
    "<a>\n",
    "<div>\n",
    "<!--\n",
    "<!-- -->",
    "<!a",
    "<?",
    "<![CDATA[",
    "<pre>\n",
    "<pre></",
    "</pre",
    "\n",
    "> ",
    "é",
];

#[test]
fn neutralising_is_linear() {
    for pattern in UNSEEN {
        let text = |n: usize| pattern.repeat(n / pattern.len());
        for slot in [Slot::Text, Slot::Line] {
            linear(&format!("{pattern:?}"), text, |it| {
                neutralise(it, slot).len()
            });
        }
    }
}

#[test]
fn looking_for_what_is_left_open_is_linear() {
    for pattern in MARKDOWN {
        for before in ["", "```\n", "<pre>\n", "<a>\n", "<!-- ", "- a\n\n  "] {
            let text = |n: usize| before.to_owned() + &pattern.repeat(n / pattern.len());
            linear(&format!("{pattern:?} after {before:?}"), text, |it| {
                check_text(Format::Markdown, OwnText::Header, it)
            });
        }
    }
}
