//! Laws of masking.

use ctx_secrets::{find, mask};
use ctx_testkit::laws::{linear, masks};
use proptest::prelude::*;

/// `text`, the content of the file at `path`, with its secrets masked.
fn masked(path: &str, text: &str) -> String {
    let mut masked = text.to_owned();
    mask(path, &mut masked);
    masked
}

/// Text with pieces that rules look for, and pieces that break them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ghp_".to_owned()),
        Just("AKIA".to_owned()),
        Just("aws_secret_access_key = ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\r\n".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("-----END RSA PRIVATE KEY-----\n".to_owned()),
        Just("sk_live_".to_owned()),
        Just("\r\n".to_owned()),
        "[A-Za-z0-9+/]{30,70}",
        "[A-Z2-7]{16}",
        "\\PC{0,20}",
        "[\u{0}-\u{7f}]{0,10}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_but_the_secrets_changes(text in text()) {
        masks("a.txt", &text);
    }
}

#[test]
fn masking_is_idempotent() {
    let token = format!("token = ghp_{}\n", "a1B2c3D4e5F6".repeat(3));
    let mut text = token.clone();
    assert_eq!(mask("", &mut text).len(), 1);
    let once = text.clone();
    assert!(mask("", &mut text).is_empty());
    assert_eq!(text, once);
    assert_ne!(text, token);
}

#[test]
fn a_remark_does_not_keep_a_secret_shown() {
    for remark in ["gitleaks:allow", "secrets-scanner:allow", "nosec", "noqa"] {
        let text = format!("token = ghp_{} # {remark}\n", "a1B2c3D4e5F6".repeat(3));
        assert_eq!(find("", &text).len(), 1, "{remark}");
    }
}

/// Lines of a key, and the marks around it.
fn key(lines: usize) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let lines = line.repeat(lines) + "t8cK==\n";
    format!("-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----")
}

#[test]
fn a_mark_that_no_key_follows_hides_neither_text_nor_a_key() {
    let (key, mark) = (
        key(26),
        "const MARK: &str = \"-----BEGIN PRIVATE KEY-----\";\n",
    );
    for lines in [3, 30, 3_000] {
        let code = "let kept = of_all.get(&name);\n".repeat(lines);
        let text = format!("{mark}{code}{mark}{code}{key}\n{code}{key}\n");
        let found = find("a.rs", &text);
        let keys: Vec<&str> = found.iter().map(|it| &text[it.span.clone()]).collect();
        assert_eq!(keys, [&key, &key], "{lines}");
    }
}

#[test]
fn a_key_is_masked_however_long_it_is_and_without_its_end() {
    let long = key(2_000);
    assert_eq!(find("a.txt", &long)[0].span, 0..long.len());
    let whole = key(4);
    let cut = &whole[..whole.rfind("-----END").unwrap()];
    for other in ["PUBLIC KEY", "CERTIFICATE", "PRIVATE KEY"] {
        let text = format!(
            "{cut}\nand then\n-----BEGIN {other}-----\n{}{whole}",
            "A".repeat(70)
        );
        let masked = masked("a.txt", &text);
        assert!(
            !masked.contains("MIIEvQ") && !masked.contains("t8cK"),
            "{other}: {masked}"
        );
        assert!(masked.contains("and then"), "{other}: {masked}");
    }
}

/// Its parts, of which one has the beginning of a key and one the end, and all lines of keys that
/// are in them.
fn halves(label: &str, checksum: &str, end: &str) -> [String; 2] {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let lines = [line, end].concat().repeat(12);
    let begin = format!("-----BEGIN {label}-----{end}{lines}");
    let finish = format!("{lines}MIIEt8cK=={end}{checksum}-----END {label}-----");
    [begin, finish]
}

#[test]
fn a_key_that_is_cut_through_is_masked_with_the_mark_it_has() {
    for (label, checksum) in [
        ("PRIVATE KEY", ""),
        ("RSA PRIVATE KEY", ""),
        ("OPENSSH PRIVATE KEY", ""),
        ("PGP PRIVATE KEY BLOCK", "=Mi1e\n"),
    ] {
        for end in ["\n", "\r\n", "\\n"] {
            for half in halves(label, checksum, end) {
                for around in ["", "# deploy\n\n", "let key = load(path)?;\n"] {
                    let mut text = format!("{around}{half}\n{around}");
                    let found = mask("half.md", &mut text);
                    assert_eq!(found.len(), 1, "{text}");
                    assert_eq!(found[0].rule, "cut-private-key");
                    assert!(!text.contains("MII"), "{text}");
                    assert!(!text.contains("-----"), "{text}");
                    assert!(text.matches(around.trim_end()).count() > 1, "{text}");
                    assert!(mask("half.md", &mut text).is_empty(), "{text}");
                }
            }
        }
    }
    // Both in one text, the end before the beginning of another.
    let [begin, end] = halves("PRIVATE KEY", "", "\n");
    let mut text = format!("{end}\nand then\n{begin}\nthe end\n");
    assert_eq!(mask("", &mut text).len(), 2);
    assert!(!text.contains("MII"), "{text}");
    assert!(
        text.contains("\nand then\n") && text.ends_with("\nthe end\n"),
        "{text}"
    );
}

#[test]
fn marks_of_keys_in_code_and_prose_are_no_keys() {
    for text in [
        "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") {\n    let key = parse(text);\n}\n",
        "const END: &str = \"-----END PRIVATE KEY-----\";\nlet at = text.find(END);\n",
        "A key ends with a line of its own, as this one:\n\n    -----END RSA PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "It says PRIVATE KEY on it, BEGIN PRIVATE KEY and END PRIVATE KEY.\n",
        "begin: \"-----BEGIN PRIVATE KEY-----\"\nname: app\nsum: a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2\nnext: thing\n",
        "text = text.replace(\"-----BEGIN PRIVATE KEY-----\", \"\")\n    .replaceAll(System.lineSeparator(), \"\")\n    .replace(\"-----END PRIVATE KEY-----\", \"\");\n",
        "BEGIN = \"-----BEGIN RSA PRIVATE KEY-----\"\n\ndef lines(text):\n    return [line for line in text.splitlines() if line]\n\nEND = \"-----END RSA PRIVATE KEY-----\"\n",
        "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst ALL: &[u8] = b\"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\";\n",
    ] {
        assert!(find("a.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn marks_that_share_the_dashes_between_them_are_read() {
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
        for [first, second] in [
            ["END", "END"],
            ["BEGIN", "BEGIN"],
            ["BEGIN", "END"],
            ["END", "BEGIN"],
        ] {
            let both = format!("-----{first} {label}-----{second} {label}-----\n");
            for text in [
                both.clone(),
                format!("{line}{both}"),
                format!("{both}{line}"),
                format!("{line}{both}{line}"),
            ] {
                assert_eq!(masked("a.pem", &text).len(), text.len());
            }
        }
        let text = format!("{line}-----END {label}-----END {label}-----\n");
        let text = masked("a.pem", &text);
        assert!(!text.contains("MII"), "{text}");
    }
}

#[test]
fn a_rule_of_files_holds_in_texts_of_none() {
    let terraform = "resource \"a\" \"b\" {\n  password = \"b8s7d6f5g4h3\"\n}\n";
    assert_eq!(find("main.tf", terraform).len(), 1);
    assert_eq!(find("", terraform).len(), 1);
    assert!(find("main.py", terraform).is_empty());
}

/// Words that rules ask for, beginnings of what they find that go on for ever, and what is found,
/// on one line and on many.
#[test]
fn secrets_are_looked_for_in_linear_time() {
    let token = format!("ghp_{} ", "a1B2c3D4e5F6".repeat(3));
    let own_line = token.trim_end().to_owned() + "\n";
    let hex = "3f9a0c7e5b1d8246".repeat(2);
    let kerberos = format!("$krb5asrep$23${hex}${hex}{hex}\n");
    let address = format!("api.pdflayer.com/api/convert?key={hex}&");
    let drone = format!("drone-key-ey-drone-key-{hex}-");
    for pattern in [
        "a",
        " ",
        "\n",
        "=",
        "\"",
        "ghp_",
        "AKIA",
        "key ",
        "token=",
        "secret ",
        "password: \"",
        "aws_secret_access_key = ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----",
        "-----END PRIVATE KEY-----\n",
        "PRIVATE KEY",
        "sk_live_",
        "xoxb-1",
        "eyJ",
        "eyJh.eyJh.",
        "https://hooks.slack.com/services/T",
        "postgres://",
        "postgres://app:",
        "a://a:a@",
        "postgres://app:Tr0ub4dor3x@db ",
        &token,
        &own_line,
        &kerberos,
        &address,
        &drone,
        "{\"auths\": {\"ghcr.io\": {}, ",
        "\"auths\":{\"ghcr.io\":{},\"a\":{\"auth\":\"ZGVwbG95OlRyMHViNGRvcjN4\"}}",
        "{\"auth_provider_x509_cert_url\": \"x",
        "{ {\"auth_provider_x509_cert_url\": \"x\"} ",
        "curl -u app:Tr0ub4dor3x ",
        "curl -u 'app curl -u app:Tr0ub4dor3x\n",
        "credentials{//credentials{username 'abc'password 'Tr0ub4dor3x'",
    ] {
        let text = |n: usize| pattern.repeat(n / pattern.len());
        linear(&format!("{pattern:?}"), text, |it| find("a.txt", it));
    }
}

#[test]
fn the_address_of_a_database_is_a_secret_with_a_password_alone() {
    for address in [
        "spring.datasource.url=${MYSQL_URL:jdbc:mysql://localhost/petclinic}",
        "url = jdbc:postgresql://db.internal:5432/app?user=admin&ssl=true",
        "jdbc:oracle:thin:@ora.internal.net:1521/ORCLPDB1?a=b",
    ] {
        assert_eq!(find("a.properties", address), [], "{address}");
    }
    for (address, secret) in [
        (
            "url = jdbc:postgresql://db.internal:5432/app?user=admin&password=s3cr3t",
            "s3cr3t",
        ),
        (
            "jdbc:mysql://admin:s3cr3t@prod.internal:3306/inventory?a=b",
            "s3cr3t",
        ),
        (
            "jdbc:oracle:thin:scott/t1ger@ora.internal.net:1521/ORCL?a=b",
            "t1ger",
        ),
        (
            "jdbc:sqlserver://sql.internal:1433;databaseName=inventory;user=sa;PWD=s3cr3t!",
            "s3cr3t",
        ),
    ] {
        let text = masked("a.properties", address);
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn the_password_in_a_url_is_masked_alone() {
    for (start, end) in [
        ("postgresql://app:", "@db/app"),
        ("postgres://app:", "@db:5432/app"),
        ("postgresql+psycopg2://app-user:", "@db/app"),
        ("mysql2://app:", "@10.0.0.7/app"),
        ("mariadb://app:", "@db"),
        ("mongodb://app:", "@one:27017,two:27017/app?replicaSet=rs0"),
        ("mongodb+srv://app:", "@cluster0.ab1cd.mongodb.net"),
        ("clickhouse://app:", "@[::1]:9000/app"),
        ("mssql+pyodbc://sa:", "@db/app?driver=ODBC+Driver+18"),
        ("smtp://reports%40contoso.com:", "@smtp.contoso.com:587"),
        ("socks5://app:", "@proxy:1080"),
        ("https://deploy:", "@git.contoso.com/x.git"),
        ("redis://:", "@db"),
    ] {
        for password in ["Tr0ub4dor3x", "Tr0ub%40dor+3x!", "tr:0ub@dor3"] {
            for around in ["", " ", "\"", "'", "`", "(", "<"] {
                let text = format!("{around}{start}{password}{end}{around}\n");
                let stars = "*".repeat(password.len());
                let expected = format!("{around}{start}{stars}{end}{around}\n");
                // Rules for some schemes mask all of the URL.
                let masked = masked("a.txt", &text);
                assert!(masked == expected || !masked.contains("://"), "{masked}");
            }
        }
    }
    let two = "a://app:Tr0ub4dor3x@h1,a://app:Tr0ub4dor4y@h2";
    let expected = "a://app:***********@h1,a://app:***********@h2";
    assert_eq!(masked("", two), expected);
}

#[test]
fn what_stands_for_a_password_in_a_url_is_none() {
    for text in [
        "http://a:b@c",
        "http://host:8080/@scope/package",
        "http://localhost:3000 mail@example.com",
        "http://user:password@host",
        "https://username:p4ssw0rd1@host",
        "postgres://postgres:postgres@localhost:5432/postgres",
        "postgres://my_user:my-secret-password@localhost",
        "postgres://${USER}:${PASSWORD}@localhost",
        "postgres://$USER:$PASSWORD@localhost",
        "postgres://app:$(pass show db)@localhost",
        "postgres://app:{password}@localhost",
        "postgres://app:{{ .Values.password }}@localhost",
        "postgres://app:#{password}@localhost",
        "postgres://app:<password>@localhost",
        "postgres://app:[PASSWORD]@localhost",
        "postgres://app:%(password)s@localhost",
        "postgres://app:%DATABASE_PASSWORD%@localhost",
        "postgres://app:***********@localhost",
        "https://x-access-token:$GITHUB_TOKEN@github.com",
        "git://[^:]+:[^@]+@[^/]+",
        "docker://python:3.12.10-slim@sha256:0123",
        "a://:longword:other@",
    ] {
        assert_eq!(find("a.txt", text), [], "{text}");
    }
    // Before, all between an address and the next that is no URL was taken for a password.
    let code = "fn next(of: &str) -> Option<usize> { None }\n".repeat(300);
    let text =
        format!("'postgres://localhost:5432/app'\n{code}# ask ops@example.com, 9:30 to 17\n");
    assert_eq!(find("a.rs", &text), []);
}

/// Each with what is secret in it, and what is not.
#[test]
fn of_a_pair_the_secret_half_is_masked() {
    let token = "q8Zt3LxW0vB7nR2yKd5Fh9Mc4Pj6Sg1Ta8Ub0Ve2Wf4Xg6Yh8Zi0Jk2Lm4Nn6Oo8Pp0Q";
    let [hex, secret] = ["3f9a0c7e5b1d8246", "c3VwZXItc2VjcmV0LXBhc3N3b3Jk"];
    let (long_hex, key) = (hex.repeat(4), &token[..43]);
    let azure =
        format!("Endpoint=https://x.azconfig.io;Id=ab1c-d2-ef:Zx9Yw8Vu7Ts6Rq5Po4Nm;Secret={key}=;");
    let discord = format!(
        "https://discord.com/api/webhooks/123456789012345678/{}",
        &token[..68]
    );
    let docker = format!(
        "{{\"auths\": {{\"registry.contoso.com\": {{\"auth\": \"{secret}\"}}, \"two.contoso.com\": {{\"auth\": \
         \"{secret}\"}}}}}}"
    );
    let cloudant = format!(
        "https://3f9a0c7e-5b1d-8246-9ace-0123456789ab-bluemix:{long_hex}@a.cloudantnosqldb.appdomain.cloud"
    );
    let id = "3f9a0c7e-5b1d-8246-9ace-0123456789ab";
    let teams = format!(
        "see https://contoso.webhook.office.com/webhookb2/{id}@{id}/IncomingWebhook/{}/{id} there",
        &long_hex[..32]
    );
    let gitalk = format!(
        "new Gitalk({{clientID: '{}', clientSecret: '{}',",
        &long_hex[..20],
        &long_hex[..40]
    );
    for (text, secret, public) in [
        (&*azure, key, "x.azconfig.io"),
        (
            "https://reporting-svc:Tr0ub4dor-3x@git.contoso.com/x.git",
            "Tr0ub4dor-3x",
            "git.contoso",
        ),
        (
            &discord,
            &token[..68],
            "discord.com/api/webhooks/123456789012345678",
        ),
        (&docker, secret, "two.contoso.com"),
        (&teams, "/IncomingWebhook/", "see "),
        (&cloudant, &long_hex, "appdomain.cloud"),
        (&gitalk, &long_hex[..40], "clientSecret"),
        (
            "Driver={ODBC 18};User Id=reports;Password=Tr0ub4dor-3x;",
            "Tr0ub4dor-3x",
            "User Id=reports",
        ),
        (
            "credentials {\n  username 'deploy'\n  password 'Tr0ub4dor-3x'\n}",
            "Tr0ub4dor-3x",
            "username",
        ),
        (
            "$mail->Host = 'smtp.contoso.com';\n$mail->Username = 'reports';\n$mail->Password = 'Tr0ub4dor-3x';",
            "Tr0ub4dor-3x",
            "smtp.contoso.com",
        ),
        (
            "token-id: a1b2c3\ntoken-secret: 0q8zt3lxw0vb7nr2\n",
            "0q8zt3lxw0vb7nr2",
            "a1b2c3",
        ),
    ] {
        let masked = masked("a.txt", text);
        assert!(!masked.contains(secret), "{masked}");
        assert!(masked.contains(public), "{masked}");
        assert_eq!(masked.len(), text.len());
    }
}

#[test]
fn every_entry_of_a_secret_of_kubernetes_is_masked() {
    let entries = [
        "username: cmVwb3J0aW5nLXN2Yw==",
        "password: c3VwZXItc2VjcmV0LXBhc3N3b3JkLTEyMw==",
        "pin: MTIzNA==",
        "token: \"ZXhhbXBsZS10b2tlbi12YWx1ZS0xMjM0NTY3ODkw\"",
    ];
    let text = format!(
        "kind: Secret\nmetadata:\n  name: a\ndata:\n  {}\n  {} # once\n\n  # twice\n  {}\n  {}\ntype: Opaque\n",
        entries[0], entries[1], entries[2], entries[3]
    );
    let masked = masked("secret.yaml", &text);
    for entry in entries {
        let value = entry.split(": ").nth(1).unwrap().trim_matches('"');
        assert!(!masked.contains(value), "{masked}");
    }
    assert!(masked.ends_with("type: Opaque\n"), "{masked}");
    assert!(masked.contains("  name: a\n"), "{masked}");
    // The data of the next document are no secrets.
    let two = "kind: Secret\nmetadata:\n  name: a\n---\nkind: ConfigMap\ndata:\n  one: abcdefghijkl\n  two: abcdefghijklmnop\n";
    assert!(find("two.yaml", two).is_empty());
}

#[test]
fn every_registry_of_docker_is_masked() {
    let auth = "ZGVwbG95OlRyMHViNGRvcjN4";
    for entries in [
        "",
        "\"ghcr.io\": {}, ",
        "\"ghcr.io\": {\"email\": \"a@contoso.com\"}, \"gcr.io\": {}, ",
    ] {
        let list = format!(
            "{entries}\"one.contoso.com\": {{\"auth\": \"{auth}\"}}, {entries}\"two.contoso.com\": \
             {{\"auth\": \"{auth}\"}}"
        );
        let text = format!("{{\"auths\": {{{list}}}, \"credsStore\": \"docker\"}}");
        let stars = "*".repeat(auth.len());
        assert_eq!(masked("config.json", &text), text.replace(auth, &stars));
        let small = text.replace(": ", ":").replace(", ", ",");
        assert_eq!(masked("", &small), small.replace(auth, &stars));
    }
}

#[test]
fn the_password_of_every_call_of_curl_is_masked() {
    let user = |user: &str| format!("curl -u app:{user} https://contoso.com/a");
    let header = |token: &str| {
        format!("curl \\\n  -H 'Authorization: Bearer {token}' \\\n  https://contoso.com/a")
    };
    let secrets = ["Tr0ub4dor3x", "Qw7rTy9uIop3", "b4tterystapl3"];
    for call in [&user as &dyn Fn(&str) -> String, &header] {
        for between in [" && ", "; ", "\n", "\n\n"] {
            let calls = secrets.map(call).join(between);
            let text = format!("{calls}{between}{}\n", call("$PASSWORD"));
            let masked = masked("a.sh", &text);
            for secret in secrets {
                assert!(!masked.contains(secret), "{masked}");
            }
            assert_eq!(masked.matches("contoso.com/a").count(), 4, "{masked}");
        }
    }
}
