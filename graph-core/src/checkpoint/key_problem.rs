//! The reasons why keys do not open a file.

use alloc::string::String;

/// The reason why a file cannot be used with the given keys, or without keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The file is encrypted, and no keys were given.
    #[error("is encrypted with the key {key}: open it with its keys")]
    NoKeys {
        /// The id of a key with which it is encrypted.
        key: String,
    },
    /// Keys were given, but the file is not encrypted.
    #[error("is not encrypted: open it without keys, or encrypt it first")]
    NotEncrypted,
    /// The given key differs from the key with the same id with which the file was encrypted.
    #[error("was encrypted with a different key named {key}: give that key")]
    WrongKey {
        /// The id of the key.
        key: String,
    },
    /// The given keys lack one with which the file is encrypted.
    #[error("needs the key {key}: {reason}")]
    Lacking {
        /// The id of the key.
        key: String,
        /// The reason that the key provider gave.
        reason: String,
    },
    /// Encrypting or decrypting the whole file was interrupted.
    #[error("is only partly encrypted: run the interrupted command again, or reverse it, with the keys")]
    Interrupted,
    /// The file is encrypted and contains, or is about to contain, a store, which cannot be encrypted.
    #[error("cannot be encrypted and contain a store: keep the store in another file")]
    Store,
    /// The program was built without the feature that reads encrypted files.
    #[error("is encrypted, and this program was built without the feature `encryption`")]
    NotBuiltIn,
}
