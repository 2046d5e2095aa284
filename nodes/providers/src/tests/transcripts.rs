//! Whole streams, as servers send them, and what each comes to wherever it is cut into pieces.

use superstep_nodes::model::{ModelError, ModelReply};

use crate::reply_stream::{ReplyReader, read_all};

/// Returns the outcome of a transcript. It is the same for every way of cutting the transcript in two, and byte by
/// byte.
pub(crate) fn outcome<R: ReplyReader>(
    transcript: &str,
    reader: impl Fn() -> R,
) -> Result<ModelReply, ModelError> {
    let bytes = transcript.as_bytes();
    let whole = read_all(reader(), &[bytes]);
    for cut in 0..=bytes.len() {
        let (before, after) = bytes.split_at(cut);
        assert_eq!(read_all(reader(), &[before, after]), whole, "cut at byte {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read_all(reader(), &single), whole, "byte by byte");
    whole
}
