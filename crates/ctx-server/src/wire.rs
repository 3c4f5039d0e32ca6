//! The requests and answers on the wire.

mod context;

use std::collections::BTreeSet;

use ctx_model::{BuildOptions, Chunk, UncheckedChunk, UncheckedOptions};
use ctx_service::PrimeOptions;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

pub(crate) use self::context::{
    CitedSource, ContextData, ContextMeta, Item, ReceiptData, ResolvedData, ResolvedMeta,
};
use crate::batch;
use crate::job::Stage;
use crate::json::{Input, unfit};
use crate::limits;
use crate::limits::Limits;
use crate::problem::{Fault, Problem};
use crate::reserve::Reserve;
use crate::schema;
use crate::sent_options::SentOptions;

/// The largest integer that every JSON reader represents exactly.
const MOST: u64 = (1 << 53) - 1;

/// An answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Reply<D, M> {
    /// The requested data.
    pub(crate) data: D,
    /// Facts about the data.
    pub(crate) meta: M,
}

/// A message of a thread, for which a context is wanted.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "threadId": "prices",
    "message": "How is a @price rounded, and where is it used?",
    "references": ["src/price.rs:1-2"],
    "options": {"maxTokens": 2000, "format": "markdown"}
}))]
pub(crate) struct BuildRequest {
    /// The thread that the message belongs to. Its last messages and its pins are included. The
    /// latest exchanges have the first claim on a quarter of the budget that pinned parts leave,
    /// whatever they score (`why` is `first claim`).
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")]
    pub(crate) thread_id: Option<String>,
    /// The user's message. It is not added to the thread.
    #[schema(min_length = 1, max_length = 100_000)]
    pub(crate) message: String,
    /// What the context must include: paths, `path:10-20`, names, ids of messages of the thread,
    /// and ids of parts of files that the thread was shown, as long as the context that showed them
    /// is kept and they are unchanged. Ids may have brackets and lines, as answers cite them:
    /// `[fil-9f2a1c:3]` names the part that the id was given to. References in the message, which
    /// follow an `@` or are such ids in brackets, are included, too: `@src/price.rs:10-20`,
    /// `@"my notes.md"`. Each has at most 1,024 bytes in UTF-8. Of the thread's pins, these
    /// references and the message, the first 32 names each are looked up; of all of them together,
    /// the first 32 ids of parts of files and the first 32 ids of messages. Parts are looked for in
    /// the thread's latest 1,024 receipts, as far as these take 16 MiB. What is not looked up or
    /// not found is a warning `unknown_reference` that says why.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Reference>, max_items = 32)]
    pub(crate) references: Vec<String>,
    /// How to build it. By default `maxTokens` is 4,000, `reserve` an eighth of `maxTokens` but at
    /// most 500, and `selection` `optimal`. Items are always grouped by file, in an order that
    /// preserves turns, with their ids, whatever `groupBy`, `order` and `includeIds` say.
    #[serde(default)]
    #[schema(value_type = schema::PrimeOptions)]
    pub(crate) options: SentOptions,
    /// Whether each item includes its text as well, which the context already contains.
    #[serde(default)]
    pub(crate) item_content: bool,
}

impl BuildRequest {
    /// The options, with the defaults of a prime context.
    pub(crate) fn options(&self, limits: &Limits) -> Result<BuildOptions, Problem> {
        let best = PrimeOptions::default().build;
        let sent = &self.options;
        let mut options = checked(sent.options.clone())?;
        if !sent.states("maxTokens") {
            options.max_tokens = best.max_tokens;
        }
        if !sent.states("selection") {
            options.selection = best.selection;
        }
        if !sent.states("relevancePower") {
            options.relevance_power = best.relevance_power;
        }
        if !sent.states("reserve") {
            options.reserve = Reserve::of(options.max_tokens);
        }
        check_options(&options, limits)?;
        Ok(options)
    }

    /// How the reserve is determined.
    pub(crate) fn reserve(&self) -> Reserve {
        if self.options.states("reserve") {
            Reserve::Given
        } else {
            Reserve::Share
        }
    }
}

impl Input for BuildRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if let Some(id) = &self.thread_id {
            check_id("threadId", id)?;
        }
        check_text("message", &self.message, limits.message_chars)?;
        check_references("references", &self.references, limits)
    }
}

/// Chunks from which a context is to be assembled.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "chunks": [{
        "id": "1", "filePath": "src/price.rs", "startLine": 1, "endLine": 3, "relevance": 0.9,
        "content": "pub fn price(cents: i64) -> i64 {\n    cents - cents % 5\n}\n"
    }],
    "options": {"maxTokens": 500}
}))]
pub(crate) struct AssembleRequest {
    /// Search hits, files, messages.
    #[schema(value_type = Vec<schema::Chunk>, max_items = 10_000)]
    chunks: Vec<UncheckedChunk>,
    /// How to assemble them.
    #[serde(default)]
    #[schema(value_type = schema::BuildOptions)]
    options: UncheckedOptions,
}

/// A checked request for an assembly.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) options: BuildOptions,
}

impl TryFrom<AssembleRequest> for Assembly {
    type Error = Problem;

    fn try_from(sent: AssembleRequest) -> Result<Self, Problem> {
        let chunks = sent.chunks.into_iter().enumerate().map(|(index, chunk)| {
            let chunk = Chunk::try_from(chunk);
            chunk.map_err(|error| unfit(&format!("chunks[{index}]"), &error))
        });
        Ok(Assembly {
            chunks: chunks.collect::<Result<_, _>>()?,
            options: checked(sent.options)?,
        })
    }
}

impl Input for Assembly {
    type Sent = AssembleRequest;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if self.chunks.len() > limits.chunks {
            let detail = format!("at most {} chunks are allowed", limits.chunks);
            return Err(Problem::invalid("chunks", detail));
        }
        check_options(&self.options, limits)
    }
}

/// Files to be stored.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "files": [{"path": "src/price.rs", "content": "pub fn price(cents: i64) -> i64 {\n    cents - cents % 5\n}\n"}]
}))]
pub(crate) struct FilesRequest {
    /// Each replaces the file at its path.
    #[schema(min_items = 1, max_items = 1000)]
    pub(crate) files: Vec<FileInput>,
}

/// A file to store.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FileInput {
    /// Its path within the owner's files, with `/` between its parts, of at most 1,024 bytes in
    /// UTF-8: at most 32 names of at most 200 bytes, none of them `.` or `..`, without a backslash
    /// or a control character. Refused are the names `.ctx` and `.ctxignore`, and those of files of
    /// keys and settings in any case, such as `.env`, `.env.example`, `prod.env`, `app.env.local`,
    /// `id_rsa`, `server.pem`, `api.key` and `.netrc`; not `prod.env.example`, `id_rsa.pub` and
    /// `jest.env.js`.
    #[schema(min_length = 1, max_length = 1024)]
    pub(crate) path: String,
    /// Its text, without a NUL character.
    pub(crate) content: String,
}

impl Input for FilesRequest {
    type Sent = Self;

    fn limit(limits: &Limits) -> usize {
        limits.files_body_bytes
    }

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if self.files.is_empty() || self.files.len() > limits.batch_files {
            let detail = format!("a batch must have 1 to {} files", limits.batch_files);
            return Err(Problem::invalid("files", detail));
        }
        let mut paths = BTreeSet::new();
        let faults: Vec<Option<Problem>> = (self.files.iter().enumerate())
            .map(|(number, file)| file.check(number, &mut paths, limits).err())
            .collect();
        match faults.iter().flatten().next() {
            None => Ok(()),
            Some(first) => Err(first.clone().with_faults(self.all(&faults))),
        }
    }
}

impl FilesRequest {
    /// All faults of the files, besides the known facts of each.
    fn all(&self, known: &[Option<Problem>]) -> Vec<Fault> {
        let mut looked = batch::Looked::default();
        let mut all = Vec::new();
        for (number, (file, known)) in self.files.iter().zip(known).enumerate() {
            match known {
                Some(problem) => all.push(problem.as_fault()),
                None => all.extend(looked.fault(number, &file.path, &file.content)),
            }
        }
        all
    }
}

impl FileInput {
    /// Checks file `number`, counted from 0, whose path none of `paths` may be.
    fn check<'f>(
        &'f self,
        number: usize,
        paths: &mut BTreeSet<&'f str>,
        limits: &Limits,
    ) -> Result<(), Problem> {
        if self.content.len() > limits.file_bytes {
            let detail = format!("a file may have at most {} bytes", limits.file_bytes);
            let field = format!("files[{number}].content");
            return Err(Problem::too_large(&field, detail));
        }
        let field = format!("files[{number}].path");
        check_key(&field, &self.path)?;
        if !paths.insert(self.path.as_str()) {
            let detail = "another file of this batch has this path";
            return Err(Problem::unprocessable(field, detail));
        }
        Ok(())
    }
}

/// Files to be removed.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"paths": ["src/price.rs"]}))]
pub(crate) struct RemovalRequest {
    /// Their paths, each once.
    #[schema(value_type = Vec<schema::FilePath>, min_items = 1, max_items = 1000)]
    pub(crate) paths: Vec<String>,
}

impl Input for RemovalRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if self.paths.is_empty() || self.paths.len() > limits.batch_files {
            let detail = format!("a batch must have 1 to {} paths", limits.batch_files);
            return Err(Problem::invalid("paths", detail));
        }
        let mut seen = BTreeSet::new();
        for (number, path) in self.paths.iter().enumerate() {
            let field = format!("paths[{number}]");
            check_key(&field, path)?;
            if !seen.insert(path) {
                let detail = "this path is listed twice";
                return Err(Problem::unprocessable(field, detail));
            }
        }
        Ok(())
    }
}

/// Whether a context, or a file in it, was useful.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// The `handle` of a context, which covers every file in it, or of one of its items.
    #[schema(min_length = 1, max_length = 20_000)]
    pub(crate) handle: String,
    /// Whether it was useful.
    pub(crate) useful: bool,
}

impl Input for FeedbackRequest {
    type Sent = Self;

    fn check(&self, _: &Limits) -> Result<(), Problem> {
        check_text("handle", &self.handle, 20_000)
    }
}

/// A model's answer to a context.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"answer": "A price is rounded down to five cents [fil-9f2a1c]."}))]
pub(crate) struct ResolveRequest {
    /// The answer, with its citations: ids of items in brackets, alone or among other words.
    #[schema(min_length = 1, max_length = 262_144)]
    pub(crate) answer: String,
}

impl Input for ResolveRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        check_text("answer", &self.answer, limits.kept_message_chars)
    }
}

/// The most characters of a title, which may be empty.
const TITLE_CHARS: usize = 256;

/// A thread to be created.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"id": "prices", "title": "How prices are rounded", "pinned": ["src/price.rs"]}))]
pub(crate) struct ThreadRequest {
    /// Its id, which is neither `.` nor `..`; if left out, one is generated. With an id, the
    /// request can be repeated and creates the thread once.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")]
    pub(crate) id: Option<String>,
    /// Its title, without a NUL character.
    #[serde(default)]
    #[schema(max_length = 256)]
    pub(crate) title: Option<String>,
    /// What every context of it must show: paths, `path:10-20`, names. Without a NUL character, and
    /// of at most 1,024 bytes in UTF-8 each.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Reference>, max_items = 32)]
    pub(crate) pinned: Vec<String>,
}

impl Input for ThreadRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if let Some(id) = &self.id {
            check_id("id", id)?;
            // As a segment of a path it leads elsewhere, and most clients resolve it before they
            // send the request.
            if id == "." || id == ".." {
                let detail = "this id cannot be a segment of a path";
                return Err(Problem::unprocessable("id", detail));
            }
        }
        check_title(self.title.as_deref())?;
        check_references("pinned", &self.pinned, limits)
    }
}

/// A change of a thread.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"title": "How prices are rounded, and where"}))]
pub(crate) struct ThreadChange {
    /// Its new title, without a NUL character. Null removes the title, and if left out it stays.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 256)]
    pub(crate) title: Change,
}

/// A change of an optional text.
#[derive(Clone, Debug, Default)]
pub(crate) enum Change {
    /// It stays as it is.
    #[default]
    None,
    /// It becomes this, or is removed.
    To(Option<String>),
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Option::deserialize(json).map(Change::To)
    }
}

impl Input for ThreadChange {
    type Sent = Self;

    fn check(&self, _: &Limits) -> Result<(), Problem> {
        match &self.title {
            Change::None => Ok(()),
            Change::To(title) => check_title(title.as_deref()),
        }
    }
}

fn check_title(title: Option<&str>) -> Result<(), Problem> {
    if is_longer(title.unwrap_or_default(), TITLE_CHARS) {
        let detail = format!("it may have at most {TITLE_CHARS} characters");
        return Err(Problem::invalid("title", detail));
    }
    Ok(())
}

/// The new pins of a thread.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"pinned": ["src/price.rs:1-2"]}))]
pub(crate) struct PinsRequest {
    /// What every context of it must show from now on: paths, `path:10-20`, names. Without a NUL
    /// character, and of at most 1,024 bytes in UTF-8 each.
    #[schema(value_type = Vec<schema::Reference>, max_items = 32)]
    pub(crate) pinned: Vec<String>,
}

impl Input for PinsRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        check_references("pinned", &self.pinned, limits)
    }
}

/// A message to be stored.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"id": "m-1", "role": "user", "content": "Are prices rounded?"}))]
pub(crate) struct MessageRequest {
    /// Its id in the thread; if left out, one is generated. With an id, the request can be repeated
    /// and stores the message once.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._~-]{1,64}$")]
    pub(crate) id: Option<String>,
    /// The speaker.
    pub(crate) role: Role,
    /// The text, without a NUL character.
    #[schema(min_length = 1, max_length = 262_144)]
    pub(crate) content: String,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub(crate) enum Role {
    /// The person for whom the answers are.
    User,
    /// The model.
    Assistant,
    /// Whoever instructs the model.
    System,
    /// A tool that the model called.
    Tool,
}

/// Only the word is accepted: a derived deserializer would also accept an object with this word as
/// its only key and `null` as its value.
impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let mut roles = [Role::User, Role::Assistant, Role::System, Role::Tool].into_iter();
        let role = roles.find(|it| it.as_str() == word);
        role.ok_or_else(|| {
            format!("unknown role {word:?}: it must be user, assistant, system or tool")
        })
    }
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Tool => "tool",
        }
    }
}

impl Input for MessageRequest {
    type Sent = Self;

    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if let Some(id) = &self.id {
            check_id("id", id)?;
        }
        check_text("content", &self.content, limits.kept_message_chars)
    }
}

/// Which page of the threads to return.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ThreadsQuery {
    /// The most entries of the page.
    #[param(value_type = Option<u8>, minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<String>,
    /// The `next` that came with the previous page, which had the same `order`.
    #[param(value_type = Option<i64>, minimum = 0)]
    pub(crate) after: Option<String>,
    /// Which threads come first, on each page and among pages: the last `created` (also if left
    /// out), or the last `active`, which were created or got a message last.
    #[param(inline, value_type = Option<schema::ThreadOrder>, example = "active")]
    pub(crate) order: Option<String>,
}

/// Which page of the messages of a thread to return.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessagesQuery {
    /// The most entries of the page.
    #[param(value_type = Option<u8>, minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<String>,
    /// The `next` that came with the previous page, which had the same `order`.
    #[param(value_type = Option<i64>, minimum = 0)]
    pub(crate) after: Option<String>,
    /// Which messages come first, on each page and among pages: if left out, the oldest.
    #[param(inline, value_type = Option<schema::MessageOrder>)]
    pub(crate) order: Option<String>,
}

/// Which page of the files to return.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FilesQuery {
    /// The most entries of the page.
    #[param(value_type = Option<u8>, minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<String>,
    /// The `next` that came with the previous page.
    #[param(max_length = 1024)]
    pub(crate) after: Option<String>,
}

/// Which file to return.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileQuery {
    /// Its path, as it was sent, of at most 1,024 bytes in UTF-8.
    #[param(min_length = 1, max_length = 1024, example = "src/price.rs")]
    pub(crate) path: String,
}

/// Facts about a page of the files.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileListMeta {
    /// The number of files in this page.
    pub(crate) count: usize,
    /// The `after` of the next page, if there is one: a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) next: Option<String>,
}

/// Facts about a removal of files.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemovalMeta {
    /// Files that existed.
    pub(crate) removed_count: usize,
    /// Paths in the request.
    pub(crate) file_count: usize,
}

/// No further facts.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct NoMeta {}

/// Facts about a batch of files.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FilesMeta {
    /// Files that are new or have changed.
    pub(crate) changed_count: usize,
    /// Files in the batch.
    pub(crate) file_count: usize,
    /// Secrets that were found in them: each is stored as a run of `*`.
    pub(crate) masked_secrets: usize,
}

/// Facts about a page of a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    /// The number of entries in this page.
    pub(crate) count: usize,
    /// The `after` of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) next: Option<i64>,
}

/// The result of a vote.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedbackData {
    /// Whether it was accepted.
    pub(crate) success: bool,
    /// Whether it counted: only the first vote on a file per context does.
    pub(crate) counted: bool,
}

/// A context whose receipt was removed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RemovedContext {
    /// Its id.
    pub(crate) id: String,
}

/// The progress of a build.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
    /// The stage that begins.
    pub(crate) stage: Stage,
    /// Milliseconds since the request arrived.
    pub(crate) elapsed_ms: u64,
}

/// The state of the server.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    pub(crate) status: &'static str,
}

fn checked(options: UncheckedOptions) -> Result<BuildOptions, Problem> {
    BuildOptions::try_from(options).map_err(|error| unfit("options", &error))
}

fn check_options(options: &BuildOptions, limits: &Limits) -> Result<(), Problem> {
    const LONGEST: usize = BuildOptions::LONGEST_SEPARATOR;
    if options.max_tokens.get() > limits.max_tokens {
        let detail = format!("it may be at most {}", limits.max_tokens);
        return Err(Problem::invalid("options.maxTokens", detail));
    }
    let counter = options.counter.as_str();
    // A path: a caller must not name files of the server.
    if counter.to_ascii_lowercase().ends_with(".json") {
        let detail = "it must be an encoding or a model, not a file";
        return Err(Problem::invalid("options.tokenEstimation", detail));
    }
    if options.max_chunks.is_some_and(|it| it as u64 > MOST) {
        let detail = format!("it may be at most {MOST}");
        return Err(Problem::invalid("options.maxChunks", detail));
    }
    let separator = options.chunk_separator.as_deref();
    if is_longer(separator.unwrap_or_default(), LONGEST) {
        let detail = format!("it may have at most {LONGEST} characters");
        return Err(Problem::invalid("options.chunkSeparator", detail));
    }
    Ok(())
}

/// Checks the length of a text as JSON schema measures it: in characters, which are code points.
fn check_text(field: &str, text: &str, most: usize) -> Result<(), Problem> {
    if text.is_empty() || is_longer(text, most) {
        let detail = format!("it must have 1 to {most} characters");
        return Err(Problem::invalid(field, detail));
    }
    Ok(())
}

/// Checks the length of a path or a reference in bytes, as it is stored. If it also has too many
/// characters it violates the schema; if not, it only violates the limit that the description
/// states in words.
pub(crate) fn check_key(field: &str, key: &str) -> Result<(), Problem> {
    const MOST: usize = limits::LONGEST_NAME;
    if (1..=MOST).contains(&key.len()) {
        return Ok(());
    }
    let detail = format!("it must have 1 to {MOST} bytes");
    Err(if key.is_empty() || is_longer(key, MOST) {
        Problem::invalid(field, detail)
    } else {
        Problem::unprocessable(field, detail)
    })
}

/// Whether `text` has more than `most` characters.
pub(crate) fn is_longer(text: &str, most: usize) -> bool {
    // Counting characters takes time; there are never more of them than bytes.
    text.len() > most && text.chars().nth(most).is_some()
}

pub(crate) fn check_id(field: &str, id: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    if (1..=64).contains(&id.len()) && id.bytes().all(is_plain) {
        return Ok(());
    }
    let detail = "it must have 1 to 64 letters, digits or . _ ~ -";
    Err(Problem::invalid(field, detail))
}

fn check_references(field: &str, references: &[String], limits: &Limits) -> Result<(), Problem> {
    if references.len() > limits.references {
        let detail = format!("at most {} are allowed", limits.references);
        return Err(Problem::invalid(field, detail));
    }
    for (number, reference) in references.iter().enumerate() {
        let field = format!("{field}[{number}]");
        check_key(&field, reference)?;
        if reference.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            return Err(Problem::invalid(field, "it is blank"));
        }
    }
    Ok(())
}
