//! Checkpoints and the versions of fields in them, row by row.
//!
//! `rows` are the rows of checkpoints and threads with their checksums, `row_texts` what is encrypted of them,
//! `long_texts` those that they share, `described` schemas and topologies, `locator` and `branch` what finds them.
//! `manifest`, `encode` and `decode` are a checkpoint as text; `segment` holds the operations of many versions in one
//! row, `gather` moves them there, and `versions` folds them to values.

pub(crate) mod branch;
pub(crate) mod decode;
pub(crate) mod described;
pub(crate) mod encode;
pub(crate) mod gather;
pub(crate) mod locator;
pub(crate) mod long_texts;
pub(crate) mod manifest;
pub(crate) mod row_texts;
pub(crate) mod rows;
pub(crate) mod segment;
pub(crate) mod taken_out;
pub(crate) mod versions;
