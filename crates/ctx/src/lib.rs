//! ctx
