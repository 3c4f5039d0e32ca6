//! Files and outlines as resources, and the prompt.

use ctx_assemble::Cancel;
use ctx_format::{Slot, neutralise};
use rmcp::model::{
    GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, RequestId, Resource,
    ResourceTemplate, Role,
};

use crate::fault::{Fault, FaultKind, echo};
use crate::listing;
use crate::pages;
use crate::read;
use crate::reply::{Limit, MOST_TOKENS, o200k};
use crate::roots::{escape, unescape};
use crate::tools::OutlineArguments;
use crate::workspace::Workspace;

const FILE: &str = "ctx://file/";
const OUTLINE: &str = "ctx://outline/";
/// Resources per page.
const PAGE: usize = 100;
/// The most files that are read for one page.
const LOOKED_AT: usize = 1_000;

pub(crate) const PROMPT: &str = "answer";

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{FILE}{{+path}}"), "file")
            .with_description("A file of the project, by its path relative to the root.")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{OUTLINE}{{+path}}"), "outline")
            .with_description("What a file defines, or the files of a folder.")
            .with_mime_type("text/plain"),
    ]
}

/// One page of the files that [`read`] accepts, beginning after the path `after`, and the path
/// after which the next page begins. O(files), and O(bytes) of the files that are on the page or
/// skipped.
pub(crate) fn list(
    workspace: &Workspace,
    after: Option<&str>,
    id: &RequestId,
    cancel: &Cancel,
) -> Result<(Vec<Resource>, Option<String>), Fault> {
    let limit = Limit::of(Some(MOST_TOKENS.into()), id.clone())?;
    let mut paths = Vec::new();
    for (prefix, folder) in workspace.folders() {
        let listed = listing::files(folder.root(), "", cancel)?;
        paths.extend(listed.files.into_iter().map(|it| format!("{prefix}{it}")));
    }
    paths.sort_unstable();
    let rest = paths.partition_point(|path| after.is_some_and(|after| &**path <= after));
    let (mut page, mut last) = (Vec::new(), None);
    let mut rest = paths.drain(rest..).peekable();
    // A page may be short: most files of a folder may be pictures.
    let mut left = LOOKED_AT;
    while page.len() < PAGE
        && left > 0
        && let Some(path) = rest.next()
    {
        left -= 1;
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        let uri = format!("{FILE}{}", escape(&path));
        // A file that cannot be read is no resource.
        if let Ok(text) = file(workspace, &path, &uri, &limit) {
            let name = neutralise(&path, Slot::Line);
            let resource = Resource::new(uri, name).with_mime_type("text/plain");
            page.push(resource.with_size(text.len() as u64));
        }
        last = Some(path);
    }
    let next = last.filter(|_| rest.peek().is_some());
    Ok((page, next))
}

/// The complete text of a resource, or a fault.
pub(crate) fn read(
    workspace: &Workspace,
    uri: &str,
    id: &RequestId,
    cancel: &Cancel,
) -> Result<String, Fault> {
    let limit = Limit::of(Some(MOST_TOKENS.into()), id.clone())?;
    let path = |rest: &str| {
        unescape(rest).ok_or_else(|| {
            let what = format!("read {}: it is not a valid address", echo(uri));
            Fault::refused_for(FaultKind::Parameters, what, hint())
        })
    };
    if let Some(rest) = uri.strip_prefix(FILE) {
        return file(workspace, &path(rest)?, uri, &limit);
    }
    let Some(rest) = uri.strip_prefix(OUTLINE) else {
        let what = format!("read {}: there is no such resource", echo(uri));
        return Err(Fault::refused_for(FaultKind::NotFound, what, hint()));
    };
    let arguments = OutlineArguments {
        path: Some(path(rest)?),
        max_tokens: None,
        cursor: None,
    };
    let reply = read::outline(workspace, &arguments, &limit, cancel)?;
    if pages::is_whole(&reply) {
        Ok(reply.text)
    } else {
        Err(too_long(uri))
    }
}

/// The text of the file at `path` with its line ends, with secrets masked and harmful characters
/// replaced.
fn file(workspace: &Workspace, path: &str, uri: &str, limit: &Limit) -> Result<String, Fault> {
    let (folder, _, path) = workspace.at(path)?;
    let sources = folder.resolver().sources();
    if folder.root().stamp(path)?.length() > limit.bytes() {
        return Err(too_long(uri));
    }
    let text = sources.text(path)?;
    let text = neutralise(text.as_str(), Slot::Text);
    if limit.takes(&text, uri, &*o200k()) {
        Ok(text.into_owned())
    } else {
        Err(too_long(uri))
    }
}

fn too_long(uri: &str) -> Fault {
    let what = format!(
        "read {}: it takes more than {MOST_TOKENS} tokens",
        echo(uri)
    );
    let hint = "context_read or context_outline, which give it in parts";
    Fault::refused_for(FaultKind::Parameters, what, hint)
}

fn hint() -> String {
    format!("{FILE}PATH or {OUTLINE}PATH")
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let question = PromptArgument::new("question")
        .with_description("What is asked about the project")
        .with_required(true);
    let about = "Answer a question about the project from its own files, with citations";
    vec![Prompt::new(PROMPT, Some(about), Some(vec![question]))]
}

/// The prompt of this name.
pub(crate) fn prompt(name: &str, arguments: Option<&JsonObject>) -> Result<GetPromptResult, Fault> {
    if name != PROMPT {
        return Err(Fault::refused(
            format!("get the prompt {}: there is no such prompt", echo(name)),
            format!("the prompt \"{PROMPT}\""),
        ));
    }
    let question = arguments.and_then(|it| it.get("question")?.as_str());
    let question = question
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .ok_or_else(|| {
            Fault::refused(
                "get the prompt: there is no question",
                "the argument \"question\", a text",
            )
        })?;
    let text = format!(
        "Call context_query with the question below, and a session name of your choice; call it again with other \
         words, or use context_read, where something is missing. Then answer from what the files say, cite each \
         statement as path:line, and say what you did not find.\n\nQuestion: {question}"
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Role::User,
        text,
    )]))
}
