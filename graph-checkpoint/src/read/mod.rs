//! What readers are told: a checkpoint with its values, what happened before it, and what it is called.

pub(crate) mod lineage;
pub(crate) mod named;
pub(crate) mod reader;
pub(crate) mod steps;
pub(crate) mod subgraphs;
