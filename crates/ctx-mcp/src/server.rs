//! The protocol: the requests of a client, and the code that answers them.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ctx_assemble::Cancel;
use ctx_retrieve::TaskScope;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, InputRequest, InputRequiredResult, InputResponses,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, RequestId, ResourceContents, ServerCapabilities,
    ServerConfig, ServerRequest, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RequestHandle};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fault::{Fault, FaultKind, echo};
use crate::pending::Pending;
use crate::progress::progress;
use crate::query;
use crate::read;
use crate::reply::{Limit, Reply, o200k, refusal};
use crate::resources;
use crate::roots::{AllowedRoots, IndexLocation, IndexSettings, Indexing, Roots};
use crate::sent::Sent;
use crate::stdio::Lines;
use crate::tools::{self, ASSEMBLE, OUTLINE, QUERY, READ};
use crate::turns::{self, Turns};
use crate::workspace::{Report, Workspace};

/// How long a client may take to answer which roots it has.
const PATIENCE: Duration = Duration::from_secs(10);
/// The default number of calls that run at once. It exceeds the number of cores, since calls wait
/// for the disk.
const CALLS: NonZeroUsize = NonZeroUsize::new(32).expect("32 is not 0");
/// The name under which a client is asked for its roots.
const ROOTS: &str = "roots";

/// The methods that a client may call.
const METHODS: [&str; 10] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

const INSTRUCTIONS: &str = "Context from the files of one project. Start with context_query; read on with \
context_read and context_outline. Paths are relative to the root; of several roots, they begin with the name of its \
folder, as context_outline lists them. Give the same session to each context_query, and nothing is sent twice.";

/// How a server is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The folder for clients that declare no roots.
    pub root: PathBuf,
    /// Where the index of a folder is kept; by default in `.ctx` within it. The command line uses
    /// the place where `ctx query` keeps it.
    pub index_location: IndexLocation,
    /// Which files the index of a folder has; by default as it remembers. The command line uses the
    /// settings of `ctx query`, so that both keep one index alike.
    pub index_settings: IndexSettings,
    /// Whether the roots that a client declares must lie within [`root`](Options::root), whatever
    /// its transport. Over HTTP they must in any case, if the feature `http` is on to detect it. A
    /// client that starts the server itself may choose any folder; one that connects by another
    /// socket should not.
    pub bounded: bool,
    /// Calls that run at once, over all connections. Four times as many may wait; further ones are
    /// refused.
    pub calls: NonZeroUsize,
}

impl Options {
    /// Options for the folder `root`; clients may declare any other, unless they connect over HTTP.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let Indexing { location, settings } = Indexing::default();
        Options {
            root: root.into(),
            index_location: location,
            index_settings: settings,
            bounded: false,
            calls: CALLS,
        }
    }

    /// Sets where indexes are kept.
    #[must_use]
    pub fn with_index_location(mut self, location: IndexLocation) -> Self {
        self.index_location = location;
        self
    }

    /// Sets the settings of indexes.
    #[must_use]
    pub fn with_index_settings(mut self, settings: IndexSettings) -> Self {
        self.index_settings = settings;
        self
    }

    /// Sets whether the bounds apply to all clients, or only to those over HTTP.
    #[must_use]
    pub fn with_bounds(mut self, bounded: bool) -> Self {
        self.bounded = bounded;
        self
    }

    /// Sets how many calls run at once.
    #[must_use]
    pub fn with_calls(mut self, calls: NonZeroUsize) -> Self {
        self.calls = calls;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("root", &self.root)
            .field("bounded", &self.bounded)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

/// State that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) roots: Roots,
    pub(crate) sent: Mutex<Sent>,
    pub(crate) pending: Mutex<Pending>,
    turns: Turns,
    /// How many connections there were.
    connections: AtomicU64,
}

/// The server of one folder. Cheap to clone: clones share indexes, caches and the record of what
/// was sent.
#[derive(Clone, Debug)]
pub struct Server(Arc<Shared>);

impl Server {
    /// Opens the root. Nothing is indexed before the first question.
    ///
    /// # Errors
    /// The root is not a folder that can be opened.
    pub fn new(options: Options) -> Result<Self, Fault> {
        let allowed = if options.bounded {
            AllowedRoots::WithinOwn
        } else {
            AllowedRoots::Anywhere
        };
        let indexing = Indexing {
            location: options.index_location,
            settings: options.index_settings,
        };
        Ok(Server(Arc::new(Shared {
            roots: Roots::new(&options.root, allowed, indexing)?,
            sent: Mutex::default(),
            pending: Mutex::default(),
            turns: Turns::new(options.calls),
            connections: AtomicU64::new(0),
        })))
    }

    /// A handler for one connection, with its own roots and sessions. Over HTTP, where a request
    /// may belong to no connection, such requests share their sessions.
    pub fn connection(&self) -> impl ServerHandler + use<> {
        Connection {
            shared: Arc::clone(&self.0),
            number: self.0.connections.fetch_add(1, Ordering::Relaxed),
            declared: tokio::sync::Mutex::default(),
        }
    }
}

/// Serves the client on standard input and output until it closes the connection. When the input
/// ends, its calls have ten minutes more.
///
/// # Errors
/// The input is not the protocol, or calls were not answered in that time.
pub async fn serve_stdio(server: &Server) -> Result<(), Fault> {
    // Loading the vocabulary takes some hundredths of a second, in parallel with the client's
    // handshake.
    std::thread::spawn(|| o200k().count("a"));
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let lines = Lines::new(reader, writer);
    let open = lines.open();
    match server.connection().serve(lines).await {
        Ok(running) => {
            let ended = running.waiting().await;
            ended.map_err(|error| Fault::Serve(error.into()))?;
            match open.borrow().len() {
                0 => Ok(()),
                count => Err(Fault::Unanswered { count }),
            }
        }
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Fault::Serve(error.into())),
    }
}

/// One client.
#[derive(Debug)]
struct Connection {
    shared: Arc<Shared>,
    /// The number of the connection.
    number: u64,
    /// The roots it declared, until it reports that they changed.
    declared: tokio::sync::Mutex<Option<Workspace>>,
}

/// Everything about one call but its arguments.
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) workspace: Workspace,
    pub(crate) report: Report,
    /// Follows [`Call::gone`], for code that polls instead of waiting; raised a moment later.
    pub(crate) cancel: Cancel,
    /// Identifies the connection if it outlives the call; otherwise empty.
    pub(crate) connection: String,
    /// Its slot among the calls that run or wait for their turn.
    slot: turns::Slot,
    /// Raised when nobody waits for the reply.
    gone: CancellationToken,
    id: RequestId,
    limit: OnceLock<Limit>,
}

impl Call {
    /// The limit on the reply, given the requested one.
    pub(crate) fn limit(&self, asked: Option<u64>) -> Result<Limit, Fault> {
        let limit = Limit::of(asked, self.id.clone())?;
        Ok(self.limit.get_or_init(|| limit).clone())
    }

    /// Waits for a turn to compute, which lasts as long as anything begun within it. A call must
    /// not hold a turn while it waits for the computation of another.
    ///
    /// # Errors
    /// The call was cancelled.
    pub(crate) async fn turn(&self) -> Result<TaskScope, Fault> {
        let turn = self.awaiting(self.slot.turn()).await?;
        Ok(TaskScope::default().with(turn))
    }

    /// Runs `work` on a blocking thread when its turn comes.
    ///
    /// # Errors
    /// The call was cancelled, or `work` panicked.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        Ok(self.turn().await?.blocking(work).await?)
    }

    /// Waits for `other` as long as the reply is wanted.
    ///
    /// # Errors
    /// The call was cancelled.
    pub(crate) async fn awaiting<T>(&self, other: impl Future<Output = T>) -> Result<T, Fault> {
        unless_cancelled(&self.gone, other).await
    }

    /// Returns an error if the call was cancelled.
    ///
    /// # Errors
    /// The call was cancelled.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.gone.is_cancelled() {
            Err(Fault::Cancelled)
        } else {
            Ok(())
        }
    }

    /// The reply, or why there is none; never larger than the limit.
    fn result(&self, outcome: Result<Reply, Fault>) -> CallToolResult {
        let fault = match outcome {
            Ok(reply) => {
                let result = reply.result();
                let fits = self
                    .limit
                    .get()
                    .is_none_or(|limit| limit.fits(&result, &*o200k()));
                if fits {
                    return result;
                }
                Fault::refused("answer in so few tokens", "a larger max_tokens")
            }
            Err(fault) => fault,
        };
        refusal(&fault, &self.id)
    }
}

/// The folders that a client may read, or a question that it must answer first.
enum Known {
    Workspace(Workspace),
    Ask(InputRequiredResult),
}

/// Why a call was not begun.
enum NotBegun {
    /// Its parameters are at fault.
    Parameters(Fault),
    Otherwise(Fault),
}

impl From<Fault> for NotBegun {
    fn from(fault: Fault) -> Self {
        NotBegun::Otherwise(fault)
    }
}

impl From<NotBegun> for ErrorData {
    fn from(why: NotBegun) -> Self {
        match why {
            NotBegun::Parameters(fault) => protocol_error(&fault),
            NotBegun::Otherwise(fault) => internal_error(&fault),
        }
    }
}

/// A call, or a question that its client must answer first.
enum Begun {
    Call(Call, Helpers),
    Ask(InputRequiredResult),
}

#[cfg(test)]
impl Call {
    /// A call of a client without roots, cancelled when `gone` is raised.
    pub(crate) fn of(server: &Server, gone: CancellationToken) -> Self {
        let shared = Arc::clone(&server.0);
        Call {
            workspace: shared.roots.own(),
            report: Arc::new(|_| {}),
            cancel: Cancel::new(),
            connection: String::new(),
            slot: shared.turns.slot().unwrap(),
            gone,
            id: RequestId::Number(1),
            limit: OnceLock::new(),
            shared,
        }
    }
}

impl Connection {
    /// The folders that the client may read: its roots if it declares the capability, otherwise the
    /// server's own.
    async fn workspace(
        &self,
        context: &RequestContext<RoleServer>,
        responses: Option<&InputResponses>,
        slot: &turns::Slot,
    ) -> Result<Known, NotBegun> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let has_roots = capabilities.roots.is_some();
        if !has_roots {
            return Ok(Known::Workspace(self.shared.roots.own()));
        }
        let is_modern = context
            .protocol_version()
            .is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if is_modern {
            return self.answered(context, responses, slot).await;
        }
        let declared = tokio::time::timeout(PATIENCE, self.declared(context, slot)).await;
        Ok(Known::Workspace(declared.map_err(|_| no_roots())??))
    }

    /// The folders that the client declares when asked. Concurrent callers share one question.
    async fn declared(
        &self,
        context: &RequestContext<RoleServer>,
        slot: &turns::Slot,
    ) -> Result<Workspace, Fault> {
        let mut declared = self.declared.lock().await;
        if let Some(workspace) = &*declared {
            return Ok(workspace.clone());
        }
        let roots = asked(context).await?;
        let workspace = self.open(roots, allowed_roots(context), slot).await??;
        *declared = Some(workspace.clone());
        Ok(workspace)
    }

    /// The client's answer to the question for its roots, or else the question.
    async fn answered(
        &self,
        context: &RequestContext<RoleServer>,
        responses: Option<&InputResponses>,
        slot: &turns::Slot,
    ) -> Result<Known, NotBegun> {
        let Some(answer) = responses.and_then(|it| it.get(ROOTS)) else {
            #[expect(deprecated, reason = "clients that have roots still declare them")]
            let question = InputRequest::ListRoots(rmcp::model::ListRootsRequest::default());
            let questions = [(ROOTS.to_owned(), question)].into();
            return Ok(Known::Ask(InputRequiredResult::from_input_requests(
                questions,
            )));
        };
        let roots = answer
            .get("roots")
            .and_then(Value::as_array)
            .ok_or_else(|| NotBegun::Parameters(no_roots()))?;
        let uris = roots.iter().filter_map(|it| it.get("uri")?.as_str());
        let roots = uris.map(str::to_owned).collect();
        let opened = self.open(roots, allowed_roots(context), slot).await?;
        Ok(Known::Workspace(opened.map_err(NotBegun::Parameters)?))
    }

    /// The folders of `uris`, or why none of them can be read. `slot` is held until they are open,
    /// even if the caller has gone.
    ///
    /// # Errors
    /// Opening them panicked.
    async fn open(
        &self,
        uris: Vec<String>,
        allowed: AllowedRoots,
        slot: &turns::Slot,
    ) -> Result<Result<Workspace, Fault>, Fault> {
        let shared = Arc::clone(&self.shared);
        let work = move || shared.roots.declared(uris.iter().map(|it| &**it), allowed);
        let scope = TaskScope::default().with(slot.clone());
        Ok(scope.blocking(work).await?)
    }

    /// A call that can begin, or a question that its client must answer first.
    ///
    /// # Errors
    /// There are too many calls, it was cancelled, or the client may read nothing.
    async fn begin(
        &self,
        context: &RequestContext<RoleServer>,
        responses: Option<&InputResponses>,
    ) -> Result<Begun, NotBegun> {
        let slot = self.shared.turns.slot()?;
        let known = self.workspace(context, responses, &slot);
        let known = unless_cancelled(&context.ct, known).await??;
        let workspace = match known {
            Known::Workspace(workspace) => workspace,
            Known::Ask(question) => return Ok(Begun::Ask(question)),
        };
        let cancel = Cancel::new();
        let (report, progress) = progress(context);
        let watch = {
            let (ct, cancel) = (context.ct.clone(), cancel.clone());
            tokio::spawn(async move {
                ct.cancelled().await;
                cancel.cancel();
            })
        };
        let call = Call {
            shared: Arc::clone(&self.shared),
            workspace,
            report,
            cancel,
            connection: connection_of(context).unwrap_or_else(|| format!("#{}", self.number)),
            slot,
            gone: context.ct.clone(),
            id: context.id.clone(),
            limit: OnceLock::new(),
        };
        Ok(Begun::Call(call, Helpers { watch, progress }))
    }
}

/// Waits for `other`, or until `gone` is raised.
async fn unless_cancelled<T>(
    gone: &CancellationToken,
    other: impl Future<Output = T>,
) -> Result<T, Fault> {
    tokio::select! {
        biased;
        () = gone.cancelled() => Err(Fault::Cancelled),
        it = other => Ok(it),
    }
}

/// The tasks that run beside a call.
struct Helpers {
    watch: JoinHandle<()>,
    progress: Option<JoinHandle<()>>,
}

impl Helpers {
    /// Ends the tasks. No progress is reported after the reply.
    async fn end(self, call: Call) {
        // The place is held until the reply is sent.
        let slot = call.slot.clone();
        drop(call);
        self.watch.abort();
        if let Some(mut progress) = self.progress
            && tokio::time::timeout(PATIENCE, &mut progress).await.is_err()
        {
            progress.abort();
        }
        drop(slot);
    }
}

/// A question to a client. If it is dropped before it is answered, the question is withdrawn, since
/// the SDK would keep it.
struct Question(Option<RequestHandle<RoleServer>>);

impl Drop for Question {
    fn drop(&mut self) {
        if let (Some(asked), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(asked.cancel(Some("nobody waits for the answer".to_owned())));
        }
    }
}

/// Asks the client for its roots.
#[expect(deprecated, reason = "clients that have roots still declare them")]
async fn asked(context: &RequestContext<RoleServer>) -> Result<Vec<String>, Fault> {
    let question = ServerRequest::ListRootsRequest(rmcp::model::ListRootsRequest::default());
    let options = PeerRequestOptions::no_options();
    let asked = context.peer.send_cancellable_request(question, options);
    let mut question = Question(Some(asked.await.map_err(|_| no_roots())?));
    let Some(asked) = &mut question.0 else {
        return Err(no_roots());
    };
    let told = (&mut asked.rx).await;
    // It was answered, or the client has gone: there is nothing to withdraw.
    question.0 = None;
    match told {
        Ok(Ok(ClientResult::ListRootsResult(told))) => {
            Ok(told.roots.into_iter().map(|it| it.uri).collect())
        }
        _ => Err(no_roots()),
    }
}

fn no_roots() -> Fault {
    Fault::refused(
        "find a folder to read: the client declares roots, but does not list them",
        "the same call again, or ask the user to restart the client",
    )
}

/// Where the roots of a client may lie, by its transport.
fn allowed_roots(context: &RequestContext<RoleServer>) -> AllowedRoots {
    match connection_of(context) {
        Some(_) => AllowedRoots::WithinOwn,
        None => AllowedRoots::Anywhere,
    }
}

/// The id of a connection over HTTP, empty if each request is its own; `None` for other transports.
#[cfg(feature = "http")]
fn connection_of(context: &RequestContext<RoleServer>) -> Option<String> {
    let request = context.extensions.get::<axum::http::request::Parts>()?;
    let id = request.headers.get("mcp-session-id");
    let id = id.and_then(|it| it.to_str().ok());
    Some(id.unwrap_or_default().to_owned())
}

#[cfg(not(feature = "http"))]
fn connection_of(_: &RequestContext<RoleServer>) -> Option<String> {
    None
}

async fn run(call: &Call, name: &str, arguments: Option<JsonObject>) -> Result<Reply, Fault> {
    match name {
        QUERY => query::query(call, tools::arguments(name, arguments)?).await,
        ASSEMBLE => query::assemble_hits(call, tools::arguments(name, arguments)?).await,
        READ => {
            let arguments: tools::ReadArguments = tools::arguments(name, arguments)?;
            let (limit, workspace) = (call.limit(arguments.max_tokens)?, call.workspace.clone());
            let work = move || read::read(&workspace, &arguments, &limit);
            call.work(work).await?
        }
        _ => {
            let arguments: tools::OutlineArguments = tools::arguments(name, arguments)?;
            let (limit, workspace) = (call.limit(arguments.max_tokens)?, call.workspace.clone());
            let cancel = call.cancel.clone();
            let work = move || read::outline(&workspace, &arguments, &limit, &cancel);
            call.work(work).await?
        }
    }
}

/// The error for an unknown method, or for a known one whose parameters the SDK could not parse.
fn no_method(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        let what = format!("answer {method}: its parameters are invalid");
        return protocol_error(&Fault::refused(
            what,
            "the parameters that MCP defines for it",
        ));
    }
    let what = format!("answer: unknown method {}", echo(method));
    let fault = Fault::refused(what, format!("one of {}", METHODS.join(", ")));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, fault.text(), None)
}

/// An error for which no parameter is at fault.
fn internal_error(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.text(), None)
}

/// Why a resource is not read. A resource that exists is never reported as not found.
fn resource_error(fault: &Fault) -> ErrorData {
    match fault.kind() {
        FaultKind::NotFound => ErrorData::resource_not_found(fault.text(), None),
        FaultKind::Parameters => protocol_error(fault),
        FaultKind::Other => internal_error(fault),
    }
}

fn protocol_error(fault: &Fault) -> ErrorData {
    ErrorData::invalid_params(fault.text(), None)
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ctx", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if ![QUERY, ASSEMBLE, READ, OUTLINE].contains(&&*request.name) {
            let what = format!("call {}: there is no such tool", echo(&request.name));
            let hint = format!("{QUERY}, {ASSEMBLE}, {READ} or {OUTLINE}");
            return Err(protocol_error(&Fault::refused(what, hint)));
        }
        let begun = self.begin(&context, request.input_responses.as_ref());
        let (call, helpers) = match begun.await {
            Ok(Begun::Call(call, helpers)) => (call, helpers),
            Ok(Begun::Ask(question)) => return Ok(question.into()),
            Err(NotBegun::Parameters(fault) | NotBegun::Otherwise(fault)) => {
                return Ok(refusal(&fault, &context.id).into());
            }
        };
        let outcome = run(&call, &request.name, request.arguments).await;
        let result = call.result(outcome);
        helpers.end(call).await;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let begun = self.begin(&context, None).await;
        let (call, helpers) = match begun? {
            Begun::Call(call, helpers) => (call, helpers),
            // Nothing can be asked here; the templates show what may be read.
            Begun::Ask(_) => return Ok(ListResourcesResult::default()),
        };
        let (workspace, cancel, id) =
            (call.workspace.clone(), call.cancel.clone(), call.id.clone());
        let after = request.and_then(|it| it.cursor);
        let work = move || resources::list(&workspace, after.as_deref(), &id, &cancel);
        let listed = call.work(work).await.and_then(|it| it);
        helpers.end(call).await;
        let (page, next) = listed.map_err(|fault| internal_error(&fault))?;
        let mut result = ListResourcesResult::with_all_items(page);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let begun = self.begin(&context, request.input_responses.as_ref());
        let (call, helpers) = match begun.await? {
            Begun::Call(call, helpers) => (call, helpers),
            Begun::Ask(question) => return Ok(question.into()),
        };
        let (workspace, cancel, id) =
            (call.workspace.clone(), call.cancel.clone(), call.id.clone());
        let uri = request.uri.clone();
        let work = move || resources::read(&workspace, &uri, &id, &cancel);
        let text = call.work(work).await.and_then(|it| it);
        helpers.end(call).await;
        let text = text.map_err(|fault| resource_error(&fault))?;
        let contents = vec![ResourceContents::text(text, request.uri)];
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(resources::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = resources::prompt(&request.name, request.arguments.as_ref());
        prompt
            .map(Into::into)
            .map_err(|fault| protocol_error(&fault))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    #[expect(deprecated, reason = "clients that log still ask for it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(no_method("logging/setLevel"))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(no_method("resources/subscribe"))
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(no_method("resources/unsubscribe"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(no_method(&request.method))
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.declared.lock().await = None;
    }
}
