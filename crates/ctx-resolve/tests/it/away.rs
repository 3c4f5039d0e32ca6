//! Files in a storage that is temporarily unavailable.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

use ctx_model::OmittedReason;
use ctx_resolve::Resolver;
use ctx_source::{Files, SourceError, Sources, Text};

use crate::{hit, run};

/// Has no answer, of the kind that is named.
#[derive(Debug)]
struct Elsewhere;

impl Files for Elsewhere {
    fn text(&self, path: &str) -> Result<Arc<Text>, SourceError> {
        let kind = match path {
            "late" => ErrorKind::TimedOut,
            "away" => ErrorKind::NotConnected,
            "refused" => ErrorKind::PermissionDenied,
            _ => ErrorKind::Other,
        };
        Err(SourceError::Io {
            path: path.to_owned(),
            source: Error::from(kind),
        })
    }
}

#[test]
fn transient_read_failures_are_distinguished() {
    let sources = Sources::of(Arc::new(Elsewhere));
    let resolver = Resolver::new(sources, ctx_syntax::Limits::default());
    let paths = ["late", "away", "refused", "broken"];
    let hits = paths.map(|it| hit(it, it, (1, 2), "")).to_vec();
    let found = run(&resolver, hits);
    let away = ["away", "late"].map(str::to_owned);
    assert_eq!(found.away, BTreeSet::from(away));
    let reasons = found.omitted.iter().map(|it| it.reason);
    assert!(reasons.clone().all(|it| it == OmittedReason::Unreadable));
    assert_eq!(reasons.count(), paths.len());
}
