//! What was answered a moment ago, for whoever asks the same again.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ctx_assemble::Clock;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use serde::Serialize;

use crate::owner::{Owner, feed};

/// What an answer depends on, as one hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of `parts`. Each is told apart by its length, so that no two lists of parts have one key.
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

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Served {
    /// It was kept.
    Hit,
    /// It was made.
    Miss,
    /// Somebody else was making it.
    Coalesced,
    /// It was made, and could not be kept: there is no cache, or no telling how long it holds.
    Bypassed,
}

/// How a cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheMetrics {
    /// Answers that were kept.
    pub hits: u64,
    /// Answers that had to be made.
    pub misses: u64,
    /// Answers that somebody else was making.
    pub coalesced: u64,
    /// Answers that made room for others.
    pub evictions: u64,
    /// Answers found under the key of another owner, and not given out: not 0 is a defect.
    pub refused: u64,
}

impl CacheMetrics {
    /// The share of answers that nobody had to make; 0 before the first.
    pub fn hit_rate(&self) -> f64 {
        let saved = self.hits + self.coalesced;
        let all = saved + self.misses;
        #[expect(clippy::cast_precision_loss, reason = "requests are fewer than 2^52")]
        let rate = saved as f64 / all.max(1) as f64;
        rate
    }
}

/// Keeps the answers that were used last. Many threads share one.
pub struct Cache<V> {
    kept: moka::future::Cache<Key, Arc<Entry<V>>>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    counts: Arc<Counts>,
}

struct Entry<V> {
    owner: Owner,
    value: Arc<V>,
    /// Milliseconds by the cache's clock.
    used_at: AtomicU64,
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

impl<V: Send + Sync + 'static> Default for Cache<V> {
    /// 100 answers, each for 30 seconds after it was last used.
    fn default() -> Self {
        Cache::new(100, Duration::from_secs(30))
    }
}

impl<V> Cache<V> {
    /// How it has done so far.
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
        u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX)
    }
}

impl<V: Send + Sync + 'static> Cache<V> {
    /// Keeps the `most` answers that were used last, each for `ttl` after it was last used.
    pub fn new(most: u64, ttl: Duration) -> Self {
        let counts = Arc::new(Counts::default());
        let noted = Arc::clone(&counts);
        let kept = moka::future::Cache::builder()
            .max_capacity(most)
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    add(&noted.evictions);
                }
            })
            .build();
        let start = Instant::now();
        Cache {
            kept,
            clock: Arc::new(move || start.elapsed()),
            ttl,
            counts,
        }
    }

    /// Reads the time from `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The answer for `key`, if it is kept, was used within the time to live, is `owner`'s, and `is_current`
    /// says that it still holds. Using it refreshes it; one that holds no longer is forgotten, and one of which that cannot be
    /// said (`None`) is not.
    pub async fn get<F, C>(&self, key: &Key, owner: &Owner, is_current: F) -> Option<Arc<V>>
    where
        F: FnOnce(Arc<V>) -> C,
        C: Future<Output = Option<bool>>,
    {
        let entry = self.kept.get(key).await?;
        if entry.owner != *owner {
            add(&self.counts.refused);
            return None;
        }
        let age = self
            .now()
            .saturating_sub(entry.used_at.load(Ordering::Relaxed));
        let is_old = u128::from(age) >= self.ttl.as_millis();
        if is_old || !is_current(Arc::clone(&entry.value)).await? {
            self.forget(key).await;
            return None;
        }
        entry.used_at.fetch_max(self.now(), Ordering::Relaxed);
        add(&self.counts.hits);
        Some(Arc::clone(&entry.value))
    }

    /// Makes the answer for `key` and keeps it. Of several who ask at once, one makes it and the others get
    /// the same; should that one go away, the next takes over. A failure is shared by those who waited for
    /// it, and is not kept. What is kept for another owner is neither given out nor replaced.
    ///
    /// # Errors
    /// Those of `make`.
    pub async fn make<F, M, E>(
        &self,
        key: Key,
        owner: &Owner,
        make: F,
    ) -> Result<(Arc<V>, Served), Arc<E>>
    where
        F: FnOnce() -> M + Send,
        M: Future<Output = Result<V, E>> + Send,
        E: Send + Sync + 'static,
    {
        let mut make = Some(make);
        // On the heap: what makes an answer is large, and is moved about.
        let entry = Box::pin(async {
            let value = make.take().expect("an answer is made once")().await?;
            Ok(Arc::new(Entry {
                value: Arc::new(value),
                owner: owner.clone(),
                used_at: AtomicU64::new(self.now()),
            }))
        });
        let entry = self.kept.entry(key).or_try_insert_with(entry).await?;
        let is_fresh = entry.is_fresh();
        let entry = entry.into_value();
        if entry.owner != *owner {
            add(&self.counts.refused);
            let value = make.take().expect("another owner's was found instead")();
            return Ok((Arc::new(value.await.map_err(Arc::new)?), Served::Bypassed));
        }
        let (served, count) = if is_fresh {
            (Served::Miss, &self.counts.misses)
        } else {
            (Served::Coalesced, &self.counts.coalesced)
        };
        add(count);
        Ok((Arc::clone(&entry.value), served))
    }

    /// Does not keep the answer for `key` any longer.
    pub async fn forget(&self, key: &Key) {
        self.kept.invalidate(key).await;
    }

    /// Finishes what is put off until there is time for it, evictions among it, so that the metrics tell the
    /// present.
    pub async fn settle(&self) {
        self.kept.run_pending_tasks().await;
    }
}
