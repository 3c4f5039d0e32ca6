//! What every request shares.

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

/// What every request shares.
pub(crate) struct App {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) credentials: LiveCredentials,
    pub(crate) limits: Limits,
    /// What tokens are counted with, for every request.
    pub(crate) counters: Arc<Counters>,
    /// What every request passes before its token is looked at.
    pub(crate) door: Door,
    /// Builds and assemblies.
    pub(crate) builds: Arc<Admission>,
    /// Batches of files, and their removal.
    pub(crate) batches: Arc<Admission>,
    /// All else that is read of the store, and written to it.
    pub(crate) store: Arc<Admission>,
    /// Bodies of requests, until their work has ended.
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) meter: Arc<Meter>,
    /// What the store said last of whether it is ready.
    pub(crate) readiness: Readiness,
    /// Raised when the server ends before its requests do.
    pub(crate) cancel: Cancel,
    pub(crate) is_draining: AtomicBool,
    pub(crate) openapi: String,
    pub(crate) page: String,
}

impl App {
    /// Whether the server is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}
