//! What all chores share: the [`workspace`], and calls of other programs.

pub mod command;
pub mod workspace;
