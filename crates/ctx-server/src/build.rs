//! Builds the context for a message, in the same way for every store.
//!
//! A store makes a [`Service`] of its data for each owner with [`Priming::service`], and passes its
//! requests to [`build`] and its votes to [`count`]. Only storing the receipt is left to the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctx_assemble::AssembleError;
use ctx_budget::BudgetError;
use ctx_citations::{Cited, ResolveOptions, Resolved, resolve_with};
use ctx_model::{BuiltContext, Omitted, Tokens, UnixSeconds, Warning, WarningCode};
use ctx_resolve::Resolver;
use ctx_retrieve::{Retriever, is_awaited};
use ctx_service::{
    Cache, CacheMetrics, FeedbackError, Memory, Ports, PrimeContext, PrimeOptions, PrimeStage,
    Served, Service, ServiceError, SigningKey,
};

use crate::Owner;
use crate::backend::{BackendError, Prime, PrimeRequest, Receipt, Scored, Signal, Stats, Vote};
use crate::job::{Job, Stage, Timing};
use crate::reserve::Reserve;

/// State that the services of all owners of a store share.
#[derive(Debug)]
pub struct Priming {
    key: SigningKey,
    cache: Arc<Cache<PrimeContext>>,
    memory: Arc<Memory>,
}

impl Priming {
    /// Labels and handles are signed with `key` and are valid only as long as it stays the same:
    /// it should outlive the process, and be equal in all processes of one store. The most recently
    /// used contexts are cached as [`Cache::default`] says.
    pub fn new(key: SigningKey) -> Self {
        Priming {
            key,
            cache: Arc::default(),
            memory: Arc::default(),
        }
    }

    /// A service that builds contexts of `owner`'s data: it searches with `retriever`, reads with
    /// `resolver`, and gets everything else from `ports`.
    pub fn service(
        &self,
        owner: &Owner,
        retriever: Retriever,
        resolver: Arc<Resolver>,
        ports: Ports,
    ) -> Service {
        Service::new(retriever, resolver)
            .for_owner(ctx_service::OwnerId::new(owner.as_str()), ports)
            .with_signing_key(self.key)
            .with_cache(Arc::clone(&self.cache))
            .with_memory(Arc::clone(&self.memory))
    }

    /// The counters of the cache so far.
    pub fn metrics(&self) -> CacheMetrics {
        self.cache.metrics()
    }
}

/// Builds the context for a message. The store must check before that the thread exists, and must
/// keep the receipt afterwards.
///
/// # Errors
/// [`BackendError::Service`], and [`BackendError::Cancelled`] as soon as nobody waits any more.
pub async fn build(
    service: &Service,
    request: PrimeRequest,
    job: &Job,
) -> Result<Prime, BackendError> {
    let control = job.control();
    let patience = job.patience;
    let mut options = PrimeOptions::default()
        .with_build(request.options)
        .with_references(request.references)
        .with_deadline(patience);
    options.retrieve.deadline = patience;
    let telling = job.clone();
    let begins = move |stage| {
        if let Some(stage) = stage_of(stage) {
            // The control already reports whether anybody still waits.
            let _ = telling.begin(stage);
        }
    };
    let service = service
        .clone()
        .with_counters(Arc::clone(&job.counters))
        .with_progress(Arc::new(begins));
    let thread = request.thread.as_deref();
    let primed = service.prime(thread, &request.message, &options, &control);
    let primed = primed.await.map_err(|error| match error {
        _ if job.cancel.is_cancelled() => BackendError::Cancelled,
        error => refused(error, request.reserve),
    })?;
    for failure in &primed.context.failures {
        tracing::warn!(source = ?failure.source, "a source contributed nothing to a context");
    }
    let built = for_request(&primed.context, &options, request.reserve, job.most_tokens);
    Ok(Prime {
        context: primed.context,
        built,
        thread: request.thread,
        item_content: request.item_content,
        explain: options.build.explain,
        served: primed.served,
        answered_at: now(),
    })
}

/// Reports a budget that is too small, with one that works even if the reserve grows with it.
fn refused(error: ServiceError, reserve: Reserve) -> BackendError {
    let ServiceError::Assemble(AssembleError::Budget(refusal)) = error.own() else {
        return BackendError::Service(error);
    };
    let mut refusal = refusal.clone();
    if let BudgetError::TooSmall {
        smallest,
        reserve: reserved,
        ..
    } = &mut refusal
    {
        *smallest = reserve.budget_like(*smallest, *reserved);
    }
    BackendError::Service(AssembleError::from(refusal).into())
}

/// What is reported of `context`, which was built with `options`.
fn for_request(
    context: &PrimeContext,
    options: &PrimeOptions,
    reserve: Reserve,
    most: Tokens,
) -> Arc<BuiltContext> {
    let is_whole = context.unresolved.is_empty() && context.failures.is_empty();
    let entering = |it: &Omitted| it.enters_at.map(|at| entry(at, options, reserve, most));
    let is_told_so = |it: &Omitted| entering(it).is_none_or(|at| at == it.enters_at);
    if is_whole && context.built.omitted.iter().all(is_told_so) {
        return Arc::clone(&context.built);
    }
    let mut built = BuiltContext::clone(&context.built);
    for omitted in &mut built.omitted {
        omitted.enters_at = entering(omitted).flatten();
    }
    let unresolved = context.unresolved.iter();
    built.warnings.extend(unresolved.map(|it| {
        let detail = format!("{:?} is not in the context: {}", it.reference, it.why);
        let code = if it.is_unavailable {
            WarningCode::SourceFailed
        } else {
            WarningCode::UnknownReference
        };
        Warning::new(code, detail)
    }));
    let failures = context.failures.iter();
    built.warnings.extend(failures.map(|it| {
        // What exactly failed in the store is not shown to the caller.
        let detail = format!(
            "{:?} contributed nothing to the context: it failed or took too long",
            it.source
        );
        Warning::new(WarningCode::SourceFailed, detail)
    }));
    Arc::new(built)
}

/// The budget at which a request includes an item that enters at `at` with the present reserve,
/// unless a larger budget also finds more, or is larger than a request may have, `most`.
fn entry(at: Tokens, options: &PrimeOptions, reserve: Reserve, most: Tokens) -> Option<Tokens> {
    let budget = reserve.budget_like(at, options.build.reserve);
    (budget <= options.largest_budget().min(most)).then_some(budget)
}

/// Counts a vote by its handle. Returns whether it counted: only the first vote on a file per
/// context does.
///
/// # Errors
/// [`BackendError::Invalid`] for a handle that was not issued to this owner or has expired, and
/// errors of the store.
pub async fn count(service: &Service, vote: &Vote) -> Result<bool, BackendError> {
    let counted = service.feedback(
        &vote.handle,
        vote.useful.into(),
        UnixSeconds::from_millis(now()),
    );
    match counted.await {
        Ok(()) => Ok(true),
        Err(FeedbackError::Repeated) => Ok(false),
        Err(FeedbackError::Malformed | FeedbackError::Forged) => Err(BackendError::Invalid {
            field: "handle".to_owned(),
            detail: "the handle is not from a context of this owner".to_owned(),
        }),
        Err(FeedbackError::Expired) => Err(BackendError::Invalid {
            field: "handle".to_owned(),
            detail: "the handle has expired: handles are valid for 30 days".to_owned(),
        }),
        Err(error) => Err(BackendError::failed("count a vote", error)),
    }
}

/// The stage as reported on the wire; `None` for stages that a later service may add.
fn stage_of(stage: PrimeStage) -> Option<Stage> {
    match stage {
        PrimeStage::History => Some(Stage::History),
        PrimeStage::Search => Some(Stage::Search),
        PrimeStage::Resolve => Some(Stage::Resolve),
        PrimeStage::Score => Some(Stage::Score),
        PrimeStage::Assemble => Some(Stage::Assemble),
        _ => None,
    }
}

impl Prime {
    /// Its id among the owner's contexts.
    pub fn id(&self) -> &str {
        &self.context.id
    }

    /// Whether it came from the cache, or from an equal request that was running.
    pub fn is_cached(&self) -> bool {
        matches!(self.served, Served::Hit | Served::Coalesced)
    }

    /// The context, with a warning for each reference that was not found and each source that did
    /// not contribute. The budgets at which omitted chunks would enter assume the same reserve rule
    /// as the request.
    pub fn built(&self) -> Arc<BuiltContext> {
        Arc::clone(&self.built)
    }

    /// How many items were found, by kind.
    pub fn stats(&self) -> Stats {
        let stats = self.context.stats;
        Stats {
            explicit_count: stats.explicit_count,
            search_count: stats.search_count,
            history_count: stats.history_count,
            recent_count: stats.recent_count,
            excluded_count: stats.excluded_count,
        }
    }

    /// How long each stage took, in order; empty if the context was cached.
    pub fn timings(&self) -> Vec<Timing> {
        if self.is_cached() {
            return Vec::new();
        }
        let took = self.context.timings;
        let timing = |(stage, took): (Stage, Duration)| Timing {
            stage,
            milliseconds: took.as_secs_f64() * 1_000.0,
        };
        let stages = [
            (Stage::History, took.history),
            (Stage::Search, took.search),
            (Stage::Resolve, took.resolve),
            (Stage::Score, took.score),
            (Stage::Assemble, took.assemble),
        ];
        stages.into_iter().map(timing).collect()
    }

    /// The signals of each item, in the order shown; empty unless requested by `explain`.
    pub fn scored(&self) -> Vec<Scored> {
        if !self.explain {
            return Vec::new();
        }
        let considered = self.context.items.iter();
        let considered: BTreeMap<&str, _> = considered.map(|it| (it.id.as_str(), it)).collect();
        let included = self.built.included.iter();
        let items = included.filter_map(|it| considered.get(it.id.as_str()));
        let scored = items.map(|item| {
            let signals = item.signals.iter().map(|it| Signal {
                name: it.name.to_owned(),
                value: it.value,
                weight: it.weight,
            });
            Scored {
                id: item.id.clone(),
                signals: signals.collect(),
            }
        });
        scored.collect()
    }

    /// The receipt to store.
    pub fn receipt(&self) -> Receipt {
        Receipt {
            id: self.id().to_owned(),
            created_at: self.answered_at,
            thread_id: self.thread.clone(),
            stats: self.stats(),
            receipt: self.built(),
            items: self.scored(),
            sources: self.context.citations.iter().map(Into::into).collect(),
        }
    }
}

impl Receipt {
    /// Finds the citations of this context in `answer`. O(bytes of the answer and of the sources).
    ///
    /// # Errors
    /// Nobody waits any more.
    pub(crate) fn resolve(&self, answer: &str) -> Result<(Resolved, Vec<Cited>), BackendError> {
        let citations: Vec<Cited> = self.sources.iter().map(Into::into).collect();
        let options = ResolveOptions::default().while_awaited(&is_awaited);
        let resolved = resolve_with(answer, &citations, &options);
        Ok((resolved.ok_or(BackendError::Cancelled)?, citations))
    }
}

/// The time now, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use ctx_assemble::{Control, assemble};
    use ctx_model::BuildOptions;
    use ctx_retrieve::TaskScope;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_resolved_as_long_as_somebody_waits() {
        let (options, control) = (BuildOptions::default(), Control::default());
        let built = assemble(&[], &options, &ctx_tokens::Words, &control).unwrap();
        let receipt = Receipt {
            id: "ctx-1".to_owned(),
            created_at: 0,
            thread_id: None,
            stats: Stats::default(),
            receipt: Arc::new(built),
            items: Vec::new(),
            sources: Vec::new(),
        };
        let resolve = || async { receipt.resolve("[fil-9f2a1c]") };
        let (scope, guard) = TaskScope::default().cancel_on_drop();
        let resolved = scope.clone().within(resolve()).await;
        assert_eq!(resolved.unwrap().0.marks.len(), 1);
        drop(guard);
        let gone = scope.within(resolve()).await;
        assert!(matches!(gone, Err(BackendError::Cancelled)));
    }
}
