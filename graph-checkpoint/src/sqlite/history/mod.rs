//! Checkpoints and the versions of fields in them, row by row.
//!
//! `changes` are versions and their operations as text, `rows` the rows of checkpoints and threads with their checksums, `row_texts` what is encrypted of them,
//! `long_texts` those that they share, `described` schemas and topologies, `locator` and `branch` what finds them.
//! `segment` holds the operations of many versions in one row, `gather` moves them there, and `versions` folds them to
//! values.

pub(crate) mod branch;
pub(crate) mod changes;
pub(crate) mod described;
pub(crate) mod gather;
pub(crate) mod locator;
pub(crate) mod long_texts;
pub(crate) mod row_texts;
pub(crate) mod rows;
pub(crate) mod segment;
pub(crate) mod taken_out;
pub(crate) mod versions;
