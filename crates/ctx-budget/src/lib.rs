#![doc = include_str!("../README.md")]

mod bound;
mod caps;
mod core_items;
mod coverage;
mod density;
mod entry;
mod error;
mod in_order;
mod number;
mod objective;
mod optimal;
mod order;
mod prepared;
mod problem;
mod relaxation;
mod reservation;
mod rounding;
mod search;
mod select;
mod settings;
mod tally;
mod ticker;

pub use caps::{CapRule, CapUnit, Claim, kind_budget, proportional_caps};
pub use ctx_model::{Certificate, ChunkKind, OmittedReason, Selection, Tokens};
pub use entry::entry_capacity;
pub use error::{BudgetError, Pin};
pub use problem::{Capacity, Choice, Feature, Item, Problem};
pub use reservation::{Reservation, reserve};
pub use select::{Outcome, select, select_with};
pub use settings::{Poll, Settings};
