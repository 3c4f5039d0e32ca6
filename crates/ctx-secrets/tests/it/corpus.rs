//! Secrets in the forms that their issuers document, in the places where they are commonly left;
//! and files without any.
//!
//! All secrets are generated as the tests run; none is stored here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ctx_secrets::{find, mask};
use ctx_testkit::skip::skipped;
use fastrand::Rng;

/// Of each kind, in each place.
const SAMPLES: usize = 8;

/// What is wanted of all secrets to be found.
pub(crate) const PERCENT: usize = 95;

/// A kind of secret, the variable it is kept in, and its parts.
struct Kind(&'static str, &'static str, &'static [Part]);

enum Part {
    /// As it is.
    Is(&'static str),
    /// So many characters of these.
    Of(usize, &'static str),
}

use Part::{Is, Of};

const DIGIT: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const KINDS: &[Kind] = &[
    Kind(
        "AWS key id",
        "AWS_ACCESS_KEY_ID",
        &[Is("AKIA"), Of(16, BASE32)],
    ),
    Kind("AWS secret key", "AWS_SECRET_ACCESS_KEY", &[Of(40, BASE64)]),
    Kind("Age", "AGE_KEY", &[Is("AGE-SECRET-KEY-1"), Of(58, BECH32)]),
    Kind("Alibaba", "ALIBABA_ACCESS_KEY", &[Is("LTAI"), Of(20, WORD)]),
    Kind(
        "Anthropic",
        "ANTHROPIC_API_KEY",
        &[Is("sk-ant-api03-"), Of(93, URL), Is("AA")],
    ),
    Kind(
        "Atlassian",
        "ATLASSIAN_API_TOKEN",
        &[Is("ATATT3"), Of(186, URL)],
    ),
    Kind("Cloudflare", "CLOUDFLARE_API_TOKEN", &[Of(40, URL)]),
    Kind(
        "DigitalOcean",
        "DIGITALOCEAN_TOKEN",
        &[Is("dop_v1_"), Of(64, HEX)],
    ),
    Kind("Databricks", "DATABRICKS_TOKEN", &[Is("dapi"), Of(32, HEX)]),
    Kind("Datadog", "DATADOG_API_KEY", &[Of(40, LOWER)]),
    Kind(
        "Docker Hub",
        "DOCKER_TOKEN",
        &[Is("dckr_pat_"), Of(27, URL)],
    ),
    Kind("Doppler", "DOPPLER_TOKEN", &[Is("dp.pt."), Of(43, LOWER)]),
    Kind("Fastly", "FASTLY_API_TOKEN", &[Of(32, WORD)]),
    Kind("GitHub", "GITHUB_TOKEN", &[Is("ghp_"), Of(36, WORD)]),
    Kind("GitHub app", "GITHUB_TOKEN", &[Is("ghs_"), Of(36, WORD)]),
    Kind(
        "GitHub, fine-grained",
        "GH_TOKEN",
        &[Is("github_pat_"), Of(22, WORD), Is("_"), Of(59, WORD)],
    ),
    Kind("GitLab", "GITLAB_TOKEN", &[Is("glpat-"), Of(20, WORD)]),
    Kind("Google API", "GOOGLE_API_KEY", &[Is("AIza"), Of(35, WORD)]),
    Kind(
        "Google OAuth",
        "GOOGLE_CLIENT_SECRET",
        &[Is("GOCSPX-"), Of(28, WORD)],
    ),
    Kind(
        "Grafana",
        "GRAFANA_TOKEN",
        &[Is("glsa_"), Of(32, WORD), Is("_"), Of(8, HEX)],
    ),
    Kind("Groq", "GROQ_API_KEY", &[Is("gsk_"), Of(52, WORD)]),
    Kind("Heroku", "HEROKU_API_KEY", &[Is("HRKU-AA"), Of(58, WORD)]),
    Kind(
        "Hugging Face",
        "HF_TOKEN",
        &[
            Is("hf_"),
            Of(34, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ],
    ),
    Kind("Linear", "LINEAR_API_KEY", &[Is("lin_api_"), Of(40, WORD)]),
    Kind(
        "Mailchimp",
        "MAILCHIMP_API_KEY",
        &[Of(32, HEX), Is("-us12")],
    ),
    Kind("Mailgun", "MAILGUN_API_KEY", &[Is("key-"), Of(32, HEX)]),
    Kind(
        "New Relic",
        "NEW_RELIC_API_KEY",
        &[Is("NRAK-"), Of(27, UPPER)],
    ),
    Kind(
        "Notion",
        "NOTION_TOKEN",
        &[Is("ntn_"), Of(11, DIGIT), Of(35, WORD)],
    ),
    Kind("npm", "NPM_TOKEN", &[Is("npm_"), Of(36, WORD)]),
    Kind(
        "OpenAI",
        "OPENAI_API_KEY",
        &[Is("sk-proj-"), Of(74, WORD), Is("T3BlbkFJ"), Of(74, WORD)],
    ),
    Kind(
        "OpenAI, old",
        "OPENAI_API_KEY",
        &[Is("sk-"), Of(20, WORD), Is("T3BlbkFJ"), Of(20, WORD)],
    ),
    Kind(
        "Perplexity",
        "PERPLEXITY_API_KEY",
        &[Is("pplx-"), Of(48, WORD)],
    ),
    Kind(
        "PlanetScale",
        "PLANETSCALE_TOKEN",
        &[Is("pscale_tkn_"), Of(43, WORD)],
    ),
    Kind(
        "Postman",
        "POSTMAN_API_KEY",
        &[Is("PMAK-"), Of(24, HEX), Is("-"), Of(34, HEX)],
    ),
    Kind("Pulumi", "PULUMI_ACCESS_TOKEN", &[Is("pul-"), Of(40, HEX)]),
    Kind(
        "PyPI",
        "PYPI_TOKEN",
        &[Is("pypi-AgEIcHlwaS5vcmc"), Of(90, URL)],
    ),
    Kind(
        "Replicate",
        "REPLICATE_API_TOKEN",
        &[Is("r8_"), Of(37, WORD)],
    ),
    Kind(
        "RubyGems",
        "GEM_HOST_API_KEY",
        &[Is("rubygems_"), Of(48, HEX)],
    ),
    Kind(
        "SendGrid",
        "SENDGRID_API_KEY",
        &[Is("SG."), Of(22, WORD), Is("."), Of(43, WORD)],
    ),
    Kind("Sentry", "SENTRY_AUTH_TOKEN", &[Is("sntryu_"), Of(64, HEX)]),
    Kind("Shopify", "SHOPIFY_TOKEN", &[Is("shpat_"), Of(32, HEX)]),
    Kind(
        "Slack bot",
        "SLACK_TOKEN",
        &[
            Is("xoxb-"),
            Of(12, DIGIT),
            Is("-"),
            Of(12, DIGIT),
            Is("-"),
            Of(24, WORD),
        ],
    ),
    Kind(
        "Slack webhook",
        "SLACK_URL",
        &[
            Is("https://hooks.slack.com/services/T"),
            Of(10, UPPER),
            Is("/B"),
            Of(10, UPPER),
            Is("/"),
            Of(24, WORD),
        ],
    ),
    Kind("Square", "SQUARE_TOKEN", &[Is("sq0atp-"), Of(22, WORD)]),
    Kind("Stripe", "STRIPE_KEY", &[Is("sk_live_"), Of(24, WORD)]),
    Kind(
        "Stripe, restricted",
        "STRIPE_KEY",
        &[Is("rk_live_"), Of(24, WORD)],
    ),
    Kind(
        "Supabase",
        "SUPABASE_ACCESS_TOKEN",
        &[Is("sbp_"), Of(40, HEX)],
    ),
    Kind(
        "Telegram",
        "TELEGRAM_BOT_TOKEN",
        &[Of(9, "123456789"), Is(":AA"), Of(33, WORD)],
    ),
    Kind(
        "Terraform",
        "TF_TOKEN",
        &[Of(14, WORD), Is(".atlasv1."), Of(67, WORD)],
    ),
    Kind("Twilio", "TWILIO_API_KEY", &[Is("SK"), Of(32, HEX)]),
    Kind("Vault", "VAULT_TOKEN", &[Is("hvs."), Of(95, WORD)]),
];

impl Kind {
    fn sample(&self, rng: &mut Rng) -> String {
        let mut secret = String::new();
        for part in self.2 {
            match part {
                Is(text) => secret.push_str(text),
                Of(count, alphabet) => {
                    let alphabet = alphabet.as_bytes();
                    let random =
                        (0..*count).map(|_| char::from(alphabet[rng.usize(..alphabet.len())]));
                    secret.extend(random);
                }
            }
        }
        secret
    }
}

/// Where secrets are found: a file, and what it says.
fn places(variable: &str, secret: &str) -> Vec<(&'static str, String)> {
    let lower = variable.to_lowercase();
    vec![
        (
            "run.sh",
            format!("#!/bin/sh\nset -e\nexport {variable}={secret}\nmake\n"),
        ),
        (
            "settings.yml",
            format!("production:\n  debug: false\n  {lower}: {secret}\n  host: localhost\n"),
        ),
        (
            "settings.json",
            format!("{{\n  \"name\": \"app\",\n  \"{lower}\": \"{secret}\"\n}}\n"),
        ),
        (
            "settings.py",
            format!("DEBUG = False\n{variable} = \"{secret}\"\nHOSTS = []\n"),
        ),
        (
            "Main.java",
            format!("class Main {{\n    static final String {variable} = \"{secret}\";\n}}\n"),
        ),
        (
            "settings.toml",
            format!("[service]\n{lower} = '{secret}'\nport = 80\n"),
        ),
        (
            "run.log",
            format!("{{\"ran\": \"export {variable}={secret}, then\\nmake\"}}\n"),
        ),
        (
            "run.ipynb",
            format!("\"source\": [\"{lower} = \\\"{secret}\\\"\\n\"]\n"),
        ),
        (
            "ansi.log",
            format!("{variable}=\u{1b}[32m{secret}\u{1b}[0m\n"),
        ),
        ("list.yml", format!("{lower}: [{secret}]\n")),
        ("settings.xml", format!("<{lower}>{secret}</{lower}>\n")),
        (
            "notes.md",
            format!(
                "Use {variable}={secret}. It is ({variable}={secret}), {variable}={secret}, as before.\n"
            ),
        ),
        (
            "query.txt",
            format!("https://host/api?{lower}={secret}&limit=1 | {lower}={secret}\n"),
        ),
        (
            "user.sh",
            format!("curl https://host/api -u {variable}={secret}:\n"),
        ),
        (
            "lines.json",
            format!("\"{variable} is\\n{secret}\\nnow\"\n"),
        ),
        ("encoded.txt", format!("{lower}%3D{secret}%26limit%3D1\n")),
    ]
}

/// A block between marks, as keys are kept in files.
fn block(mark: &str, rng: &mut Rng) -> String {
    let mut text = format!("-----BEGIN {mark}-----\n");
    for _ in 0..12 {
        let line = Kind("", "", &[Of(64, BASE64)]).sample(rng);
        text.push_str(&line);
        text.push('\n');
    }
    text + "-----END " + mark + "-----"
}

fn is_masked(path: &str, text: &str, secret: &str) -> bool {
    let mut masked = text.to_owned();
    mask(path, &mut masked);
    assert_eq!(masked.len(), text.len());
    let shown = secret.lines().filter(|line| line.len() > 20);
    shown.into_iter().all(|line| !masked.contains(line)) && !masked.contains(secret)
}

#[test]
fn of_secrets_as_they_are_issued_nearly_all_are_found() {
    let mut rng = Rng::with_seed(7);
    let (mut found, mut all) = (0_usize, 0_usize);
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    let mut tell = |name: &str, path: &str, is_found: bool| {
        all += 1;
        if is_found {
            found += 1;
        } else {
            *missed.entry(format!("{name} in {path}")).or_default() += 1;
        }
    };
    for kind in KINDS {
        for _ in 0..SAMPLES {
            let secret = kind.sample(&mut rng);
            for (path, text) in places(kind.1, &secret) {
                tell(kind.0, path, is_masked(path, &text, &secret));
            }
        }
    }
    for mark in [
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        for _ in 0..SAMPLES {
            let key = block(mark, &mut rng);
            let text = format!("first line\n{key}\nlast line\n");
            tell(mark, "notes.md", is_masked("notes.md", &text, &key));
            let inline = key.replace('\n', "\\n");
            let text = format!("{{\"private_key\": \"{inline}\"}}");
            tell(
                mark,
                "account.json",
                is_masked("account.json", &text, &inline),
            );
        }
    }
    println!("{found} of {all} found; missed: {missed:#?}");
    assert!(found * 100 >= all * PERCENT, "{missed:#?}");
}

/// Where the crates are that are linked here, where they are kept.
pub(crate) fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    Some(home.join("registry/src")).filter(|it| it.is_dir())
}

/// Files of the crates that are linked here: those of other people, most of which hold no secret.
fn files(folder: &Path, most: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    paths.sort();
    for path in paths {
        if found.len() >= most {
            return;
        }
        if path.is_symlink() {
        } else if path.is_dir() {
            files(&path, most, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn of_files_without_secrets_hardly_any_is_touched() {
    let Some(registry) = registry() else {
        skipped("there are no crates to read");
        return;
    };
    let most = std::env::var("CTX_REAL_FILES").ok();
    let most = most.and_then(|it| it.parse().ok()).unwrap_or(3_000);
    let mut all = Vec::new();
    files(&registry, most, &mut all);
    let mut wrong = Vec::new();
    let mut count = 0_usize;
    for path in all {
        // Rules for secrets and what they are tried on look like secrets, and are none.
        let shown = path.to_string_lossy().into_owned();
        if ["secret", "redact", "kingfisher"]
            .iter()
            .any(|it| shown.contains(it))
        {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        count += 1;
        for secret in find(&shown, &text) {
            let said = &text[secret.span];
            // What holds a key between its marks is one, whoever made it for a test.
            if !said.contains("PRIVATE KEY") {
                wrong.push(format!("{shown}: {}: {said}", secret.rule));
            }
        }
    }
    println!("{} of {count}: {wrong:#?}", wrong.len());
    assert!(wrong.len() * 1_000 <= count.max(1_000), "{wrong:#?}");
}

/// What is called a secret in the text files of a folder, and how long that takes.
#[test]
#[ignore = "measures; set CTX_MEASURE"]
fn measured() {
    let folder = std::env::var_os("CTX_MEASURE").expect("CTX_MEASURE names a folder");
    let mut all = Vec::new();
    files(Path::new(&folder), usize::MAX, &mut all);
    let texts: Vec<(String, String)> = all
        .iter()
        .filter_map(|it| {
            Some((
                it.to_string_lossy().into_owned(),
                std::fs::read_to_string(it).ok()?,
            ))
        })
        .collect();
    // Rules are compiled when they are met first.
    let all: Vec<_> = texts.iter().map(|(path, text)| find(path, text)).collect();
    for ((path, text), found) in texts.iter().zip(&all) {
        for secret in found {
            let line = text[..secret.span.start].matches('\n').count() + 1;
            println!(
                "{path}:{line}: {}: {}",
                secret.rule,
                &text[secret.span.clone()]
            );
        }
    }
    let bytes: usize = texts.iter().map(|it| it.1.len()).sum();
    let clock = Instant::now();
    for (path, text) in &texts {
        find(path, text);
    }
    let (took, count) = (clock.elapsed(), texts.len());
    println!("{count} files, {bytes} bytes: {took:?}");
}
