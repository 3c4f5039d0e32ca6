//! `ctx mcp`: the context tools for agents.

use std::net::SocketAddr;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use ctx::assemble::Cancel;
use ctx_mcp::{
    Access, Client, Fault, HostsError, Http, Installation, Options, Server, Token, serve_stdio,
};
use tokio_util::sync::CancellationToken;

use crate::emit;
use crate::failure::Failure;
use crate::indexing;
use crate::report;
use crate::serve;
use crate::settings::Settings;
use crate::user_dirs;

/// How often it checks whether the user wants to end.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) const HELP: &str = "\
Without --http, the server uses standard input and output, and is started by the client. Clients
that declare roots can read only those; others can read --root. Over HTTP, roots must be inside
--root, and requests need the header \"Authorization: Bearer TOKEN\". The token is made at each start,
and printed once on standard output, after the address. The settings of the index ([index] of
ctx.toml, and their variables) apply as for `ctx query`.

Examples:
  ctx mcp --root ~/src/project
  ctx mcp --http 127.0.0.1:8765
  ctx mcp --http 0.0.0.0:8765 --allow-host ctx.example
  ctx mcp --install claude-code
  ctx mcp --install cursor --write";

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The folder for clients that declare no roots
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Keep the index of each folder below this one, each under its own name
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Serve streamable HTTP at this address instead; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// A name of this server, without a port, besides those of the loopback if it listens there;
    /// requests to other names are refused. May be given more than once. `*` accepts any
    #[arg(
        long = "allow-host",
        value_name = "NAME",
        requires = "http",
        conflicts_with = "install"
    )]
    hosts: Vec<String>,
    /// Let pages of this site send requests and read the answers, besides those of the server
    /// itself. With the port unless it is the scheme's default. May be given more than once
    #[arg(
        long = "allow-origin",
        value_name = "SCHEME://NAME:PORT",
        requires = "http",
        conflicts_with = "install"
    )]
    origins: Vec<String>,
    /// Print the configuration of a client, and the file that it belongs in
    #[arg(long, value_name = "CLIENT", conflicts_with = "http", value_parser = clients())]
    install: Option<String>,
    /// With --install, add it to that file
    #[arg(long, requires = "install", conflicts_with = "http")]
    write: bool,
}

fn clients() -> PossibleValuesParser {
    PossibleValuesParser::new(Client::ALL.iter().map(|it| it.as_str()))
}

/// Runs the verb.
///
/// # Errors
/// The root cannot be opened, the address cannot be bound, or a configuration cannot be written.
pub(crate) fn run(args: &McpArgs, cancel: &Cancel) -> Result<(), Failure> {
    let root = indexing::root(&args.root)?;
    if let Some(client) = args.install.as_deref().and_then(|it| it.parse().ok()) {
        return install(args, root, client);
    }
    let named = args.index.clone();
    let location = move |root: &Path| {
        let folder = match &named {
            Some(folder) => folder.join(user_dirs::name_of(root)),
            None => user_dirs::index_folder(root).unwrap_or_else(|_| root.join(".ctx")),
        };
        // If this fails, opening the index reports it.
        let _ = indexing::make_private(&folder);
        folder
    };
    let settings = |root: &Path| match Settings::load(root) {
        Ok(mut settings) => Ok(settings.served_index()),
        Err(failure) => Err(failure.error.into()),
    };
    let options = Options::new(&args.root)
        .with_index_location(Arc::new(location))
        .with_index_settings(Arc::new(settings));
    let server = Server::new(options).map_err(|fault| failed(&fault))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::program(format!("failed to start threads: {error}"))
                .with_hint("is the number of processes limited?")
        })?;
    let outcome = match args.http {
        None => runtime
            .block_on(serve_stdio(&server))
            .map_err(|fault| failed(&fault)),
        Some(address) => runtime.block_on(serve_http(args, server, address, cancel)),
    };
    // Nobody waits for calls that still compute.
    runtime.shutdown_background();
    outcome
}

async fn serve_http(
    args: &McpArgs,
    server: Server,
    address: SocketAddr,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let unusable = |error: std::io::Error| {
        let message = format!("failed to serve at {address}: {error}");
        let source = error.get_ref();
        match source.and_then(|it| it.downcast_ref::<HostsError>()) {
            Some(error) => Failure::usage(message).with_hint(serve::naming(error)),
            None => Failure::program(message)
                .with_hint("give another address to --http, or port 0 for any that is free"),
        }
    };
    if !address.ip().is_loopback() && args.hosts.is_empty() {
        let message = format!(
            "{} is not a loopback address, so others can reach it",
            address.ip()
        );
        return Err(Failure::usage(message).with_hint(
            "give --allow-host with the names of this server ('*' for any); or listen on 127.0.0.1",
        ));
    }
    let token = Token::generate().map_err(unusable)?;
    let access = Access::new(token.clone())
        .with_hosts(args.hosts.clone())
        .with_origins(args.origins.clone());
    let http = Http::bind(server, address, &access)
        .await
        .map_err(unusable)?;
    if !address.ip().is_loopback() {
        report::warning(
            "others on the network can reach this address, and what they send is not encrypted",
        );
    }
    serve::listening(&http.url().map_err(unusable)?, Some(token.reveal()))?;
    let stop = CancellationToken::new();
    let (ended, cancel) = (stop.clone(), cancel.clone());
    tokio::spawn(async move {
        while !cancel.is_cancelled() {
            tokio::time::sleep(LOOK).await;
        }
        ended.cancel();
    });
    http.serve(stop).await.map_err(unusable)
}

fn install(args: &McpArgs, root: PathBuf, client: Client) -> Result<(), Failure> {
    let missing = |what: &str| Failure::usage(format!("failed to find {what}"));
    let program = std::env::current_exe().map_err(|_| missing("the path of this program"))?;
    let home = std::env::home_dir().ok_or_else(|| missing("your home folder"))?;
    let mut installation = Installation::new(client, program, root);
    if let Some(index) = &args.index {
        let index = absolute(index).map_err(|_| missing("the folder of the index"))?;
        installation = installation.with_index(index);
    }
    if args.write {
        let file = installation.write(&home).map_err(|fault| failed(&fault))?;
        report::lines(&format!("written to {}; restart {client}", file.display()));
        return Ok(());
    }
    report::lines(&format!("for {}:", installation.file(&home).display()));
    emit::text(&installation.text())
}

fn failed(fault: &Fault) -> Failure {
    let hint = format!("try {}", fault.hint());
    let message = format!("failed to {fault}");
    let failure = if fault.is_of_writing() || matches!(fault, Fault::Unanswered { .. }) {
        Failure::program(message)
    } else {
        Failure::input(message)
    };
    failure.with_hint(hint)
}
