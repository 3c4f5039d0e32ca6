//! `ctx serve`: contexts over HTTP, from the embedded store or a database.

mod log;
mod signals;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ctx::source::check_no_link;
use ctx::tokens::Counters;
#[cfg(feature = "tokenizer-json")]
use ctx::tokens::TokenizerJson;
use ctx_server::{
    Backend, Credentials, DatabaseLimits, Embedded, HostsError, Keeping, Limits, Options, Owner,
    Postgres, Quota, Salvaged, Server, ServerError, check_database_url, raise_descriptors,
};

use self::log::{Log, tell_panics_by_place};
use self::signals::Stop;
use crate::emit;
use crate::failure::{Exit, Failure};
use crate::report::{self, Report};
use crate::user_dirs::{OWN, variable};

/// The default data folder, relative to the current folder.
const DATA_DIR: &str = ".ctx/serve";

/// The owner of all data if no token file names owners.
const OWNER: &str = "local";

pub(crate) const HELP: &str = "\
Clients send files and threads, and request contexts of them; the server reads none of their
folders. http://ADDR/docs describes the requests. Each request has a token, which identifies the
owner of the data, in the header \"Authorization: Bearer TOKEN\". Without --tokens, a token for the
owner local and for /metrics is made at each start, and printed once on standard output, after the
address. With --tokens, the tokens whose hashes are in the file are accepted. An --addr that is not
a loopback address requires --tokens, and --allow-host with the names of the server.

Examples:
  ctx serve
  ctx serve --addr 127.0.0.1:9000 --data-dir ~/contexts
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8787/v1/files
  ctx serve --new-token ada
  ctx serve --addr 0.0.0.0:8787 --tokens tokens.txt --allow-host ctx.example
  ctx serve --database-url postgres://ctx@db.example/ctx";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    addr: SocketAddr,
    /// The folder for all data [default: .ctx/serve]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Keep all data in this PostgreSQL database instead. If neither is given, `CTX_DATABASE_URL`
    /// names it, if set: a flag, and the password in it, is visible in lists of processes
    #[arg(long, value_name = "URL", conflicts_with = "data_dir")]
    database_url: Option<String>,
    /// Accept the tokens in this file, one per line: OWNER BLAKE3-OF-TOKEN [expires=SECONDS]
    /// [operator]. Empty lines and lines that begin with `#` are ignored. A token has 16 to 512
    /// bytes; any other is rejected, whatever the file says. The file is read again after a hang-up
    /// (SIGHUP); if it is invalid then, the tokens stay as they were
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// A name of this server, without a port, besides those of the loopback if it listens there;
    /// requests to other names are refused. May be given more than once. `*` accepts any
    #[arg(long = "allow-host", alias = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Let pages of this site send requests and read the answers, besides those of the server
    /// itself; behind a proxy that terminates TLS, the site is the proxy's. With the port unless it
    /// is the scheme's default. May be given more than once
    #[arg(long = "allow-origin", value_name = "SCHEME://NAME:PORT")]
    origins: Vec<String>,
    /// Build this many contexts at once, 1 to 64; more wait. By default three for every two cores:
    /// more are useful if a database answers slowly
    #[arg(long, value_name = "N", value_parser = at_once, allow_negative_numbers = true)]
    builds: Option<NonZeroUsize>,
    /// Let requests use the `tokenizer.json` FILE as the counter NAME. May be given more than once
    #[cfg(feature = "tokenizer-json")]
    #[arg(long = "tokenizer", value_name = "NAME=FILE", value_parser = tokenizer)]
    tokenizers: Vec<(String, PathBuf)>,
    /// Keep the receipt of a context for this many hours, 1 to 87600
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=87_600), allow_negative_numbers = true)]
    receipt_hours: u64,
    /// Keep at most this many MiB of receipts per owner, 1 to 1048576: the oldest are deleted
    /// before their time
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1_048_576), allow_negative_numbers = true)]
    receipt_mib: u64,
    /// After the signal to stop (Ctrl-C, SIGTERM), go on accepting requests for this many seconds,
    /// while /readyz answers 503. Then running requests may take 10 more seconds. A second signal
    /// stops it at once
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=MOST_GRACE), allow_negative_numbers = true)]
    grace: u64,
    /// Print a new token for OWNER and its line for --tokens, and do nothing else
    #[arg(long, value_name = "OWNER")]
    new_token: Option<String>,
    /// Salvage the threads, messages and votes of the data folder that are intact where others are
    /// damaged, print how many of each were kept and lost, and do nothing else. A copy of what was
    /// damaged stays beside them
    #[arg(long, conflicts_with_all = ["database_url", "new_token"])]
    salvage: bool,
}

/// Runs the verb until a signal stops it.
///
/// # Errors
/// The arguments are invalid, the address is taken, the data folder or the tokens cannot be used.
pub(crate) fn run(args: &ServeArgs, report: Report) -> Result<(), Failure> {
    if let Some(owner) = &args.new_token {
        return new_token(owner);
    }
    if args.salvage {
        return salvage(data_dir(args));
    }
    let is_open = args.tokens.is_none() || args.hosts.is_empty();
    if !args.addr.ip().is_loopback() && is_open {
        let message = format!(
            "{} is not a loopback address, so others can reach it",
            args.addr.ip()
        );
        return Err(Failure::usage(message).with_hint(
            "give --tokens, and --allow-host with the names of this server ('*' for any); or listen on 127.0.0.1",
        ));
    }
    if let Some(url) = database(args) {
        check_database_url(&url).map_err(|error| {
            let what = match args.database_url {
                Some(_) => "--database-url",
                None => "CTX_DATABASE_URL",
            };
            Failure::usage(format!("{what}: failed to {error}")).with_hint(DATABASE_URL)
        })?;
    }
    let counters = counters(args)?;
    let (credentials, token) = credentials(args)?;
    // Requests must not wait for a reader of the log.
    report::write_behind();
    tell_panics_by_place();
    // If a subscriber is set already, it receives these errors too.
    let _ = tracing::subscriber::set_global_default(Log);
    raise_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::start(error, "is the number of processes limited?"))?;
    let options = Options::default()
        .with_credentials(credentials)
        .with_counters(counters)
        .with_hosts(args.hosts.clone())
        .with_origins(args.origins.clone());
    let outcome = runtime.block_on(serve(args, options, token.as_deref(), report));
    // Requests had their time: nobody waits for what is still computed.
    runtime.shutdown_background();
    outcome
}

async fn serve(
    args: &ServeArgs,
    options: Options,
    token: Option<&str>,
    report: Report,
) -> Result<(), Failure> {
    let limits = Limits::default().with_grace(Duration::from_secs(args.grace));
    let limits = match args.builds {
        Some(builds) => limits.with_workers(builds),
        None => limits,
    };
    // At least two for each build, as most builds send several queries at once; a batch of files
    // occupies one while it runs.
    let connections = 2 * limits.workers + limits.batch_workers;
    let open = async || backend(args, connections).await;
    let server = Server::bind_then(args.addr, options.with_limits(limits), open);
    let server = server.await.map_err(refused)?;
    let stop = Stop::new(args.tokens.is_none())?;
    if let Some(path) = &args.tokens {
        signals::read_again(path.clone(), server.credentials(), report)?;
    }
    let addr = server.local_addr();
    listening(&format!("http://{addr}"), token)?;
    report.note(&format!("the routes are described at http://{addr}/docs"));
    server.run(stop.wait()).await;
    report.note("stopped");
    Ok(())
}

/// Prints the address, and the token if it was made for this run. It goes to standard output, to
/// which a server writes nothing else.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn listening(url: &str, token: Option<&str>) -> Result<(), Failure> {
    emit::write(|out| {
        writeln!(out, "listening on {url}")?;
        if let Some(token) = token {
            writeln!(out, "token: {token}")?;
        }
        out.flush()
    })
}

const DATABASE_URL: &str = "give --database-url or CTX_DATABASE_URL as postgres://USER:PASSWORD@HOST/NAME, with a user who may create tables and roles";

/// The most seconds of grace; readiness is usually checked every few seconds.
const MOST_GRACE: u64 = 3_600;

/// The most connections: PostgreSQL accepts 100 by default, of all processes. With more builds than
/// half of these, builds wait for connections.
const MOST_CONNECTIONS: usize = 32;

/// How long a writing statement may take. Two seconds later a database counts as silent, which must
/// be reported before the request times out.
const WRITING: Duration = Duration::from_secs(7);

/// How long a statement that stores files may take, likewise: a batch has a minute.
const STORING: Duration = Duration::from_secs(50);

/// Parses how many builds may run at once.
fn at_once(text: &str) -> Result<NonZeroUsize, String> {
    let count = text.parse().ok().and_then(NonZeroUsize::new);
    let count = count.filter(|it| it.get() <= Limits::MOST_WORKERS);
    count.ok_or_else(|| format!("it must be a number from 1 to {}", Limits::MOST_WORKERS))
}

/// The counters that requests may use, including custom ones.
#[cfg(feature = "tokenizer-json")]
fn counters(args: &ServeArgs) -> Result<Arc<Counters>, Failure> {
    let mut counters = Counters::default();
    for (name, file) in &args.tokenizers {
        let tokenizer = TokenizerJson::open(file)?.with_name(name);
        counters = counters.with(Arc::new(tokenizer))?;
    }
    Ok(Arc::new(counters))
}

#[cfg(not(feature = "tokenizer-json"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it fails")]
fn counters(_: &ServeArgs) -> Result<Arc<Counters>, Failure> {
    Ok(Arc::default())
}

/// Parses a counter's name and its file.
#[cfg(feature = "tokenizer-json")]
fn tokenizer(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').unwrap_or_default();
    if name.is_empty() || file.is_empty() {
        return Err("it must be NAME=FILE".to_owned());
    }
    if name.to_ascii_lowercase().ends_with(".json") {
        return Err("the name must not end in .json".to_owned());
    }
    Ok((name.to_owned(), PathBuf::from(file)))
}

/// The database for all data, if one is given.
fn database(args: &ServeArgs) -> Option<String> {
    let flag = args.database_url.clone();
    if args.data_dir.is_some() {
        return flag;
    }
    // A value that is not UTF-8 is not a URL either, which is reported.
    let named = || Some(variable("CTX_DATABASE_URL")?.to_string_lossy().into_owned());
    flag.or_else(named)
}

/// Opens the store.
async fn backend(args: &ServeArgs, connections: usize) -> Result<Arc<dyn Backend>, ServerError> {
    Ok(match database(args) {
        None => {
            let folder = data_dir(args);
            check_own(folder)?;
            Arc::new(Embedded::open(folder, quota(args))?)
        }
        Some(url) => {
            let limits = DatabaseLimits::default();
            let connections = connections.clamp(limits.connections, MOST_CONNECTIONS);
            let mut limits = limits.with_connections(connections);
            limits.writing = WRITING;
            limits.storing = STORING;
            Arc::new(Postgres::connect(&url, limits, quota(args)).await?)
        }
    })
}

/// The data folder.
fn data_dir(args: &ServeArgs) -> &Path {
    args.data_dir.as_deref().unwrap_or(Path::new(DATA_DIR))
}

/// Checks that no link leads to `folder` if that is in the `.ctx` of the current folder, however it
/// is spelled.
fn check_own(folder: &Path) -> Result<(), ServerError> {
    let check = || -> io::Result<()> {
        let folder = absolute(folder)?;
        if absolute(OWN).is_ok_and(|own| folder.starts_with(own)) {
            check_no_link(Path::new(""), &folder)?;
        }
        Ok(())
    };
    check().map_err(|source| ServerError::DataFolder {
        folder: folder.to_owned(),
        source,
    })
}

/// Salvages what is damaged in `folder`, and says what came of it.
fn salvage(folder: &Path) -> Result<(), Failure> {
    let salvaged = check_own(folder).and_then(|()| Embedded::salvage(folder));
    let salvaged = salvaged.map_err(refused)?;
    emit::write(|out| {
        if salvaged.is_empty() {
            writeln!(out, "nothing is damaged in {}", folder.display())?;
        }
        salvaged
            .iter()
            .try_for_each(|it| writeln!(out, "{}", told(it)))
    })
}

/// One line on what was salvaged of an owner.
fn told(salvaged: &Salvaged) -> String {
    let folder = salvaged.folder.display();
    let Some(kept_as) = &salvaged.kept_as else {
        return format!(
            "{folder}: nothing can be read, and nothing was changed; restore a copy of it, or remove state.db and state.mark to start empty"
        );
    };
    let kept = salvaged.rows.iter().map(|it| match it.lost {
        0 => format!("{} {}", it.kept, it.kind),
        lost => format!("{} {} ({lost} lost)", it.kept, it.kind),
    });
    let kept = kept.collect::<Vec<_>>().join(", ");
    let made = match salvaged.threads_made {
        0 => String::new(),
        made => {
            format!("; {made} threads called \"salvaged\" hold messages whose own thread was lost")
        }
    };
    let behind = if salvaged.is_behind {
        "; the last writes are missing"
    } else {
        ""
    };
    format!("{folder}: kept {kept}{made}{behind}; the damaged data is kept as {kept_as}")
}

/// How much one owner may store.
fn quota(args: &ServeArgs) -> Quota {
    let mut quota = Quota::default();
    quota.contexts = Keeping {
        age: Duration::from_hours(args.receipt_hours),
        bytes: args.receipt_mib << 20,
    };
    quota
}

fn new_token(owner: &str) -> Result<(), Failure> {
    let named = Owner::new(owner).ok_or_else(|| {
        Failure::usage(format!("{owner:?} is not a valid name of an owner")).with_hint(
            "give 1 to 128 printable ASCII characters, without spaces and not beginning with #",
        )
    })?;
    let token = Credentials::generate().map_err(refused)?;
    let line = Credentials::line(&named, &token);
    emit::write(|out| writeln!(out, "token: {token}\nline: {line}"))
}

/// The accepted tokens, and the token that was made for this run, if one was.
fn credentials(args: &ServeArgs) -> Result<(Credentials, Option<String>), Failure> {
    if let Some(path) = &args.tokens {
        return Ok((Credentials::read(path).map_err(refused)?, None));
    }
    let token = Credentials::generate().map_err(refused)?;
    let mut credentials = Credentials::none();
    if let Some(owner) = Owner::new(OWNER) {
        credentials.add_operator(owner, &token);
    }
    Ok((credentials, Some(token)))
}

/// The hint for an invalid name of the server, or an invalid site.
pub(crate) fn naming(error: &HostsError) -> &'static str {
    match error {
        HostsError::Site(_) => {
            "give --allow-origin as SCHEME://NAME, with :PORT unless it is the default of the scheme, and nothing after it"
        }
        _ => "give --allow-host a name such as ctx.example, or '*' for any",
    }
}

fn refused(error: ServerError) -> Failure {
    let hint = match &error {
        ServerError::Hosts(error) => {
            let hint = naming(error);
            return Failure::usage(format!("failed to serve: {error}")).with_hint(hint);
        }
        ServerError::Listen { .. } => "give another --addr, or port 0 for any that is free",
        ServerError::Database { .. } => DATABASE_URL,
        ServerError::DataFolder { source, .. } if source.kind() == io::ErrorKind::InvalidData => {
            "repair the data folder, or give another --data-dir"
        }
        ServerError::DataFolder { .. } => "give a --data-dir that can be written",
        ServerError::Busy { .. } => {
            "use the server that is running, stop it first, or give another --data-dir"
        }
        ServerError::TokenFile { .. }
        | ServerError::TokenLine { .. }
        | ServerError::NoToken { .. } => "`ctx serve --new-token OWNER` makes a token and its line",
        _ => "try again",
    };
    let is_input = matches!(
        error,
        ServerError::TokenFile { .. } | ServerError::TokenLine { .. } | ServerError::NoToken { .. }
    );
    let mut failure = Failure::start(error, hint);
    if is_input {
        failure.exit = Exit::Input;
    }
    failure
}

impl Failure {
    fn start(error: impl Into<anyhow::Error>, hint: &str) -> Failure {
        let failure = Failure {
            exit: Exit::Failure,
            error: error.into().context("failed to serve"),
            hint: None,
        };
        failure.with_hint(hint)
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
