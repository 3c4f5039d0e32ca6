//! Custom counters, which count all contexts of a server.

use std::sync::Arc;

use ctx_model::Tokens;
use ctx_server::Options;
use ctx_tokens::{Counters, TokenCounter};
use serde_json::{Value, json};

use crate::client::{ADA, Answer, Running, patient};

/// Two tokens a byte.
struct Twice;

impl TokenCounter for Twice {
    fn count(&self, text: &str) -> Tokens {
        Tokens::saturating_from_u64(2 * text.len() as u64)
    }

    fn name(&self) -> &'static str {
        "twice"
    }
}

/// What is answered to `body` at both routes that make contexts, where `body` has what either
/// wants.
fn both(server: &Running, options: &Value) -> [Answer; 2] {
    let chunk = json!({"id": "a", "content": "fn tide(moon: f64) {}\n", "relevance": 1.0});
    let assembled = json!({"chunks": [chunk], "options": options});
    let built = json!({"message": "what does tide do?", "options": options});
    [
        server.post(ADA, "/v1/context/assemble", &assembled),
        server.post(ADA, "/v1/context/build", &built),
    ]
}

#[test]
fn a_counter_of_ones_own_counts_what_is_assembled_and_what_is_built() {
    let counters = Counters::default().with(Arc::new(Twice));
    let counters = Arc::new(counters.unwrap());
    let options = Options::default().with_limits(patient());
    let server = Running::set_up(options.with_counters(counters));
    let file = json!({"path": "a.rs", "content": "fn tide(moon: f64) {}\n"});
    let files = json!({"files": [file]});
    server.post(ADA, "/v1/files", &files).data(200);
    let options = json!({"tokenEstimation": "twice", "maxTokens": 4_000});
    for answer in both(&server, &options) {
        let data = answer.data(200);
        let context = data["context"].as_str().unwrap();
        assert!(context.contains("fn tide"), "{data}");
        assert_eq!(data["tokens"]["total"], 2 * context.len(), "{data}");
    }
}

#[test]
fn a_counter_that_nobody_has_is_refused_at_both() {
    let server = Running::embedded();
    for answer in both(&server, &json!({"tokenEstimation": "twice"})) {
        answer.refused(422, "options.tokenEstimation");
    }
}
