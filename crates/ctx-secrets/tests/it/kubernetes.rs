//! Secrets of Kubernetes in manifests.

use ctx_secrets::{find, mask};
use ctx_testkit::laws::{linear, masks};
use proptest::prelude::*;

/// Checks that of `manifest` what is between `«` and `»` is masked, and nothing else.
#[track_caller]
fn check(manifest: &str) {
    let (mut text, mut expected, mut is_secret) = (String::new(), String::new(), false);
    for next in manifest.chars() {
        if matches!(next, '«' | '»') {
            is_secret = next == '«';
            continue;
        }
        text.push(next);
        expected.push(if is_secret && next != '\n' { '*' } else { next });
    }
    for path in ["secret.yaml", "notes.md", ""] {
        let mut masked = text.clone();
        mask(path, &mut masked);
        assert_eq!(masked, expected, "{path}");
        assert_eq!(find(path, &masked), [], "{masked}");
    }
    let crlf = text.replace('\n', "\r\n");
    let mut masked = crlf.clone();
    mask("secret.yaml", &mut masked);
    assert_eq!(masked, expected.replace('\n', "\r\n"));
}

#[test]
fn values_are_masked_wherever_data_and_kind_stand() {
    let labels = "    app.kubernetes.io/part-of: an-application-of-many-parts\n".repeat(20);
    check(&format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels:\n{labels}data:\n  user: «YWRh»\n  \
         \"password\": '«czNjcjN0»' # old\ntype: Opaque\n"
    ));
    check(&format!(
        "apiVersion: v1\ndata:\n  password: «czNjcjN0»\nmetadata:\n  labels:\n{labels}kind: Secret\ntype: Opaque\n"
    ));
    check("kind: \"Secret\" # one\nstringData:\n  user: «ada»\n  password: \"«a \\\"b\\\" c»\"\n");
}

#[test]
fn each_document_and_item_is_by_itself() {
    check(
        "kind: ConfigMap\ndata:\n  a: shown\n---\nkind: Secret\ndata:\n  a: «YWJj»\n---\nkind: ConfigMap\ndata:\n  a: shown\n",
    );
    check(
        "kind: List\nitems:\n- apiVersion: v1\n  data:\n    a: «YWJj»\n  kind: Secret\n- data:\n    a: shown\n  kind: ConfigMap\n",
    );
    check(
        "Apply it:\n\n```yaml\nkind: Secret\ndata:\n  a: «YWJj»\n```\n\n- then:\n\n  ```yaml\n  kind: Pod\n  data:\n    a: shown\n  ```\n",
    );
    check("kind: Secret\ndata:\n  a: «YWJj»\n\nThen apply it\n\n    kubectl apply\n");
    check("roleRef:\n  kind: Secret\n  name: a\ndata:\n  a: shown\n");
}

#[test]
fn values_of_several_lines_are_masked_whole() {
    check(
        "kind: Secret\nstringData:\n  config.yaml: |-\n    «user: ada»\n\n    «# and»\n      «password: b»\n  folded: >\n    «one»\n  last: \
         «two»\n  binary: !!binary |\n    «YWJj»\n  quoted: \"«one»\n    «two\"»\nimmutable: true\n",
    );
}

#[test]
fn what_stands_for_a_value_is_shown() {
    check(
        "{{- if .Values.enabled }}\nkind: Secret\ndata:\n  {{- range $key, $value := .Values.all }}\n  {{ $key }}: {{ $value }}\n  {{- end }}\n  a: \
         {{ .Values.a | b64enc }}\n  b: \"${B}\"\n  c: <base64>\n  d: \"\"\n  e:\n  f: null\n  # a remark\n  g: «YWJj»\n{{- end }}\n",
    );
    check("kind: Secret\ndata: {}\n");
    check("kind: Secret\ndata: {{ .Values.data }}\n");
    check("kind: Secret\ndata: {«a: YWJj, b: YWJj»}\ntype: Opaque\n");
}

#[test]
fn manifests_in_json_are_masked_too() {
    check(
        r#"{"apiVersion":"v1","data":{"a":"«YWJj»","b":"«YWJjZA==»"},"kind":"Secret","metadata":{"name":"shown"}}"#,
    );
    check(
        r#"{
  "items": [
    {"kind": "Secret", "stringData": {"a": "«a \" b»", "b": ""}},
    {"kind": "ConfigMap", "data": {"a": "shown"}}
  ]
}"#,
    );
    // What `kubectl apply` keeps of a manifest.
    check(
        r#"apiVersion: v1
data:
  a: «YWJj»
kind: Secret
metadata:
  annotations:
    last-applied-configuration: |
      {"apiVersion":"v1","data":{"a":"«YWJj»"},"kind":"Secret"}
"#,
    );
    check(
        r#"{"metadata": {"last": "{\"data\":{\"a\":\"«YWJj»\"},\"kind\":\"Secret\"}\n", "name": "shown"}}"#,
    );
}

#[test]
fn code_about_secrets_is_shown() {
    for code in [
        "const secret = {\n  kind: 'Secret',\n  data: {\n    password: encode(password),\n  },\n};\n",
        "if object.kind == \"Secret\" {\n    data: load(),\n}\n",
        "kind: Secret\nname: data\n",
        "kind: SealedSecret\nspec:\n  data:\n    a: shown\n",
        "The `kind: Secret` has `data: values`.\n",
    ] {
        assert_eq!(find("a.ts", code), [], "{code}");
    }
}

proptest! {
    #[test]
    fn any_pieces_of_manifests_are_masked_in_place(
        pieces in prop::collection::vec(prop_oneof![
            Just("kind: Secret\n"), Just("data:\n"), Just("  data:\n"), Just("- "), Just("  "),
            Just("  a: é\n"), Just("    b\n"), Just("---\n"), Just("\"kind\": \"Secret\""),
            Just("\"data\": {"), Just("}"), Just(","), Just("\"é\""), Just("\\\"kind\\\":\\\"Secret\\\""),
            Just("\\\"data\\\":{"), Just("\\\"x\\\""), Just("\\"), Just("\""), Just("'"), Just("{{"),
            Just("}}"), Just("!"), Just("| "), Just("\r\n"), Just(":"), Just("#"), Just("\u{a0}"),
        ], 0..40)
    ) {
        masks("a.yaml", &pieces.concat());
    }
}

#[test]
fn manifests_are_read_in_linear_time() {
    for pattern in [
        "kind: Secret\n",
        "kind: Secret\ndata:\n  a: YWJj\n",
        "data:\n  a: YWJj\n",
        "- ",
        "- data:\n",
        "{\"kind\":\"Secret\",\"data\":{\"a\":\"b\",",
        "{",
        "}",
        "\"",
        "\\\"",
        "\\\\\"",
        "\" ",
    ] {
        let text = |n: usize| "kind: Secret\n".to_owned() + &pattern.repeat(n / pattern.len());
        linear(&format!("{pattern:?}"), text, |it| find("a.txt", it));
    }
    let deep = |n: usize| {
        let depth = 0..n.isqrt();
        let lines = depth.map(|it| format!("{}data:\n", " ".repeat(it)));
        "kind: Secret\n".to_owned() + &lines.collect::<String>()
    };
    linear("deep", deep, |it| find("a.txt", it));
}
