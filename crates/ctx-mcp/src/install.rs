//! Adds the server to the configuration of an MCP client.

use std::error::Error;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike, TomlError};

use crate::fault::{Fault, InstallAction};
use crate::members::{Members, indentation, pretty};

/// The name of the server in configurations.
const NAME: &str = "ctx";
/// The table of servers in a TOML configuration.
const TABLES: &str = "mcp_servers";

/// A program that runs agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code, by the project's `.mcp.json`.
    ClaudeCode,
    /// Cursor, by the project's `.cursor/mcp.json`.
    Cursor,
    /// Visual Studio Code, by the project's `.vscode/mcp.json`.
    VsCode,
    /// Zed, by the project's `.zed/settings.json`.
    Zed,
    /// Codex, by `~/.codex/config.toml`.
    Codex,
}

ctx_model::words! {
    Client, "client": ClaudeDesktop = "claude-desktop", ClaudeCode = "claude-code", Cursor = "cursor", VsCode = "vscode",
        Zed = "zed", Codex = "codex";
}

impl Client {
    /// The member of the configuration that contains servers.
    fn member(self) -> &'static str {
        match self {
            Client::VsCode => "servers",
            Client::Zed => "context_servers",
            _ => "mcpServers",
        }
    }
}

/// The entry of this server in one client's configuration.
#[derive(Clone, Debug)]
pub struct Installation {
    client: Client,
    program: PathBuf,
    root: PathBuf,
    index: Option<PathBuf>,
}

impl Installation {
    /// Makes `client` start `program` for the folder `root`. Both are absolute paths.
    pub fn new(client: Client, program: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Installation {
            client,
            program: program.into(),
            root: root.into(),
            index: None,
        }
    }

    /// Makes the program keep its indexes in the folder `index`, an absolute path.
    #[must_use]
    pub fn with_index(mut self, index: impl Into<PathBuf>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// The path of the configuration file; `home` is the user's folder.
    pub fn file(&self, home: &Path) -> PathBuf {
        match self.client {
            Client::ClaudeDesktop if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Claude/claude_desktop_config.json")
            }
            Client::ClaudeDesktop if cfg!(windows) => {
                home.join("AppData/Roaming/Claude/claude_desktop_config.json")
            }
            Client::ClaudeDesktop => home.join(".config/Claude/claude_desktop_config.json"),
            Client::ClaudeCode => self.root.join(".mcp.json"),
            Client::Cursor => self.root.join(".cursor/mcp.json"),
            Client::VsCode => self.root.join(".vscode/mcp.json"),
            Client::Zed => self.root.join(".zed/settings.json"),
            Client::Codex => home.join(".codex/config.toml"),
        }
    }

    /// The text of a configuration file with this entry only.
    pub fn text(&self) -> String {
        if self.client == Client::Codex {
            return self.toml();
        }
        let entry = json!({ self.client.member(): { NAME: self.entry() } });
        pretty(&entry, "  ", 0) + "\n"
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["mcp".to_owned()];
        let folders = [
            ("--root", Some(&self.root)),
            ("--index", self.index.as_ref()),
        ];
        for (flag, folder) in folders {
            let folder = folder.map(|it| it.to_string_lossy().into_owned());
            arguments.extend(folder.map(|it| [flag.to_owned(), it]).into_iter().flatten());
        }
        arguments
    }

    fn entry(&self) -> Map<String, Value> {
        let command = Value::from(self.program.to_string_lossy());
        let mut entry = Map::from_iter([
            ("command".to_owned(), command),
            ("args".to_owned(), self.arguments().into()),
        ]);
        if self.client == Client::VsCode {
            entry.insert("type".to_owned(), "stdio".into());
        }
        entry
    }

    fn toml(&self) -> String {
        let empty = self.merged_toml("");
        empty.expect("in an empty file nothing is in the way")
    }

    /// Adds the entry to the configuration file and returns the file's path. The previous content
    /// is kept beside it as `.bak`, or as `.bak1` and so on if that exists with other content. If
    /// the file is a link, all of this happens where it leads.
    ///
    /// # Errors
    /// The file cannot be read or written, or has an unexpected form; then it is left as it was.
    pub fn write(&self, home: &Path) -> Result<PathBuf, Fault> {
        let file = self.file(home);
        let failed = |action: InstallAction, source: Box<dyn Error + Send + Sync>| Fault::Install {
            client: self.client,
            action,
            file: file.clone(),
            source,
        };
        // A dangling link is not replaced by a new file.
        let is_there = file.symlink_metadata().is_ok();
        let target = if is_there {
            let target = file.canonicalize();
            target.map_err(|error| failed(InstallAction::Read, error.into()))?
        } else {
            file.clone()
        };
        let before = is_there.then(|| fs::read_to_string(&target)).transpose();
        let before = before.map_err(|error| failed(InstallAction::Read, error.into()))?;
        let text = self
            .merged(before.as_deref())
            .map_err(|why| failed(InstallAction::Change, why.into()))?;
        if before.as_deref() == Some(&*text) {
            return Ok(file);
        }
        write(&target, before.as_deref(), &text)
            .map_err(|error| failed(InstallAction::Write, error.into()))?;
        Ok(file)
    }

    /// Returns `before` with the entry of this server added.
    fn merged(&self, before: Option<&str>) -> Result<String, String> {
        let before = before.unwrap_or_default();
        if self.client == Client::Codex {
            return self.merged_toml(before);
        }
        self.merged_json(before)
    }

    /// Sets what starts this server in its entry in `before`; the rest is the user's, and stays as
    /// it is written.
    fn merged_json(&self, before: &str) -> Result<String, String> {
        let text = match before.trim() {
            "" => "{}",
            _ => before,
        };
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not plain JSON: {error}"))?;
        let (member, entry) = (self.client.member(), self.entry());
        let there = &value[member][NAME];
        if entry
            .iter()
            .all(|(key, value)| there.get(key) == Some(value))
        {
            return Ok(before.to_owned());
        }
        let unit = indentation(text);
        let mut document = Members::of(text).ok_or("it is not an object")?;
        let servers = document.get(member).unwrap_or("{}").to_owned();
        let mut servers = Members::of(&servers).ok_or("its servers are not an object")?;
        let ours = servers.get(NAME).unwrap_or("{}").to_owned();
        let mut ours = Members::of(&ours).ok_or_else(|| format!("its {NAME} is not an object"))?;
        for (key, value) in &entry {
            ours.set(key, pretty(value, unit, 3));
        }
        servers.set(NAME, ours.text(unit, 2));
        document.set(member, servers.text(unit, 1));
        Ok(document.text(unit, 0) + "\n")
    }

    /// Adds the entry of this server to its table in `before`, however the table is written; other
    /// keys of the table are the user's and stay.
    fn merged_toml(&self, before: &str) -> Result<String, String> {
        let mut document = parsed(before)?;
        let servers = table_in(document.as_table_mut(), TABLES)?;
        let ours = table_in(servers, NAME)?;
        let arguments = self.arguments().into_iter().collect();
        put(ours, "command", (&*self.program.to_string_lossy()).into())?;
        put(ours, "args", toml_edit::Value::Array(arguments))?;
        let text = document.to_string();
        parsed(&text).map_err(|_| "its tables are written in a form that cannot be extended")?;
        Ok(text)
    }
}

/// The table `name` of `tables`, created if it does not exist.
fn table_in<'t>(
    tables: &'t mut dyn TableLike,
    name: &str,
) -> Result<&'t mut dyn TableLike, String> {
    if !tables.contains_key(name) {
        let mut table = Table::new();
        // It gets no header of its own as long as it contains nothing but tables.
        table.set_implicit(true);
        tables.insert(name, Item::Table(table));
    }
    let table = tables.get_mut(name).and_then(Item::as_table_like_mut);
    table.ok_or_else(|| format!("its {name} is not a table"))
}

/// Sets `key` to `value`, keeping the comments around it.
fn put(table: &mut dyn TableLike, key: &str, value: toml_edit::Value) -> Result<(), String> {
    match table.get_mut(key) {
        None => drop(table.insert(key, Item::Value(value))),
        Some(Item::Value(there)) => {
            let decor = there.decor().clone();
            *there = value;
            *there.decor_mut() = decor;
        }
        Some(_) => return Err(format!("its {key} is a table")),
    }
    Ok(())
}

fn parsed(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: TomlError| {
        let at = error.span().map_or(0, |it| it.start);
        let line = text.bytes().take(at).filter(|it| *it == b'\n').count() + 1;
        let why = error.message().replace('\n', ", ");
        format!("line {line} is not valid TOML: {why}")
    })
}

/// Writes to a file beside it first, so that the file is complete at any moment; its permissions
/// are never wider than the file's.
fn write(file: &Path, before: Option<&str>, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut permissions = None;
    if let Some(before) = before {
        permissions = Some(fs::metadata(file)?.permissions());
        keep(file, before, permissions.as_ref())?;
    }
    let mut names = beside(file, ".new");
    let new = names.find_map(|it| made(it, text, permissions.as_ref()).transpose());
    let new = new.ok_or(io::ErrorKind::AlreadyExists)??;
    fs::rename(&new, file).inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Keeps the content of `file` under a name that is not used yet.
fn keep(file: &Path, text: &str, permissions: Option<&Permissions>) -> io::Result<()> {
    for name in beside(file, ".bak") {
        let is_there = fs::read(&name).is_ok_and(|it| it == text.as_bytes());
        if is_there || made(name, text, permissions)?.is_some() {
            return Ok(());
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Names beside `file`: with `end`, then with `end` and a number.
fn beside(file: &Path, end: &'static str) -> impl Iterator<Item = PathBuf> {
    let numbers = (1_u32..).map(|it| it.to_string());
    std::iter::once(String::new())
        .chain(numbers)
        .map(move |number| {
            let mut name = file.as_os_str().to_owned();
            name.push(end);
            name.push(number);
            PathBuf::from(name)
        })
}

/// Creates the file `name` with the content `text`; `None` if that name exists, even as a link.
fn made(
    name: PathBuf,
    text: &str,
    permissions: Option<&Permissions>,
) -> io::Result<Option<PathBuf>> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if permissions.is_some() {
        // Readable by the user only, until the intended permissions are set.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = match options.open(&name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        file => file?,
    };
    let written = file.write_all(text.as_bytes());
    let written = written.and_then(|()| match permissions {
        Some(permissions) => file.set_permissions(permissions.clone()),
        None => Ok(()),
    });
    match written.and_then(|()| file.sync_all()) {
        Ok(()) => Ok(Some(name)),
        Err(error) => {
            let _ = fs::remove_file(name);
            Err(error)
        }
    }
}
