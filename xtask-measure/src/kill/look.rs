//! Compares what is stored after a crash with what was acknowledged.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::write::Acknowledged;
use super::{Faults, files};
use crate::served::{Client, Owner, get, post};

/// Checks that everything acknowledged to `owner` is stored. Files and votes of earlier runs are
/// only checked after the last run.
pub(super) async fn look(
    client: &Client,
    owner: &Owner,
    told: &mut Acknowledged,
    (run, is_last): (u32, bool),
    faults: &mut Faults,
) -> Result<()> {
    let found = threads(client, owner).await?;
    for (thread, pinned) in &told.threads {
        match found.get(thread) {
            None => faults.push(format!("of {} the thread {thread} is gone", owner.name)),
            Some(found) if found != pinned => faults.push(format!(
                "of {} {found:?} are pinned to {thread}, and not {pinned:?}",
                owner.name
            )),
            Some(_) => {}
        }
    }
    let found = messages(client, owner).await?;
    for message in &told.messages {
        match found.get(message).copied().unwrap_or(0) {
            1 => {}
            count => faults.push(format!("{message:?} is there {count} times")),
        }
    }
    files::settle(client, owner, told, run, faults).await?;
    let files = (told.files.iter())
        .filter(|(_, (of, _))| is_last || *of == run)
        .map(|(path, (_, content))| (path, content))
        .collect();
    files::look(client, owner, &files, faults).await?;
    for handle in std::mem::take(&mut told.unknown_votes) {
        // This vote counts if the other one was not stored; in either case none counts after it.
        vote(client, owner, &handle).await?;
        told.votes.push((run, handle));
    }
    let is_meant = |(of, _): &&(u32, String)| is_last || *of == run;
    for (_, handle) in told.votes.iter().filter(is_meant) {
        if vote(client, owner, handle).await? {
            faults.push(format!(
                "of {} the vote on {handle} counted again",
                owner.name
            ));
        }
    }
    Ok(())
}

async fn vote(client: &Client, owner: &Owner, handle: &str) -> Result<bool> {
    let body = json!({"handle": handle, "useful": true});
    let request = post("/v1/context/feedback", &owner.token, &body)?;
    let voted = client.ask(request).await?.data()?;
    Ok(voted["counted"] == true)
}

/// The pins of each thread.
async fn threads(client: &Client, owner: &Owner) -> Result<BTreeMap<String, Vec<String>>> {
    let mut found = BTreeMap::new();
    for thread in list(client, owner, "/v1/threads").await? {
        let pinned = thread["pinned"].as_array().into_iter().flatten();
        let pinned = pinned.filter_map(|it| it.as_str().map(str::to_owned));
        let id = thread["id"].as_str().unwrap_or_default();
        found.insert(id.to_owned(), pinned.collect());
    }
    Ok(found)
}

/// How often each message is stored.
async fn messages(client: &Client, owner: &Owner) -> Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for message in list(client, owner, "/v1/threads/t/messages").await? {
        let content = message["content"].as_str().unwrap_or_default();
        *found.entry(content.to_owned()).or_default() += 1;
    }
    Ok(found)
}

/// All entries of the list at `path`, page by page; none if its thread does not exist.
async fn list(client: &Client, owner: &Owner, path: &str) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = format!("{path}?limit=200{after}");
        let reply = client.ask(get(&page, &owner.token)?).await?;
        if reply.status == 404 {
            return Ok(found);
        }
        let mut whole: Value = serde_json::from_slice(&reply.body)?;
        if let Value::Array(items) = whole["data"].take() {
            found.extend(items);
        }
        match whole["meta"]["next"].as_i64() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(found),
        }
    }
}
