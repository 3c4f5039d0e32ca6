#![doc = include_str!("../README.md")]

mod arrange;
mod assemble;
mod assembler;
mod candidates;
mod cite;
mod control;
mod emit;
mod error;
mod fixed;
mod parallel;
mod price;
mod receipt;

pub use assemble::assemble;
pub use assembler::{Assembler, ContextAssembler, FormattedChunk};
pub use control::{Cancel, Clock, Control};
pub use error::AssembleError;
