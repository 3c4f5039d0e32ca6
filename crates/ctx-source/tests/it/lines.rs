//! Line numbers, compared with a character-by-character reading and with the lines of the model.

use ctx_testkit::laws::decodes;
use proptest::prelude::*;

#[test]
fn terminators_of_every_kind() {
    for text in [
        "",
        "\n",
        "\r",
        "\r\n",
        "a",
        "a\n",
        "a\r\nb\rc\nd",
        "\n\r",
        "\r\r\n\n",
        "a\n\n",
    ] {
        assert!(decodes("", text.as_bytes()).is_some(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text(text in "[ab é\r\n]{0,40}") {
        // A lone mark or NUL would be another encoding's; there is none in these.
        prop_assert!(decodes("", text.as_bytes()).is_some());
    }
}
