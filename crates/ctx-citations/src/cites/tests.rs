use super::*;

#[test]
fn a_list_is_of_labels_alone() {
    for (text, labels) in [
        ("fil-9f2a1c", Some(&["fil-9f2a1c"][..])),
        ("[fil-9f2a1c]", Some(&["fil-9f2a1c"])),
        ("【fil-9f2a1c】", Some(&["fil-9f2a1c"])),
        (" [ fil-9f2a1c : 3-4 ] ", Some(&["fil-9f2a1c"])),
        ("fil-9f2a1c#L3", Some(&["fil-9f2a1c"])),
        (
            "[fil-9f2a1c:3, 7; mes-9f2a1c-2]",
            Some(&["fil-9f2a1c", "mes-9f2a1c-2"]),
        ),
        ("", None),
        ("[]", None),
        ("3, fil-9f2a1c", None),
        ("fil-9f2a1c, a.rs", None),
        ("fil-9f2a1c.md", None),
        ("[fil-9f2a1c", None),
        ("[[fil-9f2a1c]]", None),
    ] {
        assert_eq!(label_list(text).as_deref(), labels, "{text}");
    }
}
