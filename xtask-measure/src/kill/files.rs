//! Checks that files are as they were acknowledged: in the lists, on the disk, and in searches.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::Faults;
use super::write::Acknowledged;
use crate::served::{Client, Owner, post};

/// The content of a file; its first word occurs in no other file.
pub(super) fn content(owner: &Owner, run: u32, number: u64) -> String {
    format!("{} of run {run}\n", word(owner, run, number))
}

fn word(owner: &Owner, run: u32, number: u64) -> String {
    format!("{}x{run}x{number}", owner.name)
}

/// Finds out which of two contents a file has if the request that replaced it was not acknowledged:
/// it must have one of them, completely. From then on that counts as acknowledged.
///
/// # Errors
/// The server does not answer.
pub(super) async fn settle(
    client: &Client,
    owner: &Owner,
    told: &mut Acknowledged,
    run: u32,
    faults: &mut Faults,
) -> Result<()> {
    for (path, either) in std::mem::take(&mut told.either) {
        let context = context(client, owner, &naming(&path)).await?;
        let is_there = |it: &&String| context.contains(it.trim_end());
        match either.iter().find(is_there) {
            Some(found) => drop(told.files.insert(path, (run, found.clone()))),
            None => faults.push(format!(
                "of {} {path} when named is none of {either:?}",
                owner.name
            )),
        }
    }
    Ok(())
}

/// Builds the context that `wanted` requests.
async fn context(client: &Client, owner: &Owner, wanted: &Value) -> Result<String> {
    let request = post("/v1/context/build", &owner.token, wanted)?;
    let built = client.ask(request).await?.data()?;
    Ok(built["context"].as_str().unwrap_or_default().to_owned())
}

fn naming(path: &str) -> Value {
    json!({"message": "what is in it?", "references": [path]})
}

/// Checks each file in three ways: a context that names it contains its text, so does one that is
/// only about its first word, and sending it again changes nothing.
///
/// # Errors
/// The server does not answer.
pub(super) async fn look(
    client: &Client,
    owner: &Owner,
    files: &BTreeMap<&String, &String>,
    faults: &mut Faults,
) -> Result<()> {
    for (path, content) in files {
        let word = content.split(' ').next().unwrap_or_default();
        let about = json!({"message": word});
        for (how, wanted) in [("named", naming(path)), ("asked about", about)] {
            let context = context(client, owner, &wanted).await?;
            if !context.contains(content.trim_end()) {
                let name = &owner.name;
                faults.push(format!("of {name} {path} when {how} is not {content:?}"));
            }
        }
    }
    let all: Vec<_> = files.iter().collect();
    for batch in all.chunks(500) {
        let files = batch
            .iter()
            .map(|(path, content)| json!({"path": path, "content": content}));
        let body = json!({"files": files.collect::<Vec<_>>()});
        let request = post("/v1/files", &owner.token, &body)?;
        let kept = client.ask(request).await?.data()?;
        for file in kept["files"].as_array().into_iter().flatten() {
            if file["status"] != "unchanged" {
                let (path, status) = (&file["path"], &file["status"]);
                faults.push(format!("of {} the file {path} was {status}", owner.name));
            }
        }
    }
    Ok(())
}
