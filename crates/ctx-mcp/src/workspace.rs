//! The folders that a client may read, and what is known of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_assemble::Cancel;
use ctx_git::{GitChanges, GitError, PATIENCE};
use ctx_index::{Index, IndexError, Progress};
use ctx_model::{Chunk, Omitted, OmittedReason, Warning, WarningCode, error_chain};
use ctx_resolve::{Overlaps, Resolved, Resolver};
use ctx_retrieve::Retriever;
use ctx_service::Service;
use ctx_source::{Limits, Root, Sources};
use tokio::sync::Mutex;
use tracing::debug;

use crate::fault::{Fault, FaultKind, echo};
use crate::roots::{self, Indexing};
use crate::server::Call;

/// An index that was brought up to date so shortly before is not looked at again.
const FRESH: Duration = Duration::from_secs(1);

/// Told how far indexing is.
pub(crate) type Report = Arc<dyn Fn(Progress) + Send + Sync>;

/// One folder, opened once.
pub(crate) struct Folder {
    root: Root,
    indexing: Indexing,
    resolver: Arc<Resolver>,
    search: Mutex<Option<Search>>,
}

#[derive(Clone, Debug)]
struct Search {
    index: Arc<Index>,
    /// The options that it was opened with.
    options: ctx_index::Options,
    /// What was changed before, if the folder is in a git repository.
    changes: Option<Arc<GitChanges>>,
    service: Arc<Service>,
    /// When it was last up to date.
    looked: Option<Instant>,
}

impl Search {
    /// Whether the index is recent enough for a call that began at `came`: it was checked after
    /// that, however long the call has waited since, or, if `since` allows it, shortly before now.
    fn is_fresh(&self, came: Instant, since: Since) -> bool {
        let is_late = |at: Instant| since == Since::Lately && at.elapsed() < FRESH;
        self.looked.is_some_and(|at| at >= came || is_late(at))
    }
}

/// A service, and what to know of its index.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) index: Arc<Index>,
    pub(crate) service: Arc<Service>,
    pub(crate) note: Option<&'static str>,
    /// Whether files were indexed for it, which may have taken long.
    pub(crate) indexed: bool,
    /// Whether its files were looked at before the call came, and not since.
    pub(crate) is_from_before: bool,
}

/// Since when an index must have been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Shortly before the call came.
    Lately,
    /// The call came.
    Came,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Folder {
    /// The folder `root`, whose path is canonical, indexed as `indexing` says.
    pub(crate) fn new(root: Root, indexing: Indexing) -> Result<Self, Fault> {
        let sources = Sources::new(root.try_clone()?, Limits::default());
        let resolver = Resolver::new(sources, ctx_syntax::Limits::default());
        Ok(Folder {
            indexing,
            root,
            resolver: Arc::new(resolver),
            search: Mutex::new(None),
        })
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// A service whose index is up to date for a call that came at `came`. One caller indexes, the
    /// others wait for it, and have no turn meanwhile; who finds it fresh needs none.
    ///
    /// # Errors
    /// The call was cancelled, or there can be no index.
    pub(crate) async fn ready(
        &self,
        call: &Call,
        came: Instant,
        since: Since,
    ) -> Result<Ready, Fault> {
        let mut search = call.awaiting(self.search.lock()).await?;
        if let Some(found) = search.as_ref().filter(|it| it.is_fresh(came, since)) {
            return Ok(Ready {
                index: Arc::clone(&found.index),
                service: Arc::clone(&found.service),
                note: None,
                indexed: false,
                is_from_before: found.looked.is_some_and(|at| at < came),
            });
        }
        let turn = call.turn().await?;
        let (root, indexing, resolver) = (
            self.root.try_clone()?,
            self.indexing.clone(),
            Arc::clone(&self.resolver),
        );
        let (found, report) = (search.clone(), Arc::clone(&call.report));
        let cancel = call.cancel.clone();
        let work = move || -> Result<_, Fault> {
            let options = (indexing.settings)(root.path()).map_err(Fault::Settings)?;
            // Other settings are rare, so that the index may be opened anew for them.
            let mut found = match found.filter(|it| it.options == options) {
                Some(found) => found,
                None => open(root, &indexing, options, &resolver)?,
            };
            let looked = up_to_date(&mut found, PATIENCE, &report, &cancel);
            Ok((found, looked))
        };
        // If it fails, what was opened before stays.
        let (found, looked) = turn.blocking(work).await??;
        let (index, service) = (Arc::clone(&found.index), Arc::clone(&found.service));
        *search = Some(found);
        let Look { note, indexed } = looked?;
        Ok(Ready {
            index,
            service,
            note,
            indexed,
            is_from_before: false,
        })
    }
}

fn open(
    root: Root,
    indexing: &Indexing,
    options: ctx_index::Options,
    resolver: &Resolver,
) -> Result<Search, Fault> {
    let at = (indexing.location)(root.path());
    let index = Index::open_in(root, &at, options)?;
    if let Some(error) = index.rebuilt() {
        debug!(error = error_chain(error), "the index is begun anew");
    }
    let index = Arc::new(index);
    let mut retriever = Retriever::over(index.clone());
    let mut changes = None;
    match GitChanges::open(index.root(), &at.join("changes")) {
        Ok(None) => {}
        Ok(Some(known)) => {
            let known = changes.insert(Arc::new(known));
            retriever = retriever.with_changes(known.clone());
        }
        // Files are found without them too.
        Err(error) => {
            debug!(%error, "git history is not used");
            retriever = retriever.without_changes((&error).into());
        }
    }
    let resolver = Arc::new(resolver.clone().with_index(index.clone()));
    let service = Service::new(retriever, resolver).for_project(index.root());
    Ok(Search {
        index,
        options,
        changes,
        service: Arc::new(service),
        looked: None,
    })
}

/// The result of looking for changes.
struct Look {
    /// A note for the reply if it or the history is not up to date.
    note: Option<&'static str>,
    /// Whether there were any.
    indexed: bool,
}

/// Updates the index, and then for at most `patience` the history.
fn up_to_date(
    search: &mut Search,
    patience: Duration,
    report: &Report,
    cancel: &Cancel,
) -> Result<Look, Fault> {
    // Files are looked at first, and what changes from then on may be missed, however long the rest
    // takes.
    let began = Instant::now();
    let goes_on = || {
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let updated = search.index.update(&mut |progress| {
        report(progress);
        goes_on()
    });
    // However the history fares, the files were looked at.
    search.looked = updated.is_ok().then_some(began);
    let mut note = None;
    if let (Ok(_), Some(changes)) = (&updated, &search.changes) {
        match changes.update_within(patience, &mut |_| goes_on()) {
            Ok(_) => {}
            Err(GitError::Cancelled) => return Err(Fault::Cancelled),
            Err(GitError::Late) => {
                note = Some(
                    "The git history is not all read yet: what only its messages say may be missing.",
                );
            }
            Err(error) => debug!(%error, "git history is not used"),
        }
    }
    let stale = |note| Look {
        note: Some(note),
        indexed: false,
    };
    match updated {
        Ok(updated) => Ok(Look {
            note,
            indexed: updated.changed + updated.removed > 0,
        }),
        Err(IndexError::Busy { .. }) if has_files(&search.index) => Ok(stale(
            "Another process is indexing these files: recent changes may be missing.",
        )),
        Err(IndexError::Folder { .. }) if has_files(&search.index) => Ok(stale(
            "The index of these files cannot be written: recent changes may be missing.",
        )),
        Err(error) => Err(error.into()),
    }
}

fn has_files(index: &Index) -> bool {
    index.status().is_ok_and(|it| it.files > 0)
}

/// The folders of one client. A path is relative to the folder if there is one; if there are
/// several, it begins with the folder's name.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    folders: Vec<(String, Arc<Folder>)>,
    /// How many more roots the client declared than are considered.
    left_out: usize,
}

impl Workspace {
    /// Names each folder by the last part of its path. Equal names get a number, chosen so that it
    /// makes no name of another folder.
    pub(crate) fn new(folders: Vec<Arc<Folder>>) -> Self {
        let names: Vec<String> = folders.iter().map(|it| last_part(it.path())).collect();
        let mut taken = BTreeSet::new();
        let free = |own: &String| {
            if taken.insert(own.clone()) {
                return own.clone();
            }
            let numbered = (2_u32..).map(|it| format!("{own}-{it}"));
            let mut free = numbered.filter(|it| !names.contains(it));
            let name = free.find(|it| taken.insert(it.clone()));
            name.expect("there are fewer folders than numbers")
        };
        let free: Vec<String> = names.iter().map(free).collect();
        Workspace {
            folders: free.into_iter().zip(folders).collect(),
            left_out: 0,
        }
    }

    /// Sets how many more roots the client declared.
    pub(crate) fn with_left_out(self, left_out: usize) -> Self {
        Workspace { left_out, ..self }
    }

    /// Tells that roots were left out, if some were.
    pub(crate) fn note(&self) -> Option<String> {
        let more = match self.left_out {
            0 => return None,
            1 => "1 more is".to_owned(),
            count => format!("{count} more are"),
        };
        Some(format!(
            "Only the first {} roots of the client are read, and {more} not.",
            roots::MOST
        ))
    }

    /// The paths of the folders, in order: clients that read the same ones may see the same.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let roots = self.folders.iter().map(|(_, it)| it.path().to_owned());
        let mut roots: Vec<PathBuf> = roots.collect();
        roots.sort_unstable();
        roots
    }

    /// Each folder, with what its paths begin with.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (String, &Arc<Folder>)> {
        let is_alone = self.folders.len() == 1;
        self.folders.iter().map(move |(name, folder)| {
            let prefix = if is_alone {
                String::new()
            } else {
                format!("{name}/")
            };
            (prefix, folder)
        })
    }

    /// The folder that `path` lies in, what its paths begin with, and the path in it.
    ///
    /// # Errors
    /// There are several folders, and it names none of them.
    pub(crate) fn at<'p>(&self, path: &'p str) -> Result<(&Arc<Folder>, String, &'p str), Fault> {
        if let [(_, folder)] = &*self.folders {
            return Ok((folder, String::new(), path));
        }
        for (prefix, folder) in self.folders() {
            if let Some(rest) = path.strip_prefix(&prefix) {
                return Ok((folder, prefix, rest));
            }
            if prefix.trim_end_matches('/') == path {
                return Ok((folder, prefix, ""));
            }
        }
        let names: Vec<&str> = self
            .folders
            .iter()
            .take(8)
            .map(|(name, _)| &**name)
            .collect();
        Err(Fault::refused_for(
            FaultKind::NotFound,
            format!(
                "read {}: it does not begin with the name of a root",
                echo(path)
            ),
            format!("a path that begins with one of: {}", names.join(", ")),
        ))
    }

    /// Reads the text of `chunks` from their folders. Chunks whose path is in no folder are
    /// reported as unreadable. Reads and parses files: not for a thread that must not wait.
    pub(crate) fn resolve(&self, chunks: Vec<Chunk>, overlaps: Overlaps) -> Resolved {
        let mut all = Resolved::default();
        let mut by_folder: Vec<Vec<Chunk>> = vec![Vec::new(); self.folders.len()];
        let mut order = BTreeMap::new();
        for (number, chunk) in chunks.into_iter().enumerate() {
            order.insert(chunk.id.clone(), number);
            match self.place(chunk) {
                Ok((folder, chunk)) => by_folder[folder].push(chunk),
                Err(warning) => {
                    let id = warning.id.as_deref().unwrap_or_default();
                    all.omitted
                        .push(Omitted::new(id, OmittedReason::Unreadable));
                    all.warnings.push(warning);
                }
            }
        }
        for ((prefix, folder), chunks) in self.folders().zip(by_folder) {
            let reading = Resolver::clone(folder.resolver()).with_overlaps(overlaps);
            let resolved = reading.resolve(chunks);
            all.chunks.extend(
                resolved
                    .chunks
                    .into_iter()
                    .map(|it| with_prefix(it, &prefix)),
            );
            all.omitted.extend(resolved.omitted);
            all.warnings.extend(resolved.warnings);
        }
        all.chunks.sort_by_key(|it| order.get(&it.id).copied());
        all
    }

    fn place(&self, mut chunk: Chunk) -> Result<(usize, Chunk), Warning> {
        let Some(path) = chunk.path.take() else {
            return Ok((0, chunk));
        };
        match self.at(&path) {
            Ok((folder, _, rest)) => {
                let at = self
                    .folders
                    .iter()
                    .position(|(_, it)| Arc::ptr_eq(it, folder));
                chunk.path = Some(rest.to_owned());
                Ok((at.unwrap_or_default(), chunk))
            }
            Err(fault) => {
                Err(Warning::new(WarningCode::Unreadable, fault.to_string()).of(chunk.id))
            }
        }
    }
}

fn last_part(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// `chunk` with its path as the client knows it.
pub(crate) fn with_prefix(mut chunk: Chunk, prefix: &str) -> Chunk {
    if let (Some(path), false) = (&mut chunk.path, prefix.is_empty()) {
        path.insert_str(0, prefix);
    }
    chunk
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroUsize;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use ctx_assemble::Control;
    use ctx_model::BuildOptions;
    use ctx_source::Lock;
    use ctx_testkit::git::Repository;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::roots::AllowedRoots;
    use crate::{Options, Server};

    #[test]
    fn no_two_roots_have_one_name() {
        let all = tempfile::tempdir().unwrap();
        let server = Server::new(Options::new(all.path())).unwrap();
        let roots = ["x/a", "y/a", "z/a-2", "w/a", "v/a-2"];
        let uri = |root: &str| {
            let path = all.path().join(root);
            fs::create_dir_all(&path).unwrap();
            format!("file://{}", path.display())
        };
        let uris = roots.map(uri);
        let shared = Call::of(&server, CancellationToken::new()).shared;
        let workspace = shared
            .roots
            .declared(uris.iter().map(|it| &**it), AllowedRoots::Anywhere);
        let workspace = workspace.unwrap();
        let prefixes: Vec<String> = workspace.folders().map(|it| it.0).collect();
        assert_eq!(prefixes, ["a/", "a-3/", "a-2/", "a-4/", "a-2-2/"]);
        for (prefix, root) in prefixes.iter().zip(roots) {
            let path = format!("{prefix}b.rs");
            let (folder, own, rest) = workspace.at(&path).unwrap();
            assert!(folder.path().ends_with(root), "{path}: {folder:?}");
            assert_eq!((&own, rest), (prefix, "b.rs"));
        }
    }

    #[test]
    fn who_waits_for_an_index_has_no_turn_and_goes_when_it_is_cancelled() {
        let root = tempfile::tempdir().unwrap();
        let options = Options::new(root.path()).with_calls(NonZeroUsize::MIN);
        let server = Server::new(options).unwrap();
        let gone = CancellationToken::new();
        let call = Call::of(&server, gone.clone());
        let (_, folder) = call.workspace.folders().next().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let indexing = folder.search.try_lock().unwrap();
        let mut waiting = pin!(lately(folder, &call));
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        let other = Call::of(&server, CancellationToken::new());
        assert!(pin!(other.turn()).poll(&mut context).is_ready());
        gone.cancel();
        let ended = waiting.poll(&mut context).map(Result::err);
        assert!(
            matches!(ended, std::task::Poll::Ready(Some(Fault::Cancelled))),
            "{ended:?}"
        );
        drop(indexing);
    }

    #[test]
    fn who_waits_for_a_turn_goes_when_it_is_cancelled() {
        let root = tempfile::tempdir().unwrap();
        let options = Options::new(root.path()).with_calls(NonZeroUsize::MIN);
        let server = Server::new(options).unwrap();
        let gone = CancellationToken::new();
        let [running, next] = [(), ()].map(|()| Call::of(&server, CancellationToken::new()));
        let call = Call::of(&server, gone.clone());
        let mut context = Context::from_waker(Waker::noop());
        let turn = pin!(running.turn()).poll(&mut context);
        assert!(turn.is_ready());
        let mut waiting = pin!(call.turn());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        gone.cancel();
        let ended = waiting.poll(&mut context).map(Result::err);
        assert!(
            matches!(ended, std::task::Poll::Ready(Some(Fault::Cancelled))),
            "{ended:?}"
        );
        // Nor does it stand in the way of who comes after.
        drop(turn);
        assert!(pin!(next.turn()).poll(&mut context).is_ready());
    }

    /// What `folder` has for a call that comes now.
    async fn lately(folder: &Folder, call: &Call) -> Result<Ready, Fault> {
        folder.ready(call, Instant::now(), Since::Lately).await
    }

    /// What was made of `folder`.
    fn found(folder: &Folder) -> Search {
        folder.search.try_lock().unwrap().clone().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_index_is_as_old_as_its_look_for_who_comes_later_and_new_for_who_came_before() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.rs"), "fn apple() {}").unwrap();
        let server = Server::new(Options::new(root.path())).unwrap();
        let mut call = Call::of(&server, CancellationToken::new());
        let long = FRESH + Duration::from_millis(50);
        call.report = Arc::new(move |_| std::thread::sleep(long));
        let (_, folder) = call.workspace.folders().next().unwrap();
        let before = Instant::now();
        assert!(lately(folder, &call).await.unwrap().indexed);
        assert!(
            found(folder).is_fresh(before, Since::Lately),
            "a look served all who waited"
        );
        assert!(!found(folder).is_fresh(Instant::now(), Since::Lately));
        let again = lately(folder, &call).await.unwrap();
        assert!(!again.indexed && again.note.is_none());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn commits_made_since_the_start_count() {
        let root = tempfile::tempdir().unwrap();
        let mut repository = Repository::init(root.path());
        for (text, message) in [("1", "Begin"), ("2", "Mend it")] {
            repository.commit(
                message,
                &[("a.rs", Some(&format!("fn drain() {{\n    {text}\n}}\n")))],
            );
        }
        let server = Server::new(Options::new(root.path())).unwrap();
        let call = Call::of(&server, CancellationToken::new());
        let (_, folder) = call.workspace.folders().next().unwrap();
        lately(folder, &call).await.unwrap();
        assert_eq!(found(folder).changes.unwrap().count(), 1);
        let message = "Mend the leak that timeouts left";
        repository.commit(message, &[("a.rs", Some("fn drain() {\n    3\n}\n"))]);
        folder.search.try_lock().unwrap().as_mut().unwrap().looked = None;
        lately(folder, &call).await.unwrap();
        // No file says any of that.
        let (options, build) = (ctx_retrieve::Options::default(), BuildOptions::default());
        let service = found(folder).service;
        let control = Control::default();
        let question = "it leaks at a timeout";
        let answer = service.answer(question, &options, &build, &control).await;
        let shown = answer.unwrap().built.context;
        assert!(shown.contains("fn drain()"), "{shown}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_history_that_another_process_reads_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let mut repository = Repository::init(root.path());
        let mut commit = |text: &str| repository.commit("Mend it", &[("a.rs", Some(text))]);
        commit("fn a() {}");
        let server = Server::new(Options::new(root.path())).unwrap();
        let call = Call::of(&server, CancellationToken::new());
        let (_, folder) = call.workspace.folders().next().unwrap();
        lately(folder, &call).await.unwrap();
        commit("fn b() {}");
        let lock = root.path().join(".ctx/changes.lock");
        let mut lock = fs::File::options().write(true).open(lock).unwrap();
        assert!(matches!(ctx_source::lock(&mut lock), Ok(Lock::Ours)));
        let came = Instant::now();
        let mut found = found(folder);
        let updated = up_to_date(&mut found, Duration::ZERO, &call.report, &Cancel::new());
        let note = updated.unwrap().note.unwrap();
        assert!(note.starts_with("The git history"), "{note}");
        assert!(found.is_fresh(came, Since::Came));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn settings_are_read_before_each_update() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a.rs", "a.pb.go"] {
            fs::write(root.path().join(name), "fn apple() {}").unwrap();
        }
        let given = Arc::new(std::sync::Mutex::new(Some(false)));
        let read = Arc::clone(&given);
        let settings = move |_: &Path| {
            let generated = *read.lock().unwrap();
            let generated = generated.ok_or("ctx.toml:2: no\nsuch key")?;
            Ok(ctx_index::Options::default().with_generated(Some(generated)))
        };
        let options = Options::new(root.path()).with_index_settings(Arc::new(settings));
        let server = Server::new(options).unwrap();
        let call = Call::of(&server, CancellationToken::new());
        let (_, folder) = call.workspace.folders().next().unwrap();
        for (generated, files) in [(false, 1), (true, 2), (false, 1)] {
            *given.lock().unwrap() = Some(generated);
            let ready = folder.ready(&call, Instant::now(), Since::Came).await;
            assert_eq!(ready.unwrap().index.status().unwrap().files, files);
        }
        *given.lock().unwrap() = None;
        let before = found(folder).index;
        let refused = folder.ready(&call, Instant::now(), Since::Came).await;
        assert!(
            Arc::ptr_eq(&before, &found(folder).index),
            "what was opened stays"
        );
        let said = refused.unwrap_err().to_string();
        assert_eq!(
            said,
            r"read the settings of the index: ctx.toml:2: no\u{a}such key"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn files_added_to_one_folder_while_another_was_indexed_are_found() {
        let roots = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let [own, first, second] = roots.each_ref().map(|it| it.path().to_owned());
        for root in [&first, &second] {
            fs::write(root.join("a.rs"), "fn apple() {}").unwrap();
        }
        let server = Server::new(Options::new(&own)).unwrap();
        let mut call = Call::of(&server, CancellationToken::new());
        let uris = [&first, &second].map(|it| format!("file://{}", it.display()));
        call.workspace = call
            .shared
            .roots
            .declared(uris.iter().map(|it| &**it), AllowedRoots::Anywhere)
            .unwrap();
        let mut folders = call.workspace.folders().map(|it| Arc::clone(it.1));
        let folder = folders.next().unwrap();
        drop(folders);
        lately(&folder, &call).await.unwrap();
        assert_eq!(found(&folder).index.status().unwrap().files, 1);
        call.report = Arc::new(move |_| {
            fs::write(first.join("late.rs"), "fn late() {}").unwrap();
            std::thread::sleep(FRESH);
        });
        crate::query::ready(&call, Instant::now(), Since::Lately)
            .await
            .unwrap();
        assert_eq!(found(&folder).index.status().unwrap().files, 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_comes_to_an_index_that_was_just_looked_at_needs_no_turn() {
        let root = tempfile::tempdir().unwrap();
        let options = Options::new(root.path()).with_calls(NonZeroUsize::MIN);
        let server = Server::new(options).unwrap();
        let call = Call::of(&server, CancellationToken::new());
        let (_, folder) = call.workspace.folders().next().unwrap();
        lately(folder, &call).await.unwrap();
        let _turn = call.turn().await.unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let looked = |at: Option<Instant>| {
            let mut search = folder.search.try_lock().unwrap();
            search.as_mut().unwrap().looked = at;
        };
        looked(Some(Instant::now()));
        assert!(pin!(lately(folder, &call)).poll(&mut context).is_ready());
        looked(None);
        assert!(pin!(lately(folder, &call)).poll(&mut context).is_pending());
    }
}
