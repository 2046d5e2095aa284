//! Reads checkpoints with their values, their history, and their names.

pub(crate) mod lineage;
pub(crate) mod named;
pub(crate) mod overview;
pub(crate) mod reader;
pub(crate) mod steps;
pub(crate) mod subgraphs;
pub(crate) mod threads;
