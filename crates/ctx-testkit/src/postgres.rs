//! A PostgreSQL server for tests: on a socket in a temporary folder, removed after the last test
//! that uses it.
//!
//! `initdb` takes most of the time that a small test needs, and each test may be a process of its
//! own. So the first test keeps an unused copy of what `initdb` made, in the folder of its program,
//! and all others begin with a copy of that.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skip::skipped;

const HOW: &str = "PostgreSQL 15 or later is not installed: on Debian and Ubuntu `apt-get install postgresql`, on Fedora \
                   `dnf install postgresql-server postgresql-contrib`, on macOS `brew install postgresql`";

/// What a server that is to end may take for that: it gives its own processes five seconds.
const LONGEST_END: Duration = Duration::from_secs(10);

/// A server, with its folder.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    bin: PathBuf,
    process: Mutex<Child>,
    user: Option<(u32, u32)>,
    arguments: Vec<String>,
}

impl Server {
    /// Returns a server shared with other tests. If PostgreSQL is not installed, `None`, after a
    /// report.
    pub fn shared() -> Option<Arc<Server>> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        // Tests do not kill this server, so nothing has to reach the disk.
        let server = Arc::new(Server::start(&["-c", "fsync=off"])?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// Starts a server for one test only, with these arguments.
    pub fn start(arguments: &[&str]) -> Option<Server> {
        Self::begun(|_, _| arguments.iter().map(|&it| it.to_owned()).collect())
    }

    /// Starts a server on `port` of 127.0.0.1 with TLS and its own certificate for that address;
    /// also returns the certificate. `None` also if `openssl` is not installed.
    pub fn encrypted(port: u16) -> Option<(Server, PathBuf)> {
        let mut made = false;
        let server = Self::begun(|folder, user| {
            made = certify(folder, user);
            let file = |name: &str| folder.join(name).display().to_string();
            let settings = [
                format!("ssl={}", if made { "on" } else { "off" }),
                format!("ssl_cert_file={}", file("certificate.pem")),
                format!("ssl_key_file={}", file("key.pem")),
                "listen_addresses=127.0.0.1".to_owned(),
                format!("port={port}"),
            ];
            settings
                .into_iter()
                .flat_map(|it| ["-c".to_owned(), it])
                .collect()
        })?;
        let certificate = server.folder.path().join("certificate.pem");
        made.then_some((server, certificate))
    }

    fn begun(arguments: impl FnOnce(&Path, Option<(u32, u32)>) -> Vec<String>) -> Option<Server> {
        let bin = bin()?;
        let folder = TempDir::with_prefix("ctx-pg-").unwrap();
        // PostgreSQL refuses to run as root.
        let user = is_root().then(unprivileged);
        if let Some((uid, gid)) = user
            && let Err(error) = chown(folder.path(), Some(uid), Some(gid))
        {
            // In a namespace that knows root alone.
            skipped(format_args!(
                "PostgreSQL refuses to run as root, and nothing may be given to another user: {error}"
            ));
            return None;
        }
        create(&bin, folder.path(), user);
        let arguments = arguments(folder.path(), user);
        let process = Mutex::new(postgres(&bin, folder.path(), user, &arguments));
        let server = Server {
            folder,
            bin,
            process,
            user,
            arguments,
        };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        let start = Instant::now();
        loop {
            if self.is_ready() {
                return;
            }
            assert!(start.elapsed() < Duration::from_mins(1), "{}", self.log());
            if self.process.lock().unwrap().try_wait().unwrap().is_some() {
                // Remains of a killed server may not be gone yet, so it is started again.
                *self.process.lock().unwrap() = self.spawn();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&self) -> Child {
        postgres(&self.bin, self.folder.path(), self.user, &self.arguments)
    }

    /// Whether the server has written that it is ready.
    fn is_ready(&self) -> bool {
        let file = self.folder.path().join("data/postmaster.pid");
        let lines = fs::read_to_string(file).unwrap_or_default();
        let mut lines = lines.lines().map(str::trim);
        let own = self.process.lock().unwrap().id().to_string();
        lines.next() == Some(&own) && lines.nth(6) == Some("ready")
    }

    /// The contents of its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Kills every process of the server at once. Its shared memory is freed when it is started
    /// again.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        // A process that it starts during this loop would survive and prevent the next server from
        // starting.
        signal("STOP", &[process.id()]);
        signal("KILL", &family(process.id()));
        process.wait().unwrap();
    }

    /// Suspends every process of the server: requests get no answer, and no connection is closed.
    pub fn stop(&self) {
        let parent = self.process.lock().unwrap().id();
        // The parent is stopped first, so that it starts no more processes.
        signal("STOP", &[parent]);
        signal("STOP", &family(parent));
    }

    /// Resumes all suspended processes.
    pub fn go_on(&self) {
        signal("CONT", &family(self.process.lock().unwrap().id()));
    }

    /// Starts the server again on the data that is on disk.
    pub fn restart(&self) {
        *self.process.lock().unwrap() = self.spawn();
        self.wait();
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!(
            "host={} user=ctx dbname={database}",
            self.folder.path().display()
        )
    }

    /// Creates a new database and returns its address.
    pub async fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let sql = format!("CREATE DATABASE {name}");
        self.raw("postgres")
            .await
            .batch_execute(&sql)
            .await
            .unwrap();
        self.url(&name)
    }

    /// Creates a new database whose tables are stored in `folder`, and returns its address.
    pub async fn database_in(&self, folder: &Path) -> String {
        if let Some((uid, gid)) = self.user {
            chown(folder, Some(uid), Some(gid)).unwrap();
        }
        let url = self.database().await;
        let database = url.rsplit_once('=').unwrap().1;
        let raw = self.raw("postgres").await;
        let location = format!(
            "CREATE TABLESPACE in_{database} LOCATION '{}'",
            folder.display()
        );
        raw.batch_execute(&location).await.unwrap();
        let kept = format!("ALTER DATABASE {database} SET default_tablespace = in_{database}");
        raw.batch_execute(&kept).await.unwrap();
        url
    }

    /// Connects to `database` as the superuser, independently of any store.
    pub async fn raw(&self, database: &str) -> tokio_postgres::Client {
        raw(&self.url(database)).await
    }
}

impl Drop for Server {
    /// Ends the server without a checkpoint. Unlike after a kill, none of its shared memory is
    /// left, of which a system has so many segments at most.
    fn drop(&mut self) {
        let process = self.process.get_mut();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        // After a kill another process may have its number.
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        signal("QUIT", &[process.id()]);
        // It may be suspended.
        signal("CONT", &family(process.id()));
        let start = Instant::now();
        while start.elapsed() < LONGEST_END {
            if !matches!(process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        signal("KILL", &family(process.id()));
        let _ = process.wait();
    }
}

/// Connects as the superuser, independently of any store.
pub async fn raw(url: &str) -> tokio_postgres::Client {
    connect(url).await.unwrap()
}

/// Connects without TLS, independently of any store.
///
/// # Errors
/// If no connection can be made: no server, no permission, or TLS is required.
pub async fn connect(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A process and its children.
fn family(parent: u32) -> Vec<u32> {
    let mut all = vec![parent];
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        if rest.split(' ').nth(1) == Some(&parent.to_string()) {
            all.extend(
                entry
                    .file_name()
                    .to_str()
                    .and_then(|it| it.parse::<u32>().ok()),
            );
        }
    }
    all
}

/// Sends a signal to processes, some of which may already be gone.
fn signal(name: &str, processes: &[u32]) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -\"$0\" \"$@\"", name]);
    kill.args(processes.iter().map(u32::to_string));
    kill.stderr(Stdio::null()).status().unwrap();
}

/// The arguments of `initdb`.
const CLUSTER: [&str; 6] = [
    "--username=ctx",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--no-sync",
    "--pgdata=data",
];

/// Creates the data of a new server in `folder`.
fn create(bin: &Path, folder: &Path, user: Option<(u32, u32)>) {
    let data = folder.join("data");
    let kept = kept(bin);
    if let Some(kept) = &kept {
        if kept.exists() && copy(kept, &data, user).is_ok() {
            return;
        }
        // It is of another user, or the disk is full.
        let _ = fs::remove_dir_all(&data);
    }
    let mut initdb = command(&bin.join("initdb"), folder, user);
    initdb.args(CLUSTER).stdout(Stdio::null());
    assert!(initdb.status().unwrap().success(), "initdb failed");
    if let Some(kept) = &kept
        && let Some(beside) = kept.parent()
        && let Ok(own) = tempfile::Builder::new()
            .prefix("postgres-new-")
            .tempdir_in(beside)
    {
        // Of several that keep one at once, the first has its way.
        let own = own.path().join("data");
        let _ = copy(&data, &own, None).and_then(|()| fs::rename(&own, kept));
    }
}

/// Increased when the data are made or kept in another way.
const KEPT: u32 = 2;

/// Where the unused data of a server is kept: beside this program, under a name that changes with
/// PostgreSQL and with how its data are made.
fn kept(bin: &Path) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let initdb = fs::canonicalize(bin.join("initdb")).ok()?;
    let found = fs::metadata(&initdb).ok()?;
    let mut hasher = DefaultHasher::new();
    (&initdb, found.len(), found.mtime(), CLUSTER, KEPT).hash(&mut hasher);
    Some(program.with_file_name(format!("postgres-{:016x}", hasher.finish())))
}

/// Copies a folder of files and folders, which then belong to `user`; nobody else may read them.
fn copy(from: &Path, to: &Path, user: Option<(u32, u32)>) -> io::Result<()> {
    let (uid, gid) = user.unzip();
    fs::DirBuilder::new().mode(0o700).create(to)?;
    chown(to, uid, gid)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to, user)?;
        } else {
            fs::copy(entry.path(), &to)?;
            chown(&to, uid, gid)?;
        }
    }
    Ok(())
}

fn postgres(bin: &Path, folder: &Path, user: Option<(u32, u32)>, arguments: &[String]) -> Child {
    let log = fs::File::options()
        .append(true)
        .create(true)
        .open(folder.join("log"))
        .unwrap();
    let mut postgres = command(&bin.join("postgres"), folder, user);
    postgres
        .args([
            "-D",
            "data",
            "-c",
            "listen_addresses=",
            "-c",
            "max_connections=200",
        ])
        .arg("-c")
        .arg(format!("unix_socket_directories={}", folder.display()))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// Makes a key and a self-signed certificate for 127.0.0.1. Returns whether it could.
fn certify(folder: &Path, user: Option<(u32, u32)>) -> bool {
    let mut openssl = command(Path::new("openssl"), folder, user);
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]);
    openssl.args([
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "key.pem",
        "-out",
        "certificate.pem",
    ]);
    openssl.args([
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]);
    let made = openssl.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !made.is_ok_and(|it| it.success()) {
        skipped("`openssl` makes no certificate here");
        return false;
    }
    true
}

fn command(program: &Path, folder: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_remove("LC_ALL");
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// The user of the PostgreSQL package, or `nobody`.
fn unprivileged() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|it| it.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(|it| it.parse().ok());
        Some((ids.next()??, ids.next()??))
    };
    ids("postgres")
        .or_else(|| ids("nobody"))
        .unwrap_or((65534, 65534))
}

/// Installs PostgreSQL with `apt-get` where it is missing and the caller is root, who may. Call it
/// once before the tests: each test may be a process of its own, and several that install at once
/// are in each other's way.
///
/// # Errors
/// It is missing in the end; the error says how to get it.
pub fn install() -> Result<(), &'static str> {
    let is_there = || installed().is_some();
    let is_there = install_by(is_there, is_root(), |arguments| {
        let mut apt = Command::new("apt-get");
        apt.args(["-o", "DPkg::Lock::Timeout=300"]).args(arguments);
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        let status = apt.stdout(Stdio::null()).status();
        status.is_ok_and(|it| it.success())
    });
    is_there.then_some(()).ok_or(HOW)
}

/// The same, with these ways to tell whether it is there, who the caller is, and to call `apt-get`.
fn install_by(
    is_there: impl Fn() -> bool,
    is_root: bool,
    mut apt: impl FnMut(&[&str]) -> bool,
) -> bool {
    const ADD: [&str; 3] = ["install", "-y", "postgresql"];
    // The names of packages may not be known yet, or be out of date.
    if !is_there() && is_root && !apt(&ADD) && apt(&["update"]) {
        apt(&ADD);
    }
    is_there()
}

/// Where the server's programs are. A test that wants them and has none is skipped.
fn bin() -> Option<PathBuf> {
    static BIN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let bin = BIN.get_or_init(installed).clone();
    if bin.is_none() {
        skipped(HOW);
    }
    bin
}

fn installed() -> Option<PathBuf> {
    let on_path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&on_path).collect();
    for base in ["/usr/lib/postgresql", "/usr/local/lib/postgresql"] {
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(base)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|it| Some((it.file_name().to_str()?.parse().ok()?, it.path())))
            .collect();
        versions.sort();
        folders.extend(versions.into_iter().rev().map(|(_, path)| path.join("bin")));
    }
    folders
        .into_iter()
        .find(|it| it.join("initdb").exists() && it.join("postgres").exists())
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell, RefMut};

    use super::*;

    /// The system identifier of a server, and how many databases it has.
    async fn facts(server: &Server) -> (String, i64) {
        let sql = "SELECT system_identifier::text, (SELECT count(*) FROM pg_database) FROM pg_control_system()";
        let row = server.raw("postgres").await.query_one(sql, &[]).await;
        let row = row.unwrap();
        (row.get(0), row.get(1))
    }

    #[test]
    fn each_server_is_a_copy_of_one_and_has_nothing_of_another() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        // The first may be the one that is copied.
        let Some(first) = Server::start(&[]) else {
            return;
        };
        if !kept(&first.bin).is_some_and(|it| it.join("PG_VERSION").exists()) {
            skipped("nothing can be kept beside the program: each server has data of its own");
            return;
        }
        runtime.block_on(first.database());
        let (_, count) = runtime.block_on(facts(&first));
        let [second, third] = [(); 2].map(|()| Server::start(&[]).unwrap());
        let second = runtime.block_on(facts(&second));
        assert_eq!(second, (second.0.clone(), count - 1));
        assert_eq!(second, runtime.block_on(facts(&third)));
    }

    #[test]
    fn a_server_leaves_no_shared_memory_behind() {
        // Where segments can be listed: their ids are in the second column.
        let segments = || {
            let table = fs::read_to_string("/proc/sysvipc/shm").ok()?;
            let ids = table.lines().filter_map(|it| it.split_whitespace().nth(1));
            Some(ids.map(str::to_owned).collect::<Vec<_>>())
        };
        if segments().is_none() {
            skipped("segments of shared memory cannot be listed");
            return;
        }
        for is_stopped in [false, true] {
            let Some(server) = Server::start(&[]) else {
                return;
            };
            let told = fs::read_to_string(server.folder.path().join("data/postmaster.pid"));
            let told = told.unwrap();
            // Its key and its id.
            let segment = told.lines().nth(6).unwrap().split_whitespace().nth(1);
            let segment = segment.unwrap().to_owned();
            assert!(segments().unwrap().contains(&segment), "{told}");
            if is_stopped {
                server.stop();
            }
            drop(server);
            assert!(!segments().unwrap().contains(&segment), "{told}");
        }
    }

    #[test]
    fn whoever_is_root_installs_what_is_missing_and_nobody_else_does() {
        /// What is called, where the first call to install fails or not, and whether it is there.
        fn called(was_there: bool, is_root: bool, fails: bool) -> (Vec<String>, bool) {
            let (calls, is_there) = (RefCell::default(), Cell::new(was_there));
            let done = install_by(
                || is_there.get(),
                is_root,
                |arguments| {
                    let mut calls: RefMut<'_, Vec<String>> = calls.borrow_mut();
                    let is_first = calls.is_empty();
                    calls.push(arguments.join(" "));
                    let adds = arguments[0] == "install" && !(fails && is_first);
                    is_there.set(is_there.get() || adds);
                    adds || arguments[0] == "update"
                },
            );
            (calls.into_inner(), done)
        }
        let add = "install -y postgresql".to_owned();
        assert_eq!(called(false, true, false), (vec![add.clone()], true));
        let again = vec![add.clone(), "update".to_owned(), add];
        assert_eq!(called(false, true, true), (again, true));
        assert_eq!(called(false, false, false), (vec![], false));
        assert_eq!(called(true, true, false), (vec![], true));
    }

    #[test]
    fn a_copy_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/c"), "text").unwrap();
        copy(&from, &to, None).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/c")).unwrap(), "text");
        for path in [&to, &to.join("a"), &to.join("a/b")] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700);
        }
        // What is there is not mixed with it.
        assert!(copy(&from, &to, None).is_err());
    }
}
