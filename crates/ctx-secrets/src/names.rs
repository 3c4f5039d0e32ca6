//! Files that are there to hold secrets.

/// Whole names of files, in small letters.
const NAMES: [&str; 9] = [
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".pgpass",
    "_netrc",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
];

/// How such names end, in small letters.
const ENDS: [&str; 9] = [
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".pem",
    ".pfx",
    ".pkcs12",
    ".ppk",
];

/// Last words of names of settings that are there to be filled in, in small letters.
const EXAMPLES: [&str; 4] = ["dist", "example", "sample", "template"];

/// How names of code and prose end, which no settings are in.
const CODE: [&str; 13] = [
    ".cjs", ".cts", ".go", ".html", ".js", ".jsx", ".md", ".mjs", ".mts", ".py", ".rs", ".ts",
    ".tsx",
];

/// Whether the file at `path` is one of settings (`.env`, `.env.local`, `prod.env`, `app.env.local`, …) or keys (`id_rsa`,
/// `server.pem`, …), by its name alone, in any case. A public key (`id_rsa.pub`) is not one, and neither are settings that are
/// there to be filled in (`prod.env.example`, `example.env`), unless their name begins with `.env`, nor code (`jest.env.js`).
pub fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".env");
    let is_settings = stem.is_some() || name.contains(".env.");
    let last = stem
        .unwrap_or(&name)
        .rsplit(['.', '-', '_'])
        .next()
        .unwrap_or_default();
    let is_other = EXAMPLES.contains(&last) || CODE.iter().any(|it| name.ends_with(it));
    name.starts_with(".env")
        || (is_settings && !is_other)
        || NAMES.contains(&name.as_str())
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_files_of_secrets() {
        for path in [
            ".env",
            "a/.env.local",
            "a\\b\\.ENV",
            ".envrc",
            ".env.example",
            "prod.env",
            "deploy/DB.env",
            "app.env.local",
            "app.env.example.local",
            "home/.ssh/id_rsa",
            "tls/Server.PEM",
            "x.p12",
        ] {
            assert!(is_secret_file(path), "{path}");
        }
        for path in [
            "",
            "env",
            "src/env.rs",
            "src/app_env.rs",
            "prod.environment",
            "prod.env.example",
            "prod.env.Sample",
            "prod.env.template",
            "prod.env.dist",
            "example.env",
            "docker.example.env",
            "jest.env.js",
            "process.env.d.ts",
            "src/config.env.ts",
            "README.env.md",
            "id_rsa.pub",
            "keyboard.rs",
            "pem/lib.rs",
            "a.env/b.rs",
            "monkey",
            "key",
        ] {
            assert!(!is_secret_file(path), "{path}");
        }
    }
}
