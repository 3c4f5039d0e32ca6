//! A cache of recent answers.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ctx_assemble::Clock;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::context::PrimeContext;
use crate::owner::{OwnerId, feed};

/// The most answers of a cache by default.
const ANSWERS: u64 = 100;
/// Their most bytes: twice what as many contexts of the default budget take, or some six of a
/// million tokens.
const BYTES: u64 = 64 << 20;
/// How long an answer is kept after its last use, by default.
const TTL: Duration = Duration::from_secs(30);
/// How long an answer may outlive its time.
const SWEEP: Duration = Duration::from_secs(1);

/// A hash of everything that an answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of `parts`. The length of each part is hashed too, so that no two lists of parts
    /// have the same key.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        feed(&mut hasher, "ctx cache key 1", parts);
        Key(*hasher.finalize().as_bytes())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Key({})",
            &blake3::Hash::from_bytes(self.0).to_hex()[..8]
        )
    }
}

/// How an answer was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Served {
    /// From the cache.
    Hit,
    /// It was computed.
    Miss,
    /// By waiting for an equal request that was computing it.
    Coalesced,
    /// It was computed and not cached: there is no cache, or its validity could not be checked
    /// later.
    Bypassed,
}

/// Counters of a cache since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheMetrics {
    /// Answers served from the cache.
    pub hits: u64,
    /// Answers that were computed.
    pub misses: u64,
    /// Answers shared with an equal request that was computing them.
    pub coalesced: u64,
    /// Answers removed to make room.
    pub evictions: u64,
    /// Answers found under the key of another owner, and not returned. A value other than 0 is a
    /// defect.
    pub refused: u64,
}

impl CacheMetrics {
    /// The share of answers that did not have to be computed; 0 before the first.
    pub fn hit_rate(&self) -> f64 {
        let saved = self.hits + self.coalesced;
        let all = saved + self.misses;
        #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
        let rate = saved as f64 / all.max(1) as f64;
        rate
    }
}

/// A cache that keeps the most recently used answers and may be shared by threads.
pub struct Cache<V> {
    kept: Kept<V>,
    weigh: Arc<Weigh<V>>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    counts: Arc<Counts>,
    calls: Mutex<Calls<V>>,
    /// Removes what has expired, as long as there is anything.
    sweeper: Arc<Mutex<Option<JoinHandle<()>>>>,
}

type Kept<V> = moka::future::Cache<Key, Arc<Entry<V>>>;
type Weigh<V> = dyn Fn(&V) -> u32 + Send + Sync;

struct Entry<V> {
    owner: OwnerId,
    /// None once it was removed: moka may hold the entry for longer.
    value: Mutex<Option<Arc<V>>>,
    weight: u32,
    /// In milliseconds of the cache's clock.
    used_at: AtomicU64,
}

/// The calls that make or await an answer, by their key.
type Calls<V> = BTreeMap<Key, Together<V>>;

/// Calls with one key at the same time, and the answer that they share without it being kept.
struct Together<V> {
    count: usize,
    answer: Option<Arc<Entry<V>>>,
}

/// One of these calls.
struct Call<'c, V> {
    calls: &'c Mutex<Calls<V>>,
    key: Key,
}

/// Why nothing was inserted. moka tells all calls that waited for it.
enum NotKept<E> {
    /// The answer is that of [`Together`]: moka would hold it for longer than the calls need it.
    Answer,
    Failure(Arc<E>),
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    coalesced: AtomicU64,
    evictions: AtomicU64,
    refused: AtomicU64,
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl<V> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("ttl", &self.ttl)
            .field("metrics", &self.metrics())
            .finish_non_exhaustive()
    }
}

impl Default for Cache<PrimeContext> {
    /// 100 contexts of at most 64 MiB together, each until 30 seconds after its last use.
    fn default() -> Self {
        Cache::weighed(ANSWERS, BYTES, TTL, PrimeContext::bytes)
    }
}

impl<V> Drop for Cache<V> {
    fn drop(&mut self) {
        if let Some(sweeper) = lock(&self.sweeper).take() {
            sweeper.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<V> Cache<V> {
    /// The counters so far.
    pub fn metrics(&self) -> CacheMetrics {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheMetrics {
            hits: get(&self.counts.hits),
            misses: get(&self.counts.misses),
            coalesced: get(&self.counts.coalesced),
            evictions: get(&self.counts.evictions),
            refused: get(&self.counts.refused),
        }
    }

    fn now(&self) -> u64 {
        millis(&*self.clock)
    }
}

impl<V: Send + Sync + 'static> Cache<V> {
    /// A cache of the `most` most recently used answers, however large they are, each kept until
    /// `ttl` after its last use. One that has expired is removed within a second, also while nobody
    /// asks, by a task on the tokio runtime on which it was made.
    pub fn new(most: u64, ttl: Duration) -> Self {
        Cache::with(most, |_| 1, ttl)
    }

    /// The same, of at most `bytes` bytes together, as `bytes_of` says of each. An answer that has
    /// more than that is not kept.
    pub fn weighed(
        most: u64,
        bytes: u64,
        ttl: Duration,
        bytes_of: impl Fn(&V) -> usize + Send + Sync + 'static,
    ) -> Self {
        // A weight is a `u32`: of many bytes it counts so many together, with which the heaviest is
        // above the capacity.
        let unit = bytes / u64::from(u32::MAX) + 1;
        let capacity = if most == 0 { 0 } else { bytes / unit };
        // Each weighs at least so much that one more than `most` of them is above it, too.
        let least = capacity / most.saturating_add(1) + 1;
        let weigh = move |value: &V| {
            let weight = (bytes_of(value) as u64).div_ceil(unit).max(least);
            u32::try_from(weight).unwrap_or(u32::MAX)
        };
        Cache::with(capacity, weigh, ttl)
    }

    fn with(
        capacity: u64,
        weigh: impl Fn(&V) -> u32 + Send + Sync + 'static,
        ttl: Duration,
    ) -> Self {
        let counts = Arc::new(Counts::default());
        let noted = Arc::clone(&counts);
        let kept = Kept::builder()
            .max_capacity(capacity)
            .weigher(|_, entry: &Arc<Entry<V>>| entry.weight)
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |_, entry: Arc<Entry<V>>, cause| {
                lock(&entry.value).take();
                if cause == RemovalCause::Size {
                    add(&noted.evictions);
                }
            })
            .build();
        let start = Instant::now();
        Cache {
            kept,
            weigh: Arc::new(weigh),
            clock: Arc::new(move || start.elapsed()),
            ttl,
            counts,
            calls: Mutex::default(),
            sweeper: Arc::default(),
        }
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the answer for `key` if it is cached, was used within its time to live, belongs to
    /// `owner`, and `is_current` returns `Some(true)`. That counts as a use. On `Some(false)` the
    /// answer is removed; on `None`, which means that the check was not completed, it stays.
    pub async fn get<F, C>(&self, key: &Key, owner: &OwnerId, is_current: F) -> Option<Arc<V>>
    where
        F: FnOnce(Arc<V>) -> C,
        C: Future<Output = Option<bool>>,
    {
        let entry = self.kept.get(key).await?;
        if entry.owner != *owner {
            add(&self.counts.refused);
            return None;
        }
        let value = entry.value()?;
        if entry.is_expired(self.now(), self.ttl) || !is_current(Arc::clone(&value)).await? {
            self.forget(key).await;
            return None;
        }
        entry.used_at.fetch_max(self.now(), Ordering::Relaxed);
        add(&self.counts.hits);
        Some(value)
    }

    /// Computes the answer for `key` and caches it. Of concurrent calls with one key, one computes
    /// it and the others share the result; if that one is dropped, the next takes over. A failure
    /// is shared by the calls that waited for it, and is not cached. An answer cached for another
    /// owner is neither returned nor replaced.
    ///
    /// # Errors
    /// Those of `make`.
    pub async fn make<F, M, E>(
        &self,
        key: Key,
        owner: &OwnerId,
        make: F,
    ) -> Result<(Arc<V>, Served), Arc<E>>
    where
        F: FnOnce() -> M + Send,
        M: Future<Output = Result<V, E>> + Send,
        E: Send + Sync + 'static,
    {
        self.make_and_keep(key, owner, |_| true, make).await
    }

    /// Like [`Cache::make`], but an answer that is not `kept` is only shared by the calls that
    /// waited for it, at no moment and for no later one cached.
    ///
    /// # Errors
    /// Those of `make`.
    pub async fn make_and_keep<F, M, E>(
        &self,
        key: Key,
        owner: &OwnerId,
        kept: impl Fn(&V) -> bool + Send,
        make: F,
    ) -> Result<(Arc<V>, Served), Arc<E>>
    where
        F: FnOnce() -> M + Send,
        M: Future<Output = Result<V, E>> + Send,
        E: Send + Sync + 'static,
    {
        let call = Call::begin(&self.calls, key);
        let mut make = Some(make);
        let mut fresh = None;
        // On the heap, since the future is large and would be moved often.
        let making = Box::pin(async {
            let answer = make.take().expect("an answer is made once")().await;
            let value = Arc::new(answer.map_err(|it| NotKept::Failure(Arc::new(it)))?);
            fresh = Some(Arc::clone(&value));
            let weight = (self.weigh)(&value);
            let is_kept = kept(&value) && self.has_room_for(weight);
            let entry = Arc::new(Entry {
                weight,
                value: Mutex::new(Some(value)),
                owner: owner.clone(),
                used_at: AtomicU64::new(self.now()),
            });
            if is_kept {
                return Ok(entry);
            }
            call.share(entry);
            Err(NotKept::Answer)
        });
        let found = self.kept.entry(key).or_try_insert_with(making).await;
        let entry = match found.as_ref().map_err(|it| &**it) {
            Ok(entry) => Arc::clone(entry.value()),
            Err(NotKept::Answer) => call.shared(),
            Err(NotKept::Failure(error)) => return Err(Arc::clone(error)),
        };
        let is_fresh = fresh.is_some();
        let value = fresh.or_else(|| entry.value());
        if is_fresh && found.is_ok() {
            // Otherwise what has no room would be kept until more answers have come.
            self.settle().await;
            self.sweep_from_now_on();
        }
        if entry.owner != *owner {
            add(&self.counts.refused);
        }
        let Some(value) = value.filter(|_| entry.owner == *owner) else {
            let value = make.take().expect("another call fresh what was found")();
            return Ok((Arc::new(value.await.map_err(Arc::new)?), Served::Bypassed));
        };
        let (served, count) = if is_fresh {
            (Served::Miss, &self.counts.misses)
        } else {
            (Served::Coalesced, &self.counts.coalesced)
        };
        add(count);
        Ok((value, served))
    }

    /// Whether an answer of this weight could be kept at all.
    fn has_room_for(&self, weight: u32) -> bool {
        let capacity = self.kept.policy().max_capacity();
        capacity.is_none_or(|it| u64::from(weight) <= it)
    }

    /// Removes the answer for `key`.
    pub async fn forget(&self, key: &Key) {
        self.kept.invalidate(key).await;
    }

    /// Removes the answers of `owner` for which `is_it` holds. O(answers).
    pub async fn forget_of(&self, owner: &OwnerId, is_it: impl Fn(&V) -> bool) {
        let is_one = |entry: &Entry<V>| {
            entry.owner == *owner && entry.value().is_some_and(|value| is_it(&value))
        };
        let kept = self.kept.iter().filter(|(_, entry)| is_one(entry));
        let keys: Vec<Key> = kept.map(|(key, _)| *key).collect();
        for key in keys {
            self.forget(&key).await;
        }
    }

    /// Runs pending maintenance such as evictions, so that the metrics are up to date.
    pub async fn settle(&self) {
        self.kept.run_pending_tasks().await;
    }

    /// Sees to it that expired answers are removed, until there are none.
    fn sweep_from_now_on(&self) {
        let mut sweeper = lock(&self.sweeper);
        if sweeper.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (kept, clock, ttl) = (self.kept.clone(), Arc::clone(&self.clock), self.ttl);
        let own = Arc::downgrade(&self.sweeper);
        *sweeper = Some(runtime.spawn(async move {
            loop {
                tokio::time::sleep(SWEEP.min(ttl)).await;
                sweep(&kept, &*clock, ttl).await;
                let Some(own) = own.upgrade() else { break };
                // Whoever adds an answer looks for this task afterwards.
                let mut own = lock(&own);
                if kept.entry_count() == 0 {
                    *own = None;
                    break;
                }
            }
        }));
    }
}

/// Removes what has expired. O(answers).
async fn sweep<V: Send + Sync + 'static>(kept: &Kept<V>, clock: &dyn Clock, ttl: Duration) {
    let now = millis(clock);
    let expired: Vec<Key> = kept
        .iter()
        .filter(|(_, entry)| entry.is_expired(now, ttl))
        .map(|(key, _)| *key)
        .collect();
    for key in expired {
        kept.invalidate(&key).await;
    }
    kept.run_pending_tasks().await;
}

impl<'c, V> Call<'c, V> {
    fn begin(calls: &'c Mutex<Calls<V>>, key: Key) -> Self {
        let none = || Together {
            count: 0,
            answer: None,
        };
        lock(calls).entry(key).or_insert_with(none).count += 1;
        Call { calls, key }
    }

    /// Gives `entry` to the calls that await it.
    fn share(&self, entry: Arc<Entry<V>>) {
        if let Some(together) = lock(self.calls).get_mut(&self.key) {
            together.answer = Some(entry);
        }
    }

    /// The answer that this call shares.
    fn shared(&self) -> Arc<Entry<V>> {
        let calls = lock(self.calls);
        let answer = calls.get(&self.key).and_then(|it| it.answer.as_ref());
        Arc::clone(answer.expect("the call that made it had not ended when this one began"))
    }
}

impl<V> Drop for Call<'_, V> {
    fn drop(&mut self) {
        let mut calls = lock(self.calls);
        let Some(together) = calls.get_mut(&self.key) else {
            return;
        };
        together.count -= 1;
        let ended = (together.count == 0).then(|| calls.remove(&self.key));
        // The answer may be large, and is freed without the lock.
        drop(calls);
        drop(ended);
    }
}

impl<V> Entry<V> {
    /// The answer, unless it was removed.
    fn value(&self) -> Option<Arc<V>> {
        lock(&self.value).clone()
    }

    /// Whether its last use is too long ago.
    fn is_expired(&self, now: u64, ttl: Duration) -> bool {
        let age = now.saturating_sub(self.used_at.load(Ordering::Relaxed));
        u128::from(age) >= ttl.as_millis()
    }
}

fn millis(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().as_millis()).unwrap_or(u64::MAX)
}
