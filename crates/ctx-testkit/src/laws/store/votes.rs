//! Votes count once, as long as their keys must be remembered.

use std::collections::BTreeMap;

use ctx_model::UnixSeconds;
use ctx_retrieve::{Feedback, MOST_USES, Usage, VOTE_MEMORY, Vote};

/// The number of files that are voted on.
const FILES: u64 = 3;
/// The number of keys per file.
const KEYS: u64 = 5;
/// The number of rounds of voting.
const STEPS: usize = 200;
const DAY: u64 = 86_400;

/// What can be known of the votes in a store.
#[derive(Default)]
struct Model {
    /// The time of the vote of each key.
    given: BTreeMap<String, UnixSeconds>,
    uses: BTreeMap<String, u64>,
    /// The time of the latest vote.
    latest: UnixSeconds,
}

impl Model {
    /// Whether `vote` must count or must not; `None` if the store may have forgotten its key.
    fn counts(&self, vote: &Vote) -> Option<bool> {
        let latest = self.latest.max(vote.at);
        match self.given.get(&vote.key) {
            None => Some(true),
            Some(at) if latest.saturating_sub(VOTE_MEMORY) <= *at => Some(false),
            Some(_) => None,
        }
    }

    fn count(&mut self, vote: &Vote) {
        self.given.insert(vote.key.clone(), vote.at);
        let uses = self.uses.entry(vote.path.clone()).or_default();
        *uses = if vote.is_useful() {
            (*uses + 1).min(MOST_USES)
        } else {
            uses.saturating_sub(1)
        };
    }
}

/// Checks that a key counts once as long as it must be remembered, whatever happens in between, by
/// clocks that differ by a day; and that uses equal the sum of the votes that counted, taken one
/// after the other. Needs a `store` without votes.
///
/// # Panics
/// If the law does not hold.
pub async fn votes<S: Feedback + Usage + ?Sized>(store: &S) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    together(store).await;
    let mut model = Model::default();
    let mut time = 1_700_000_000_u64;
    for step in 0..STEPS {
        time += [0, 60, 3_600, DAY, 9 * DAY][usize::try_from(below(5)).unwrap_or(0)];
        let at = UnixSeconds::new((time - below(DAY)).cast_signed());
        let mut votes = Vec::new();
        for _ in 0..=below(3) {
            let (file, key) = (below(FILES), below(KEYS));
            let key = format!("key {key} of {file}");
            votes.push(Vote::new(
                key,
                format!("{file}.rs"),
                (below(3) > 0).into(),
                at,
            ));
        }
        // A vote that may or may not count is sent alone: otherwise the answer would not show which
        // counted.
        if votes.iter().any(|it| model.counts(it).is_none()) {
            votes.truncate(1);
        }
        let counted = store.votes(&votes).await.expect("votes");
        let mut wanted = 0;
        for vote in &votes {
            let counts = model.counts(vote).unwrap_or(counted == 1);
            if counts {
                model.count(vote);
                wanted += 1;
            }
            model.latest = model.latest.max(vote.at);
        }
        assert_eq!(counted, wanted, "step {step}: {votes:?}");
        let paths: Vec<String> = model.uses.keys().cloned().collect();
        let mut uses = store.counts(&paths).await.expect("uses");
        let missing = paths.into_iter().map(|path| (path, 0));
        for (path, none) in missing {
            uses.entry(path).or_insert(none);
        }
        assert_eq!(uses, model.uses, "step {step}: {votes:?}");
    }
}

/// Votes sent together count in their order: a vote that would lead below zero or above the maximum
/// has no effect, and does not offset another.
async fn together<S: Feedback + Usage + ?Sized>(store: &S) {
    let path = "in order.rs";
    let mut next = 0;
    for (together, uses) in [
        ("-+", 1),
        ("--++-+", 2),
        ("++++++++++-", 9),
        ("++--+++", 10),
        ("+-", 9),
    ] {
        let vote = |it| {
            next += 1;
            Vote::new(
                format!("in order {next}"),
                path,
                (it == '+').into(),
                UnixSeconds::new(1_600_000_000),
            )
        };
        let votes: Vec<Vote> = together.chars().map(vote).collect();
        let counted = store.votes(&votes).await.expect("votes");
        assert_eq!(counted, votes.len());
        let counts = store.counts(&[path.to_owned()]).await.expect("uses");
        assert_eq!(counts.get(path), Some(&uses), "after {together}");
    }
}
