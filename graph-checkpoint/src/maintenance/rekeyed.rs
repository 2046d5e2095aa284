//! The result of a change of keys.

use serde::Serialize;

/// The new form of a file's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Encrypted with the current key of the file's keys.
    Encrypted,
    /// Plain.
    Plain,
}

/// The result of a change of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rekeyed {
    /// The number of rows that were rewritten.
    pub rows: u64,
    /// The bytes that their texts take now.
    pub bytes: u64,
    /// The keys that the file no longer needs.
    pub retired: Vec<String>,
    /// The older keys that the file still needs, because programs write with them. Repeat the change when these
    /// programs have the new key.
    pub in_use: Vec<String>,
    /// `true` if the file was rewritten afterwards, so that it contains no older text. It is not rewritten while a
    /// program reads an older state of the file; call [`vacuum`](super::vacuum()) later.
    pub purged: bool,
}
