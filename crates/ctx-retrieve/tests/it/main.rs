//! Questions to stores in memory, and to stores that fail.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::float_cmp,
    reason = "scores that ought to be equal are equal to the bit"
)]

mod faults;
mod found;
mod laws;
mod scope;
mod store;

use std::sync::Arc;
use std::time::Duration;

use ctx_rank::{Query, Role};
use ctx_retrieve::{
    Options, PortError, Report, Retrieved, Retriever, Strategy, TaskScope, Weights,
};

use store::Store;

/// Options under which all strategies and files are worth the same, and none is late on a busy
/// machine.
fn options() -> Options {
    let mut weights = Weights::default();
    for strategy in Strategy::ALL {
        weights = weights.with_strategy(*strategy, 1.0);
    }
    for role in Role::ALL {
        weights = weights.with_role(*role, 1.0);
    }
    Options::default()
        .with_weights(weights)
        .with_deadline(Duration::from_mins(1))
}

async fn ask(store: Store, question: &str, options: &Options) -> Retrieved {
    let store = Arc::new(store);
    let retriever = Retriever::new(Arc::clone(&store) as _)
        .with_relations(Arc::clone(&store) as _)
        .with_changes(Arc::clone(&store) as _)
        .with_semantic(Arc::clone(&store) as _)
        .with_usage(store);
    retriever
        .retrieve(&Arc::new(Query::analyse(question)), options)
        .await
}

/// Whose threads ports are asked on.
#[derive(Clone, Copy, Debug)]
enum Threads {
    /// The runtime's, one each.
    Many,
    /// That of the work that asks.
    One,
}

impl Threads {
    const BOTH: [Threads; 2] = [Threads::Many, Threads::One];

    async fn ask(self, store: Store, question: &'static str, options: &Options) -> Retrieved {
        match self {
            Threads::Many => ask(store, question, options).await,
            Threads::One => {
                let options = options.clone();
                let asked = async move { ask(store, question, &options).await };
                TaskScope::default().on_one_thread(asked).await.unwrap()
            }
        }
    }
}

/// Where what was found stands, the best first.
fn paths(retrieved: &Retrieved) -> Vec<&str> {
    retrieved
        .found
        .iter()
        .map(|it| it.part.path.as_str())
        .collect()
}

fn report(retrieved: &Retrieved, strategy: Strategy) -> &Report {
    retrieved
        .reports
        .iter()
        .find(|it| it.strategy == strategy)
        .unwrap()
}

fn failure(retrieved: &Retrieved, strategy: Strategy) -> Option<String> {
    let failure = report(retrieved, strategy).failure.as_ref();
    failure.map(PortError::on_one_line)
}
