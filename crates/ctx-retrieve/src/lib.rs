#![doc = include_str!("../README.md")]

mod options;
mod ports;
mod retrieve;
mod strategies;

pub use options::{Options, Strategy, Weights};
pub use ports::{
    Answer, Field, FileSearch, History, Hit, Key, Message, PortError, References, Relations,
    TextQuery, Usage,
};
pub use retrieve::{Found, Report, Retrieved, Retriever};
