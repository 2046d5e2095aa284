//! A checkpoint as JSON text, and back.
//!
//! Written by hand, because values are JSON text already: they are copied, not encoded again. Read by serde.
//!
//! ```text
//! changes   [{"field":0,"prev":12,"ops":[{"extend":["a"]}]}, …]     prev: the checkpoint with the version
//!                                                                   before; [12,3] when it was field 3 there
//! manifest  {"tasks":[{"node":"n","writes":[{"op":[0,0]}, …]}],     op: change 0, operation 0, stored there
//!            "next":[{"node":"m","cause":{"tasks":[0]}}], "joins":[…], "kept":[…], "metadata":{…}}
//! ```
//!
//! In both, `x_body` in the place of `x` is a text that is kept in the table `body`.

use superstep_core::checkpoint::StoreError;
use superstep_core::state::{FieldId, Json};

/// Every so many checkpoints of a branch, and wherever its schema changes, the whole map from field to version
/// is stored.
pub const MAP_EVERY: u32 = 64;

/// Where a field's version is: in the changes of a checkpoint, under the field's id in that one's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) seq: i64,
    pub(crate) field: FieldId,
}

/// The map from field to version at one checkpoint.
pub(crate) type Fields = Vec<Option<Version>>;

/// Keeps and finds long texts.
pub(crate) trait Bodies {
    fn keep(&self, text: &str) -> Result<i64, StoreError>;
    fn find(&self, id: i64) -> Result<Json, StoreError>;

    /// Takes in that so many bytes were found in another place. Whoever reads one text only takes what there is.
    fn count(&self, _bytes: usize) -> Result<(), StoreError> {
        Ok(())
    }
}
