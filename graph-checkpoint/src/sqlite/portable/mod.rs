//! Threads of a file as documents.

pub(crate) mod read;
mod write;
