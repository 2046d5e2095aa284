//! A checkpoint as JSON text, and back.
//!
//! The encoder is written by hand, because values are JSON text already: it copies them. The decoder uses serde.
//!
//! ```text
//! changes   [{"field":0,"prev":12,"ops":[{"extend":["a"]}]}, …]     prev: the checkpoint with the version
//!                                                                   before; [12,3] when it was field 3 there
//! manifest  {"tasks":[{"node":"n","writes":[{"op":[0,0]}, …]}],     op: change 0, operation 0, stored there
//!            "next":[{"node":"m","cause":{"tasks":[0]}}], "joins":[…], "kept":[…], "metadata":{…}}
//! ```
//!
//! In both, `x_body` instead of `x` refers to a text in the table `body`.

use superstep_core::checkpoint::StoreError;
use superstep_core::state::Json;

/// The size in bytes from which a text is stored once per content.
const BODY_FROM: usize = 4096;

/// Stores and loads long texts.
pub(crate) trait Bodies {
    /// Returns `true` for a text that is stored once per content, and not where it is used.
    fn is_long(&self, text: &str) -> bool {
        text.len() >= BODY_FROM
    }

    fn keep(&self, text: &str) -> Result<i64, StoreError>;
    fn find(&self, id: i64) -> Result<Json, StoreError>;

    /// Counts bytes that were read elsewhere against the limit. An implementation that reads single texts has no limit.
    #[cfg(feature = "sqlite")]
    fn count(&self, _bytes: usize) -> Result<(), StoreError> {
        Ok(())
    }
}
