//! Whether files are as they were acknowledged: in the books, on the disk, and to be found.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use super::Faults;
use crate::served::{Client, Owner, post};

/// The content of a file: no other has its first word.
pub(super) fn content(owner: &Owner, run: u32, number: u64) -> String {
    format!("{} of run {run}\n", word(owner, run, number))
}

fn word(owner: &Owner, run: u32, number: u64) -> String {
    format!("{}x{run}x{number}", owner.name)
}

/// Looks for each file three times: a context that names it has its text, so has one that is only about its word,
/// and when it is sent again nothing is to be done.
///
/// # Errors
/// The server does not answer.
pub(super) async fn look(
    client: &Client,
    owner: &Owner,
    files: &BTreeMap<String, String>,
    faults: &mut Faults,
) -> Result<()> {
    for (path, content) in files {
        let word = content.split(' ').next().unwrap_or_default();
        let named = json!({"message": "what is in it?", "references": [path]});
        let about = json!({"message": word});
        for (how, wanted) in [("named", named), ("asked about", about)] {
            let request = post("/v1/context/build", &owner.token, &wanted)?;
            let built = client.ask(request).await?.data()?;
            let context = built["context"].as_str().unwrap_or_default();
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
