//! The assembler behind a service: held by `Arc<dyn _>`, awaited, cancelled, dropped.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ctx_assemble::{
    AssembleError, Assembler, Cancel, Clock, ContextAssembler, Control, FormattedChunk, assemble,
    async_trait,
};
use ctx_model::{BuildOptions, BuiltContext, Chunk, CounterName, Format, LineSpan, Tokens};
use ctx_tokens::{Additivity, Counters, TokenCounter};

use crate::support::{build, chunk, files, options};

#[tokio::test]
async fn a_service_gets_what_the_function_gives() {
    let start = Instant::now();
    let clock: Arc<dyn Clock> = Arc::new(move || start.elapsed());
    let assembler: Arc<dyn Assembler> = Arc::new(ContextAssembler::new().with_clock(clock));
    let awaited = assembler
        .assemble(files(20), options(600), Control::default())
        .await
        .unwrap();
    let called = build(&files(20), &options(600));
    assert_eq!(awaited.context, called.context);
    assert!(awaited.build_time > 0.0, "the clock was handed in");
    assert!(
        called.build_time.abs() < f64::EPSILON,
        "no clock was handed in"
    );
}

#[tokio::test]
async fn the_assembler_keeps_the_laws_of_assemblers() {
    ctx_testkit::laws::assembler(&ContextAssembler::new()).await;
}

/// Says nothing of what it left out.
struct Forgetful(ContextAssembler);

#[async_trait]
impl Assembler for Forgetful {
    async fn assemble(
        &self,
        chunks: Vec<Chunk>,
        options: BuildOptions,
        control: Control,
    ) -> Result<BuiltContext, AssembleError> {
        let mut built = self.0.assemble(chunks, options, control).await?;
        built.omitted.clear();
        Ok(built)
    }

    fn format_chunk(
        &self,
        chunk: &Chunk,
        options: &BuildOptions,
    ) -> Result<FormattedChunk, AssembleError> {
        self.0.format_chunk(chunk, options)
    }

    fn estimate_tokens(&self, text: &str, counter: &CounterName) -> Result<Tokens, AssembleError> {
        self.0.estimate_tokens(text, counter)
    }
}

#[tokio::test]
#[should_panic(expected = "included and omitted are not the chunks")]
async fn an_assembler_that_does_not_account_for_each_chunk_breaks_a_law() {
    ctx_testkit::laws::assembler(&Forgetful(ContextAssembler::new())).await;
}

#[tokio::test]
async fn a_flag_can_be_used_again_after_an_answer() {
    let assembler = ContextAssembler::new();
    let cancel = Cancel::new();
    for _ in 0..2 {
        assert!(
            assembler
                .assemble(files(2), options(600), cancel.clone().into())
                .await
                .is_ok()
        );
    }
    assert!(!cancel.is_cancelled());
}

#[tokio::test]
async fn a_raised_flag_ends_the_work() {
    let assembler = ContextAssembler::new();
    let cancel = Cancel::new();
    cancel.child().child().cancel();
    assert!(!cancel.is_cancelled(), "a child does not raise its parent");
    cancel.cancel();
    assert!(cancel.child().child().is_cancelled());
    let answer = assembler
        .assemble(files(20), options(600), cancel.into())
        .await;
    assert!(matches!(answer, Err(AssembleError::Cancelled)));
}

#[tokio::test]
async fn a_deadline_that_is_over_gives_the_best_answer_there_is() {
    // An hour goes by whenever it is looked at.
    let hours = AtomicU64::new(0);
    let clock = move || Duration::from_secs(3_600 * hours.fetch_add(1, Ordering::Relaxed));
    let control = Control::default().with_deadline(Some(Duration::ZERO));
    let control = control.with_clock(Arc::new(clock));
    let assembler = ContextAssembler::new();
    let built = async |control: Control| {
        let answer = assembler.assemble(files(200), options(2_000), control);
        answer.await.unwrap()
    };
    let (late, in_time) = (built(control).await, built(Control::default()).await);
    assert!(late.tokens.total <= Tokens::new(2_000) && late.build_time >= 3_600_000.0);
    assert!(late.certificate.gap > in_time.certificate.gap);
}

#[test]
fn nothing_is_done_on_the_thread_that_awaits() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (let_go, held) = std::sync::mpsc::channel();
        // All threads for work are taken.
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let assembler = ContextAssembler::new();
        let unknown = options(600).with_counter(CounterName::from("no such counter"));
        let mut answer = assembler.assemble(files(2), unknown, Control::default());
        let mut context = Context::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut context).is_pending());
        let_go.send(()).unwrap();
        busy.await.unwrap().unwrap();
        assert!(matches!(answer.await, Err(AssembleError::Tokens(_))));
    });
}

/// Raises a flag when it weighs for the second time, and notes how many bytes it was given in all.
struct Raising {
    counter: Arc<dyn TokenCounter>,
    flag: Cancel,
    given: AtomicUsize,
}

impl TokenCounter for Raising {
    fn count(&self, text: &str) -> Tokens {
        self.given.fetch_add(text.len(), Ordering::Relaxed);
        self.counter.count(text)
    }

    fn weigh(&self, text: &str) -> u64 {
        if self.given.fetch_add(text.len(), Ordering::Relaxed) > 0 {
            self.flag.cancel();
        }
        self.counter.weigh(text)
    }

    fn additivity(&self) -> Additivity {
        self.counter.additivity()
    }
}

/// Notes whose threads weigh.
struct Noting {
    counter: Arc<dyn TokenCounter>,
    threads: Mutex<HashSet<ThreadId>>,
}

impl TokenCounter for Noting {
    fn count(&self, text: &str) -> Tokens {
        self.counter.count(text)
    }

    fn weigh(&self, text: &str) -> u64 {
        let mut threads = self.threads.lock().unwrap();
        threads.insert(thread::current().id());
        drop(threads);
        self.counter.weigh(text)
    }

    fn additivity(&self) -> Additivity {
        self.counter.additivity()
    }
}

#[test]
fn one_thread_gives_what_many_give() {
    let chunks = files(2_000);
    for tokens in [600, 100_000] {
        let options = options(tokens);
        let [one, many] = [true, false].map(|one_thread| {
            let counter = Noting {
                counter: ctx_tokens::counter(&options.counter).unwrap(),
                threads: Mutex::default(),
            };
            let control = Control::default().with_one_thread(one_thread);
            let built = assemble(&chunks, &options, &counter, &control).unwrap();
            (built, counter.threads.into_inner().unwrap())
        });
        assert_eq!(one.0, many.0);
        assert_eq!(one.1, HashSet::from([thread::current().id()]));
        let own = thread::current().id();
        assert!(many.1.iter().any(|it| *it != own), "there is enough");
    }
}

/// Large chunks and many chunks: neither keep a cancelled assembly busy.
#[test]
fn a_cancel_is_seen_while_pricing() {
    let line = "let value = compute(input, 42);\n";
    let some = |count: usize, lines: usize| -> Vec<Chunk> {
        (0..count)
            .map(|n| chunk(&n.to_string(), 1.0, &line.repeat(lines)))
            .collect()
    };
    for (chunks, lines) in [(20, 50_000), (20_000, 50)] {
        let flag = Cancel::new();
        let control = Control::default().with_cancel(flag.clone());
        let options = options(u32::MAX);
        let counter = Raising {
            counter: ctx_tokens::counter(&options.counter).unwrap(),
            flag,
            given: AtomicUsize::new(0),
        };
        let answer = assemble(&some(chunks, lines), &options, &counter, &control);
        assert!(matches!(answer, Err(AssembleError::Cancelled)));
        // What each thread was at, and no more: one window of a large chunk, one small chunk.
        let given = counter.given.into_inner();
        let all = chunks * lines * line.len();
        assert!(given > 0 && given < all / 4, "{given} of {all} bytes");
    }
}

#[test]
fn a_fragment_is_formatted_and_counted_alone() {
    let assembler = ContextAssembler::new();
    let file = &files(1)[0];
    let markdown = assembler.format_chunk(file, &options(0)).unwrap();
    assert!(markdown.text.starts_with("### src/file0.rs\n"));
    let counter = CounterName::default();
    assert_eq!(
        markdown.tokens,
        assembler.estimate_tokens(&markdown.text, &counter).unwrap()
    );
    let xml = assembler
        .format_chunk(file, &options(0).with_format(Format::Xml))
        .unwrap();
    assert!(xml.text.ends_with("</code-context>"));
}

#[test]
fn a_fragment_shows_the_expanded_context() {
    let mut file = files(1).remove(0);
    file.expanded_context = Some("wider".to_owned());
    let text = ContextAssembler::new()
        .format_chunk(&file, &options(0))
        .unwrap()
        .text;
    assert!(text.contains("wider") && !text.contains("fn f0"));
}

#[tokio::test]
async fn a_counter_of_ones_own_is_asked_for_and_told_of_by_its_name() {
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> Tokens {
            Tokens::saturating_from_u64(text.len() as u64)
        }

        fn name(&self) -> &'static str {
            "bytes"
        }
    }

    let counters = Arc::new(Counters::default().with(Arc::new(Bytes)).unwrap());
    let assembler = ContextAssembler::new().with_counters(counters);
    let name = CounterName::from("bytes");
    let options = options(3_000).with_counter(name.clone());
    let built = assembler.assemble(files(20), options.clone(), Control::default());
    let built = built.await.unwrap();
    assert_eq!(built.counter, "bytes");
    assert_eq!(built.tokens.total.get() as usize, built.context.len());
    assert!(built.was_truncated && built.context.len() <= 3_000);
    let fragment = assembler.format_chunk(&files(1)[0], &options).unwrap();
    assert_eq!(fragment.tokens.get() as usize, fragment.text.len());
    assert_eq!(assembler.estimate_tokens("äh", &name).unwrap().get(), 3);
    let others = ContextAssembler::new().estimate_tokens("äh", &name);
    assert!(others.is_err(), "it is nobody else's");
}

#[test]
fn an_unknown_model_is_an_error_with_its_neighbours() {
    let name: CounterName = "gpt-4p".to_owned().into();
    let error = ContextAssembler::new()
        .estimate_tokens("x", &name)
        .expect_err("accepted");
    assert!(error.to_string().contains("gpt-4"), "{error}");
}

#[tokio::test]
async fn the_panic_of_a_counter_is_the_source_of_the_error() {
    struct Panics;

    impl TokenCounter for Panics {
        fn count(&self, _: &str) -> Tokens {
            panic!("the table of ranks is empty")
        }
    }

    let counters = Counters::default().with(Arc::new(Panics)).unwrap();
    let assembler = ContextAssembler::new().with_counters(Arc::new(counters));
    let options = options(3_000).with_counter("custom".into());
    let lost = assembler.assemble(files(1), options, Control::default());
    let lost = lost.await.unwrap_err();
    assert!(matches!(lost, AssembleError::Lost { .. }), "{lost}");
    let source = std::error::Error::source(&lost).unwrap();
    assert!(source.to_string().contains("the table of ranks is empty"));
}

#[test]
fn a_fragment_has_the_lines_that_it_shows() {
    let mut file = files(1).remove(0).with_span(LineSpan::new(2, 2).unwrap());
    file.content = "b".to_owned();
    file.expanded_context = Some("a\nb\nc".to_owned());
    let fragment = ContextAssembler::new()
        .format_chunk(&file, &options(0))
        .unwrap();
    assert_eq!(fragment.span, LineSpan::new(1, 3).ok());
    assert!(fragment.text.contains("\nLines 1-3\n"), "{}", fragment.text);
}

#[test]
#[should_panic(expected = "Tokio")]
fn to_await_it_needs_a_runtime() {
    let assembler = ContextAssembler::new();
    let mut building = assembler.assemble(files(1), options(3_000), Control::default());
    let mut nobody = Context::from_waker(Waker::noop());
    let _ = building.as_mut().poll(&mut nobody);
}
