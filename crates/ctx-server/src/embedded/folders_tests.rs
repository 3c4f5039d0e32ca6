use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// A folder counted as open; some report that they are about to close, and wait for permission.
struct Opened {
    open: Arc<AtomicUsize>,
    gate: Option<(Sender<()>, Mutex<Receiver<()>>)>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some((began, end)) = &self.gate {
            began.send(()).unwrap();
            let _ = end.lock().unwrap().recv();
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn owner(name: &str) -> Owner {
    Owner::new(name).unwrap()
}

/// Keeps `most` open, and opens one at a time.
fn folders(most: usize) -> Arc<Folders<Opened>> {
    Arc::new(Folders::new(most, NonZeroUsize::MIN))
}

/// Opens a folder that is counted in `open`.
fn opening(open: &Arc<AtomicUsize>) -> impl FnOnce() -> Result<Opened> + Send + 'static + use<> {
    let open = Arc::clone(open);
    move || {
        open.fetch_add(1, Ordering::SeqCst);
        Ok(Opened { open, gate: None })
    }
}

/// One thread serves the runtime: anything that blocked it would make this test hang.
#[tokio::test]
async fn who_is_closed_keeps_nobody_waiting_but_who_is_opened_in_its_place_and_its_owner() {
    let folders = folders(2);
    let open = Arc::new(AtomicUsize::new(0));
    let (began, has_begun) = channel();
    let (end, ended) = channel::<()>();
    let first = opening(&open);
    let gated = move || {
        let mut first = first()?;
        first.gate = Some((began, Mutex::new(ended)));
        Ok(first)
    };
    drop(folders.get(&owner("ada"), gated).await.unwrap());
    drop(folders.get(&owner("bob"), opening(&open)).await.unwrap());
    let get = |name: &str| {
        let (folders, owner, open) = (Arc::clone(&folders), owner(name), opening(&open));
        tokio::spawn(async move { folders.get(&owner, open).await.map(drop) })
    };
    let third = get("cleo");
    let has_begun = spawn_blocking(move || has_begun.recv());
    has_begun.await.unwrap().unwrap();
    // An open folder is returned at once, and a closed one is opened in the place of another.
    get("bob").await.unwrap().unwrap();
    get("dora").await.unwrap().unwrap();
    let again = get("ada");
    tokio::task::yield_now().await;
    assert!(!third.is_finished() && !again.is_finished());
    drop(end);
    third.await.unwrap().unwrap();
    again.await.unwrap().unwrap();
    // That opened one more than the limit.
    get("eve").await.unwrap().unwrap();
    assert_eq!(open.load(Ordering::SeqCst), 2);
}

/// A folder held without a place, such as by what is written behind answers, stays open that long.
#[tokio::test]
async fn as_many_stay_open_as_may_whoever_keeps_more_meanwhile() {
    let folders = folders(3);
    let open = Arc::new(AtomicUsize::new(0));
    let names: Vec<String> = (0..9).map(|it| format!("owner{it}")).collect();
    let mut kept = Vec::new();
    for name in &names {
        let used = folders.get(&owner(name), opening(&open)).await.unwrap();
        kept.push(Arc::clone(&**used));
    }
    assert_eq!(open.load(Ordering::SeqCst), 9);
    drop(kept);
    drop(folders.get(&owner("last"), opening(&open)).await.unwrap());
    assert_eq!(open.load(Ordering::SeqCst), 3);
    // The most recently requested ones.
    for name in &names[7..] {
        let anew = || Err(BackendError::Cancelled);
        folders.get(&owner(name), anew).await.unwrap();
    }
    assert_eq!(lock(&folders.all).open, 3);
}

#[tokio::test]
async fn no_more_are_in_use_than_stay_open_and_who_uses_one_has_it_again_at_once() {
    let folders = folders(2);
    let open = Arc::new(AtomicUsize::new(0));
    let anew = || Err(BackendError::Cancelled);
    let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(owner);
    let adas = folders.get(&ada, opening(&open)).await.unwrap();
    let bobs = folders.get(&bob, opening(&open)).await.unwrap();
    let mut third = Box::pin(folders.get(&cleo, opening(&open)));
    let mut fourth = Box::pin(folders.get(&cleo, anew));
    for waits in [
        &mut third as &mut (dyn Future<Output = _> + Unpin),
        &mut fourth,
    ] {
        tokio::select! {
            biased;
            _ = waits => panic!("it has no place"),
            () = std::future::ready(()) => {}
        }
    }
    assert_eq!(lock(&folders.all).open, 2);
    // All users of a folder share one place.
    drop(folders.get(&ada, anew).await.unwrap());
    let again = folders.get(&bob, anew).await.unwrap();
    drop(bobs);
    assert_eq!(folders.places.available_permits(), 0);
    drop(again);
    let third = third.await.unwrap();
    assert!(Arc::ptr_eq(&third, &fourth.await.unwrap()));
    assert_eq!(open.load(Ordering::SeqCst), 2);
    drop((adas, third));
    assert_eq!(folders.places.available_permits(), 2);
}

/// Each requests its folder a second time, as work in a turn does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_ask_all_have_theirs_and_no_more_are_open_than_may() {
    let folders = folders(2);
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let asks = |number: usize| {
        let (folders, open, most) = (folders.clone(), open.clone(), most.clone());
        tokio::spawn(async move {
            for round in 0..50 {
                let owner = owner(&format!("owner{}", (number + round) % 5));
                let used = folders.get(&owner, opening(&open)).await.unwrap();
                most.fetch_max(open.load(Ordering::SeqCst), Ordering::SeqCst);
                tokio::task::yield_now().await;
                let anew = || Err(BackendError::Cancelled);
                drop((folders.get(&owner, anew).await.unwrap(), used));
            }
        })
    };
    let all: Vec<_> = (0..12).map(asks).collect();
    for it in all {
        it.await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn one_folder_is_opened_once_also_where_the_first_that_wants_it_goes() {
    let folders = folders(2);
    let open = Arc::new(AtomicUsize::new(0));
    let (began, has_begun) = channel();
    let (end, ended) = channel::<()>();
    let first = opening(&open);
    let slow = move || {
        began.send(()).unwrap();
        let _ = ended.recv();
        first()
    };
    let its = Arc::clone(&folders);
    let first = tokio::spawn(async move { its.get(&owner("ada"), slow).await.map(drop) });
    let has_begun = spawn_blocking(move || has_begun.recv());
    has_begun.await.unwrap().unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let its = Arc::clone(&folders);
    let anew = || Err(BackendError::Cancelled);
    let second = tokio::spawn(async move { its.get(&owner("ada"), anew).await.map(drop) });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    drop(end);
    second.await.unwrap().unwrap();
    // One that could not be opened is tried again by the next request.
    let bob = owner("bob");
    let fails = folders.get(&bob, || Err(BackendError::Cancelled));
    assert!(fails.await.is_err());
    drop(folders.get(&bob, opening(&open)).await.unwrap());
    assert_eq!(open.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn one_that_cannot_be_opened_is_none_that_is_open() {
    let folders = folders(2);
    let open = Arc::new(AtomicUsize::new(0));
    for name in ["ada", "bob"] {
        drop(folders.get(&owner(name), opening(&open)).await.unwrap());
    }
    let fails = || Err(BackendError::Cancelled);
    for number in 0..9 {
        let damaged = owner(&format!("damaged{number}"));
        assert!(folders.get(&damaged, fails).await.is_err());
    }
    // The first of them made room, which is still there.
    folders.get(&owner("bob"), fails).await.unwrap();
    assert_eq!(open.load(Ordering::SeqCst), 1);
    drop(folders.get(&owner("cleo"), opening(&open)).await.unwrap());
    folders.get(&owner("bob"), fails).await.unwrap();
    let all = lock(&folders.all);
    assert_eq!((all.open, all.slots.len()), (2, 2));
}
