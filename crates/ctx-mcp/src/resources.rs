//! Files and outlines as resources, and the prompt.

use ctx_assemble::Cancel;
use ctx_model::RenditionKind;
use rmcp::model::{
    GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, RequestId, Resource,
    ResourceTemplate, Role,
};

use crate::fault::{Fault, Kind, echo};
use crate::listing;
use crate::pages;
use crate::read;
use crate::reply::{Limit, MOST_TOKENS, Reply};
use crate::roots::{escape, unescape};
use crate::tools::{OutlineArguments, ReadArguments};
use crate::workspace::Workspace;

const FILE: &str = "ctx://file/";
const OUTLINE: &str = "ctx://outline/";
/// Resources of one page.
const PAGE: usize = 100;

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

/// One page of the files, those after the path `after`, and the path that the next page comes after.
pub(crate) fn list(
    workspace: &Workspace,
    after: Option<&str>,
    cancel: &Cancel,
) -> Result<(Vec<Resource>, Option<String>), Fault> {
    let mut paths = Vec::new();
    for (prefix, folder) in workspace.folders() {
        let listed = listing::files(folder.root(), "", cancel)?;
        paths.extend(listed.files.into_iter().map(|it| format!("{prefix}{it}")));
    }
    paths.sort_unstable();
    let rest = paths.partition_point(|path| after.is_some_and(|after| &**path <= after));
    let page: Vec<String> = paths[rest..].iter().take(PAGE).cloned().collect();
    let next = (rest + page.len() < paths.len())
        .then(|| page.last().cloned())
        .flatten();
    let resource = |path: String| {
        Resource::new(format!("{FILE}{}", escape(&path)), path).with_mime_type("text/plain")
    };
    Ok((page.into_iter().map(resource).collect(), next))
}

/// The text of a resource: whole, or a fault.
pub(crate) fn read(
    workspace: &Workspace,
    uri: &str,
    id: &RequestId,
    cancel: &Cancel,
) -> Result<String, Fault> {
    let limit = Limit::of(Some(MOST_TOKENS.into()), id.clone())?;
    let path = |rest: &str| {
        unescape(rest).ok_or_else(|| {
            let what = format!("read {}: it is no address", echo(uri));
            Fault::new(what, hint()).of(Kind::Parameters)
        })
    };
    let reply = if let Some(rest) = uri.strip_prefix(FILE) {
        let arguments = ReadArguments {
            path: path(rest)?,
            lines: None,
            symbol: None,
            rendition: RenditionKind::Full,
            max_tokens: None,
            cursor: None,
        };
        read::read(workspace, &arguments, &limit)?
    } else if let Some(rest) = uri.strip_prefix(OUTLINE) {
        let arguments = OutlineArguments {
            path: path(rest)?,
            max_tokens: None,
            cursor: None,
        };
        read::outline(workspace, &arguments, &limit, cancel)?
    } else {
        let what = format!("read {}: there is no such resource", echo(uri));
        return Err(Fault::new(what, hint()).of(Kind::NotFound));
    };
    whole(reply, uri)
}

fn hint() -> String {
    format!("{FILE}PATH or {OUTLINE}PATH")
}

/// The text without its title; a resource is read as a whole or not at all.
fn whole(reply: Reply, uri: &str) -> Result<String, Fault> {
    if !pages::is_whole(&reply) {
        return Err(Fault::new(
            format!(
                "read {}: it takes more than {MOST_TOKENS} tokens",
                echo(uri)
            ),
            "context_read or context_outline, which give it in parts",
        ));
    }
    if !uri.starts_with(FILE) {
        return Ok(reply.text);
    }
    let text = reply.text.split_once('\n');
    Ok(text.map_or_else(String::new, |(_, text)| text.to_owned()))
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
        return Err(Fault::new(
            format!("get the prompt {}: there is none of this name", echo(name)),
            format!("the prompt \"{PROMPT}\""),
        ));
    }
    let question = arguments.and_then(|it| it.get("question")?.as_str());
    let question = question
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .ok_or_else(|| {
            Fault::new(
                "get the prompt: it has no question",
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
