//! A cache of recent answers.

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
    kept: moka::future::Cache<Key, Arc<Entry<V>>>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    counts: Arc<Counts>,
}

struct Entry<V> {
    owner: Owner,
    value: Arc<V>,
    /// In milliseconds of the cache's clock.
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
    /// 100 answers, each until 30 seconds after its last use.
    fn default() -> Self {
        Cache::new(100, Duration::from_secs(30))
    }
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
        u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX)
    }
}

impl<V: Send + Sync + 'static> Cache<V> {
    /// A cache of the `most` most recently used answers, each kept until `ttl` after its last use.
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

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the answer for `key` if it is cached, was used within its time to live, belongs to
    /// `owner`, and `is_current` returns `Some(true)`. That counts as a use. On `Some(false)` the
    /// answer is removed; on `None`, which means that the check was not completed, it stays.
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
        owner: &Owner,
        make: F,
    ) -> Result<(Arc<V>, Served), Arc<E>>
    where
        F: FnOnce() -> M + Send,
        M: Future<Output = Result<V, E>> + Send,
        E: Send + Sync + 'static,
    {
        let mut make = Some(make);
        // On the heap, since the future is large and would be moved often.
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

    /// Removes the answer for `key`.
    pub async fn forget(&self, key: &Key) {
        self.kept.invalidate(key).await;
    }

    /// Runs pending maintenance such as evictions, so that the metrics are up to date.
    pub async fn settle(&self) {
        self.kept.run_pending_tasks().await;
    }
}
