#![doc = include_str!("../README.md")]

mod options;
mod ports;
mod retrieve;
mod strategies;

pub use options::{Options, Strategy, Weights};
pub use ports::{
    Answer, Feedback, Field, FileSearch, Generation, History, Hit, Key, MOST_USES, Message,
    PartQuery, PortError, References, Relations, TextQuery, Threads, Usage, Vote,
};
pub use retrieve::{Found, Report, Retrieved, Retriever};
