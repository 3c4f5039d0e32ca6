//! State that all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ctx_assemble::Cancel;
use ctx_hosts::Door;
use ctx_tokens::Counters;

use crate::admission::Admission;
use crate::auth::LiveCredentials;
use crate::backend::Backend;
use crate::bodies::Bodies;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::readiness::Readiness;

/// The state, as handlers hold it.
pub(crate) type Shared = Arc<App>;

/// State that all requests share.
pub(crate) struct App {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) credentials: LiveCredentials,
    pub(crate) limits: Limits,
    /// The token counters.
    pub(crate) counters: Arc<Counters>,
    /// The checks before a request's token: host name and origin.
    pub(crate) door: Door,
    /// The places of builds and assemblies.
    pub(crate) builds: Arc<Admission>,
    /// The places of batches of files, and of their removal.
    pub(crate) batches: Arc<Admission>,
    /// The places of all other reads and writes of the store.
    pub(crate) store: Arc<Admission>,
    /// The memory of request bodies, held until their work has ended.
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) meter: Arc<Meter>,
    /// Whether the store is ready, according to its last answer.
    pub(crate) readiness: Readiness,
    /// Raised when the server ends before its requests do.
    pub(crate) cancel: Cancel,
    pub(crate) is_draining: AtomicBool,
    pub(crate) openapi: String,
    pub(crate) page: String,
}

impl App {
    /// Whether the server is stopping.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}
