//! Builds a crate as another team would: from a package outside the workspace.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// What build scripts and procedural macros have in common, with the features it has when the whole
/// workspace is built. A package that names these finds build scripts and macros compiled; without
/// them its smaller set of features has all of them compiled again, for minutes, though what is
/// checked here is not of them: features of build dependencies are those of no other.
const SHARED_BY_BUILD_SCRIPTS: &str = r#"
cc = { version = "1", features = ["parallel"] }
indexmap = "2"
regex-automata = "0.4"
regex-syntax = "0.8"
serde = { version = "1", features = ["derive"] }
serde_core = { version = "1", default-features = false, features = ["alloc", "result", "std"] }
serde_json = { version = "1", features = ["alloc", "preserve_order"] }
syn = { version = "3", features = ["extra-traits", "full", "visit", "visit-mut"] }
syn2 = { package = "syn", version = "2", features = ["extra-traits", "fold", "full", "visit-mut"] }
"#;

/// Checks that `name` compiles with `feature` alone, or with none, when no other crate of the
/// workspace enables features for it.
pub(super) fn build(workspace: &Workspace, name: &str, feature: Option<&str>) -> Result<()> {
    let package = match feature {
        Some(feature) => format!("{name}-{feature}"),
        None => name.to_owned(),
    };
    let folder = workspace.target.join("layers").join(package);
    write_package(workspace, name, feature, &folder)
        .with_context(|| format!("failed to write a package around {name}"))?;
    // With the profiles and in the target folder of the workspace, whose dependencies were compiled
    // for the lints: otherwise build scripts, which read whole vocabularies, run unoptimised for
    // minutes.
    Call::cargo(["check", "--quiet", "--offline", "--config"])
        .args([workspace.root.join("Cargo.toml")])
        .env("CARGO_TARGET_DIR", &workspace.target)
        .within(&folder)
        .run()
        .with_context(|| format!("{name} does not build alone, from {}", folder.display()))
}

fn write_package(
    workspace: &Workspace,
    name: &str,
    feature: Option<&str>,
    folder: &Path,
) -> Result<()> {
    let path = workspace.root.join("crates").join(name);
    let path = serde_json::to_string(&path)?; // JSON strings are TOML strings
    let features: Vec<&str> = feature.into_iter().collect();
    let features = serde_json::to_string(&features)?;
    let shared = SHARED_BY_BUILD_SCRIPTS;
    let manifest = format!(
        "[package]\nname = \"alone-{name}\"\nedition = \"2024\"\npublish = false\n\n\
         [workspace]\n\n\
         [dependencies]\n{name} = {{ path = {path}, default-features = false, features = {features} }}\n\n\
         [build-dependencies]\n{shared}"
    );
    let source = format!(
        "//! Uses one crate and nothing else.\n\nuse {} as _;\n",
        name.replace('-', "_")
    );
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), source)?;
    // The same versions as in the workspace; cargo drops unused entries.
    fs::copy(workspace.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}
