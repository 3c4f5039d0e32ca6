//! The metrics: names and numbers only, with no text of any request and no owner.

use std::time::Duration;

use ctx_model::BuiltContext;
use ctx_service::CacheMetrics;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use crate::backend::Prime;
use crate::job::{Stage, Timing};

/// Up to the minute that a batch of files has.
const SECONDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];
const ITEMS: [f64; 10] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 1000.0];
const METADATA: Metadata<'static> = Metadata::new("ctx_server", Level::INFO, None);

/// The one histogram that has a label.
const STAGES: &str = "context_stage_seconds";

/// Each metric, its unit and its description.
const DESCRIBED: [(&str, Unit, &str); 19] = [
    (
        "context_assembly_time",
        Unit::Seconds,
        "Time of a build, from its turn to its answer",
    ),
    (
        "context_items_retrieved",
        Unit::Count,
        "Candidate items for a context",
    ),
    (
        "context_items_selected",
        Unit::Count,
        "Items that a context shows",
    ),
    (
        "context_token_usage",
        Unit::Count,
        "Tokens of the last context",
    ),
    (
        "context_cache_hit_rate",
        Unit::Count,
        "Share of contexts that were kept from before",
    ),
    (
        "context_cache_hits_total",
        Unit::Count,
        "Contexts that were kept from before, or made for an equal request",
    ),
    (
        "context_cache_misses_total",
        Unit::Count,
        "Contexts that had to be made",
    ),
    (
        "context_cache_evictions_total",
        Unit::Count,
        "Contexts that made room for others",
    ),
    (
        "context_cache_refused_total",
        Unit::Count,
        "Contexts found under the key of another owner: not 0 is a defect",
    ),
    (
        "context_search_latency",
        Unit::Seconds,
        "Time to find parts of files",
    ),
    (
        "context_scoring_latency",
        Unit::Seconds,
        "Time to weigh what was found",
    ),
    (
        "context_optimization_latency",
        Unit::Seconds,
        "Time to choose and write what is shown",
    ),
    (STAGES, Unit::Seconds, "Time of each stage of a build"),
    (
        "http_requests_total",
        Unit::Count,
        "Requests by route, method and status; of a stream, what it came to",
    ),
    (
        "http_gone_total",
        Unit::Count,
        "Requests whose callers went away before the end of the answer, by route and method",
    ),
    (
        "http_request_seconds",
        Unit::Seconds,
        "Time of a request to its answer, or to the end of its stream, by route",
    ),
    (
        "http_shed_total",
        Unit::Count,
        "Requests turned away: no place, no room for the body, or too long to wait",
    ),
    (
        "http_late_total",
        Unit::Count,
        "Requests whose answer was not ready in time",
    ),
    (
        "http_body_bytes",
        Unit::Bytes,
        "Bytes of bodies that are held, come or still to come, and of large answers that are not sent yet",
    ),
];

/// The metrics of one server.
pub(crate) struct Meter {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let builder = PrometheusBuilder::new();
        // Fails only for an empty list, and neither list is empty.
        let builder = match builder.set_buckets(&SECONDS) {
            Ok(builder) => builder,
            Err(_) => PrometheusBuilder::new(),
        };
        let items = Matcher::Prefix("context_items".to_owned());
        let builder = match builder.set_buckets_for_metric(items, &ITEMS) {
            Ok(builder) => builder,
            Err(_) => PrometheusBuilder::new(),
        };
        let recorder = builder.build_recorder();
        for (name, unit, about) in DESCRIBED {
            let (name, unit) = (name.into(), Some(unit));
            match name {
                name if is_gauge(&name) => recorder.describe_gauge(name, unit, about.into()),
                name if is_counter(&name) => recorder.describe_counter(name, unit, about.into()),
                name => recorder.describe_histogram(name, unit, about.into()),
            }
        }
        let handle = recorder.handle();
        let meter = Meter { recorder, handle };
        meter.begin();
        meter
    }

    /// Metrics that are still 0 are reported as 0, not left out.
    fn begin(&self) {
        self.counter("http_shed_total", Vec::new()).absolute(0);
        self.counter("http_late_total", Vec::new()).absolute(0);
        self.gauge("context_token_usage").set(0.0);
        self.gauge("context_cache_hit_rate").set(0.0);
        self.cache(&CacheMetrics::default());
        for (name, ..) in DESCRIBED.iter().filter(|it| it.0.starts_with("context_")) {
            let key = metrics::KeyName::from_const_str(name);
            if !is_gauge(&key) && !is_counter(&key) && *name != STAGES {
                let _ = self.histogram(name, Vec::new());
            }
        }
    }

    /// All metrics in the Prometheus text format.
    pub(crate) fn render(&self) -> String {
        self.handle.render()
    }

    /// Aggregates recent measurements; must be called every few seconds, whether or not metrics are
    /// requested.
    pub(crate) fn upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// Counts a rejected request.
    pub(crate) fn shed(&self) {
        self.counter("http_shed_total", Vec::new()).increment(1);
    }

    /// Counts a late answer.
    pub(crate) fn late(&self) {
        self.counter("http_late_total", Vec::new()).increment(1);
    }

    /// Counts and times an answered request.
    pub(crate) fn request(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let route = Label::new("route", route.to_owned());
        let labels = vec![
            route.clone(),
            Label::from_static_parts("method", method),
            Label::new("status", status.to_string()),
        ];
        self.counter("http_requests_total", labels).increment(1);
        self.histogram("http_request_seconds", vec![route])
            .record(took);
    }

    /// Counts a request whose caller went away before it was answered.
    pub(crate) fn gone(&self, route: &str, method: &'static str) {
        let labels = vec![
            Label::new("route", route.to_owned()),
            Label::from_static_parts("method", method),
        ];
        self.counter("http_gone_total", labels).increment(1);
    }

    /// Records the context for a message. A cached one does not count as another build.
    pub(crate) fn prime(&self, prime: &Prime, took: Duration) {
        if prime.is_cached() {
            self.used(&prime.context.built);
            return;
        }
        self.built(&prime.context.built, took);
        for timing in prime.timings() {
            self.stage(&timing);
        }
    }

    /// Sets the counters of the cache.
    pub(crate) fn cache(&self, so_far: &CacheMetrics) {
        for (name, count) in [
            ("context_cache_hits_total", so_far.hits + so_far.coalesced),
            ("context_cache_misses_total", so_far.misses),
            ("context_cache_evictions_total", so_far.evictions),
            ("context_cache_refused_total", so_far.refused),
        ] {
            self.counter(name, Vec::new()).absolute(count);
        }
        self.gauge("context_cache_hit_rate").set(so_far.hit_rate());
    }

    /// Sets how many bytes of bodies are held.
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    pub(crate) fn bodies(&self, bytes: usize) {
        self.gauge("http_body_bytes").set(bytes as f64);
    }

    /// Records a context that was built.
    pub(crate) fn built(&self, built: &BuiltContext, took: Duration) {
        let retrieved = built.included.len() + built.omitted.len();
        let selected = retrieved - built.left_out_count();
        self.histogram("context_assembly_time", Vec::new())
            .record(took);
        #[expect(clippy::cast_precision_loss, reason = "there are not that many items")]
        for (name, count) in [
            ("context_items_retrieved", retrieved),
            ("context_items_selected", selected),
        ] {
            self.histogram(name, Vec::new()).record(count as f64);
        }
        self.used(built);
    }

    fn used(&self, built: &BuiltContext) {
        self.gauge("context_token_usage")
            .set(f64::from(built.tokens.total.get()));
    }

    fn stage(&self, timing: &Timing) {
        let seconds = timing.milliseconds / 1_000.0;
        let stage = Label::new("stage", timing.stage.as_str());
        self.histogram(STAGES, vec![stage]).record(seconds);
        let seeds = match timing.stage {
            Stage::Search => "context_search_latency",
            Stage::Score => "context_scoring_latency",
            Stage::Assemble => "context_optimization_latency",
            _ => return,
        };
        self.histogram(seeds, Vec::new()).record(seconds);
    }

    fn counter(&self, name: &'static str, labels: Vec<Label>) -> Counter {
        self.recorder
            .register_counter(&Key::from_parts(name, labels), &METADATA)
    }

    fn gauge(&self, name: &'static str) -> Gauge {
        self.recorder
            .register_gauge(&Key::from_static_name(name), &METADATA)
    }

    fn histogram(&self, name: &'static str, labels: Vec<Label>) -> Histogram {
        self.recorder
            .register_histogram(&Key::from_parts(name, labels), &METADATA)
    }
}

fn is_gauge(name: &metrics::KeyName) -> bool {
    matches!(
        name.as_str(),
        "context_token_usage" | "context_cache_hit_rate" | "http_body_bytes"
    )
}

fn is_counter(name: &metrics::KeyName) -> bool {
    name.as_str().ends_with("_total")
}
