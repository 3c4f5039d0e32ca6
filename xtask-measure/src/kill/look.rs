//! Compares what is stored after a crash with what was acknowledged.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::write::{Acknowledged, Pins};
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
    settle(&owner.name, &mut told.threads, found, faults);
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

/// Compares the threads of `owner` with what was acknowledged: each is there with one of its
/// possible pins. From then on only those count.
fn settle(
    owner: &str,
    told: &mut BTreeMap<String, Vec<Pins>>,
    mut found: BTreeMap<String, Pins>,
    faults: &mut Faults,
) {
    for (thread, possible) in told {
        match found.remove(thread) {
            None => faults.push(format!("of {owner} the thread {thread} is gone")),
            Some(pinned) if possible.contains(&pinned) => *possible = vec![pinned],
            Some(pinned) => faults.push(format!(
                "of {owner} {pinned:?} are pinned to {thread}, and none of {possible:?}"
            )),
        }
    }
}

async fn vote(client: &Client, owner: &Owner, handle: &str) -> Result<bool> {
    let body = json!({"handle": handle, "useful": true});
    let request = post("/v1/context/feedback", &owner.token, &body)?;
    let voted = client.ask(request).await?.data()?;
    Ok(voted["counted"] == true)
}

/// The pins of each thread.
async fn threads(client: &Client, owner: &Owner) -> Result<BTreeMap<String, Pins>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_pins_were_under_way_is_there_with_the_one_or_the_other() {
        let pins = |name: &str| vec![name.to_owned()];
        let either = || vec![pins("first"), pins("then")];
        let mut told = BTreeMap::from([
            ("before".to_owned(), either()),
            ("after".to_owned(), either()),
            ("gone".to_owned(), either()),
            ("other".to_owned(), vec![pins("first")]),
        ]);
        let found = [("before", "first"), ("after", "then"), ("other", "then")];
        let found = found.map(|(thread, pinned)| (thread.to_owned(), pins(pinned)));
        let mut faults = Faults::new();
        settle("ada", &mut told, BTreeMap::from(found), &mut faults);
        let expected = [
            "of ada the thread gone is gone",
            "of ada [\"then\"] are pinned to other, and none of [[\"first\"]]",
        ];
        assert_eq!(faults, expected);
        assert_eq!(told["before"], [pins("first")]);
        assert_eq!(told["after"], [pins("then")]);
    }
}
