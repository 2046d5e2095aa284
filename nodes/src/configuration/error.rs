//! Why settings cannot be used.

use std::path::PathBuf;

use super::Origin;

/// Why settings cannot be used. Nothing was done with them yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// A value is none that the setting may have; that of a default, because of what else is set.
    #[error("{key} is `{value}` {}; say {allowed}", standing(origin))]
    Value {
        /// The setting.
        key: String,
        /// What it is.
        value: String,
        /// Where that is said.
        origin: Origin,
        /// What it may be.
        allowed: String,
    },
    /// A file sets something that cannot be set.
    #[error("`{key}` in {origin} is no setting; there are {known}")]
    Unknown {
        /// What it sets.
        key: String,
        /// The file.
        origin: Origin,
        /// What can be set.
        known: String,
    },
    /// A file cannot be read.
    #[error("the settings in {} cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// Where a refused value stands. Nobody has said a default: whoever reads of it has to be told that something else was said.
fn standing(origin: &Origin) -> String {
    match origin {
        Origin::Default => "by default, and has to be set, too".to_owned(),
        origin => format!("in {origin}"),
    }
}
