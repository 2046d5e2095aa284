//! The errors of settings.

use std::path::PathBuf;

use super::Origin;

/// An error in settings. No setting has been applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// A value is not one that the setting may have; for a default, because of the other settings.
    #[error("{key} is `{value}` {}; say {allowed}", standing(origin))]
    Value {
        /// The setting.
        key: String,
        /// The refused value.
        value: String,
        /// The source of the value.
        origin: Origin,
        /// A description of the allowed values.
        allowed: String,
    },
    /// A file sets something that cannot be set.
    #[error("`{key}` in {origin} is not a setting; the settings are {known}")]
    Unknown {
        /// The name in the file.
        key: String,
        /// The file.
        origin: Origin,
        /// The names of the settings.
        known: String,
    },
    /// A file cannot be read.
    #[error("the settings in {} cannot be read: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

/// Describes where a refused value is set. A default is set nowhere: the text says that the setting has to be set, too,
/// as another setting made the default invalid.
fn standing(origin: &Origin) -> String {
    match origin {
        Origin::Default => "by default, and has to be set, too".to_owned(),
        origin => format!("in {origin}"),
    }
}
