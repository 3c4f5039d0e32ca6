//! Laws of `ctx_assemble::Assembler`.

use ctx_assemble::{AssembleError, Assembler, Cancel, Control};
use ctx_model::{BuildOptions, BuiltContext, Chunk, Tokens};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::{few, generate};

/// The number of inputs given to an assembler.
const CASES: u32 = 256;

/// Checks that `assembler` keeps the promises of [`Assembler`], on the same inputs each time:
///
/// * a context has the number of tokens it reports, by the counter that the options name, and at
///   most `max_tokens - reserve`;
/// * each chunk is either included or omitted;
/// * the order in which chunks arrive does not affect the result;
/// * two chunks with the same id are refused;
/// * a cancelled assembly returns no context.
///
/// Inputs whose counter the assembler does not have are skipped. Needs the runtime that `assembler`
/// needs.
///
/// # Panics
/// If a law does not hold, or too few inputs give a context.
pub async fn assembler<A: Assembler + ?Sized>(assembler: &A) {
    let (mut tried, mut built) = (0_u32, 0_u32);
    for ((chunks, shuffled), options) in inputs() {
        if assembler.estimate_tokens("", &options.counter).is_err() {
            continue;
        }
        tried += 1;
        let one = of(assembler, &chunks, &options).await;
        let other = of(assembler, &shuffled, &options).await;
        match (one, other) {
            (Ok(one), Ok(other)) => {
                let counted = assembler.estimate_tokens(&one.context, &options.counter);
                is_within_its_budget(&options, counted.expect("it counted before"), &one);
                accounts_for_each(&chunks, &one);
                assert_eq!(one.context, other.context, "the order of arrival shows");
                refuses(assembler, chunks, options).await;
                built += 1;
            }
            (Err(one), Err(other)) => {
                assert_eq!(one.to_string(), other.to_string(), "the order shows");
            }
            (one, other) => panic!("in another order {one:?} is {other:?}"),
        }
    }
    assert!(built > tried / 4, "{built} contexts of {tried} inputs");
}

type Input = ((Vec<Chunk>, Vec<Chunk>), BuildOptions);

/// Chunks, the same chunks in another order, and options.
fn inputs() -> Vec<Input> {
    let twice = |chunks: Vec<Chunk>| (Just(chunks.clone()), Just(chunks).prop_shuffle());
    let inputs = (
        generate::chunks(1..12).prop_flat_map(twice),
        generate::options(),
    );
    let mut runner = TestRunner::deterministic();
    let mut input = || inputs.new_tree(&mut runner).map(|it| it.current());
    (0..few::cases(CASES))
        .map(|_| input().expect("nothing is refused"))
        .collect()
}

async fn of<A: Assembler + ?Sized>(
    assembler: &A,
    chunks: &[Chunk],
    options: &BuildOptions,
) -> Result<BuiltContext, AssembleError> {
    let answer = assembler.assemble(chunks.to_vec(), options.clone(), Control::default());
    answer.await
}

/// Checks that an input with a context is refused if two chunks have the same id, or if it is
/// cancelled.
async fn refuses<A: Assembler + ?Sized>(assembler: &A, chunks: Vec<Chunk>, options: BuildOptions) {
    let twice = [chunks[0].clone(), chunks[0].clone()];
    let refused = of(assembler, &twice, &options).await;
    assert!(
        matches!(refused, Err(AssembleError::DuplicateId { .. })),
        "two chunks have one id: {refused:?}"
    );
    let cancel = Cancel::new();
    cancel.cancel();
    let refused = assembler.assemble(chunks, options, cancel.into()).await;
    assert!(
        matches!(refused, Err(AssembleError::Cancelled)),
        "it was cancelled: {refused:?}"
    );
}

/// Checks that a context of `counted` tokens reports so many, and keeps the budget.
#[track_caller]
pub(super) fn is_within_its_budget(options: &BuildOptions, counted: Tokens, built: &BuiltContext) {
    let split = built.tokens;
    assert_eq!(split.total, counted, "the total is not the count");
    let parts = split.header + split.chunks + split.notices + split.footer;
    assert_eq!(parts, split.total, "the parts are not the total");
    let limit = options.max_tokens.saturating_sub(options.reserve);
    assert!(counted <= limit, "{counted} is over {limit}");
}

#[track_caller]
pub(super) fn accounts_for_each(chunks: &[Chunk], built: &BuiltContext) {
    let included = built.included.iter().map(|it| it.id.as_str());
    let omitted = built.omitted.iter().map(|it| it.id.as_str());
    let mut told: Vec<&str> = included.chain(omitted).collect();
    told.sort_unstable();
    let mut given: Vec<&str> = chunks.iter().map(|it| it.id.as_str()).collect();
    given.sort_unstable();
    assert_eq!(told, given, "included and omitted are not the chunks");
}
