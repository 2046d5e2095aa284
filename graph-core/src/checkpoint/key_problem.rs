//! Why keys do not open a file.

use alloc::string::String;

/// Why a file cannot be used with the keys that were given for it, or with none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The file is encrypted, and no keys were given.
    #[error("is encrypted with the key {key}: open it with its keys")]
    NoKeys {
        /// The id of a key that it is encrypted with.
        key: String,
    },
    /// Keys were given, and the file is not encrypted.
    #[error("is not encrypted: open it without keys, or encrypt it first")]
    NotEncrypted,
    /// The key that was given is another one than that of the same id with which the file was encrypted.
    #[error("was encrypted with another key {key} than the one given: give the one it was encrypted with")]
    WrongKey {
        /// The id of the key.
        key: String,
    },
    /// The keys that were given lack one that the file is encrypted with.
    #[error("needs the key {key}, which is not there: {reason}")]
    Lacking {
        /// The id of the key.
        key: String,
        /// The reason that the key's keeper gave.
        reason: String,
    },
    /// The file was being encrypted or decrypted as a whole, and that was interrupted.
    #[error(
        "is encrypted in part only: do again what was interrupted, it goes on from there; or undo it, with the keys"
    )]
    Interrupted,
    /// The file is encrypted, and has or is to have what cannot be.
    #[error("cannot be both encrypted and have a store: keep the store in a file of its own")]
    Store,
    /// The program was built without what reads encrypted files.
    #[error("is encrypted, and this program was built without the feature `encryption`")]
    NotBuiltIn,
}
