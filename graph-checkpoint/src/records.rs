//! The rows of a server, as the columns and texts of both savers.

use serde::Serialize;
use serde_json::Value;
use superstep_core::checkpoint::StoreError;
use superstep_core::records::{Column, EventRow};
use superstep_core::state::SizeLimits;

use crate::limited::too_large;

/// Returns the JSON of a row, if it is not larger than a record may be.
pub(crate) fn encode<T: Serialize>(limits: SizeLimits, row: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string(row).map_err(|error| StoreError::Io(Box::new(error)))?;
    limits.of_record().check(&text).map_err(|excess| too_large("a row of the server", excess))?;
    Ok(text)
}

/// Checks the sizes of events before any of them is written.
pub(crate) fn check_events(limits: SizeLimits, events: &[EventRow]) -> Result<(), StoreError> {
    events.iter().try_for_each(|event| {
        let checked = limits.of_record().check(event.text.as_str());
        checked.map_err(|excess| too_large("an event of the server", excess))
    })
}

/// Returns the column of `server_thread` by which threads are ordered.
pub(crate) fn column(by: Column) -> &'static str {
    match by {
        Column::Created | Column::Next => "created",
        Column::Updated => "updated",
        Column::StateUpdated => "state_updated",
        Column::Id | Column::Name => "name",
        Column::Status => "status",
        Column::Graph => "graph",
    }
}

/// The hash of an entry: the first half of a BLAKE3 hash of its name and value.
pub(crate) type Tag = [u8; 16];

/// Returns the hash of an entry, given the function that hashes texts.
pub(crate) fn tag_with(name: &str, value: &Value, digest: impl FnOnce(&str) -> blake3::Hash) -> Option<Tag> {
    if value.is_object() || value.is_array() {
        return None;
    }
    let digest = digest(&Value::from(vec![Value::from(name), value.clone()]).to_string());
    let mut tag = Tag::default();
    tag.copy_from_slice(&digest.as_bytes()[..16]);
    Some(tag)
}
