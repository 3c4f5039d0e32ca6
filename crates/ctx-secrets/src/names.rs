//! Names of files that exist to hold secrets.

/// Whole file names, in lower case.
const NAMES: [&str; 16] = [
    ".boto",
    ".dockercfg",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    "_netrc",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
];

/// Endings of names of files that hold secrets, in lower case.
const ENDS: [&str; 11] = [
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".pem",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".tfstate",
    ".tfvars",
];

/// The last words in names of templates for settings, in lower case.
const EXAMPLES: [&str; 4] = ["dist", "example", "sample", "template"];

/// Endings of file names of code and prose, which hold no settings.
const CODE: [&str; 13] = [
    ".cjs", ".cts", ".go", ".html", ".js", ".jsx", ".md", ".mjs", ".mts", ".py", ".rs", ".ts",
    ".tsx",
];

/// Whether the file at `path` holds settings (`.env`, `.env.local`, `prod.env`, `app.env.local`, …)
/// or keys (`id_rsa`, `server.pem`, …), by its name alone, ignoring case. Not included are public
/// keys (`id_rsa.pub`), templates of settings (`prod.env.example`, `example.env`) unless their name
/// begins with `.env`, and code (`jest.env.js`).
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
            "home/.pypirc",
            ".my.cnf",
            "infra/prod.tfvars",
            "terraform.tfstate",
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
            ".npmrc",
            "prod.tfvars.example",
            "main.tf",
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
