//! Checkpoints and the versions of fields in them, as the columns and texts of both savers.
//!
//! `manifest`, `encode` and `decode` are a checkpoint as text; `rows` are numbers and names in columns.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod manifest;
pub(crate) mod rows;
