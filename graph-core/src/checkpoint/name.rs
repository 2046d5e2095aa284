//! Names that people give to checkpoints.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::store_error::StoreError;
use crate::id::{CheckpointId, ThreadId};

/// The maximum length of a name, in bytes.
const LONGEST: usize = 100;

/// A name that a user gives to a checkpoint of a thread: `before-release`.
///
/// On the command line it follows the thread, as in `essay@before-release`. Therefore it contains no `@` and no
/// `~`, and is not a number, which would be a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckpointName(Arc<str>);

/// The error of a text that cannot be a checkpoint's name. Choose another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid checkpoint name: a name has 1 to 100 bytes, no @, no ~, no control character and no space around \
     it, and is no number"
)]
pub struct InvalidName(pub String);

impl CheckpointName {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CheckpointName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_sound = (1..=LONGEST).contains(&text.len())
            && text.trim() == text
            && !text.contains(|letter: char| matches!(letter, '@' | '~') || letter.is_control())
            && text.parse::<i64>().is_err();
        if is_sound { Ok(Self(text.into())) } else { Err(InvalidName(text.into())) }
    }
}

impl TryFrom<String> for CheckpointName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<CheckpointName> for String {
    fn from(name: CheckpointName) -> Self {
        name.as_str().into()
    }
}

impl fmt::Display for CheckpointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CheckpointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A checkpoint with the thread's name for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCheckpoint {
    /// The name.
    pub name: CheckpointName,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// A change of a thread's names for checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Gives a checkpoint a name, in addition to its other names.
    Give {
        /// The name.
        name: CheckpointName,
        /// The checkpoint: one of the thread, or of its shared past.
        checkpoint: CheckpointId,
    },
    /// Renames a checkpoint.
    Rename {
        /// The old name.
        from: CheckpointName,
        /// The new name.
        to: CheckpointName,
    },
    /// Removes a name. The checkpoint stays.
    Remove {
        /// The name.
        name: CheckpointName,
    },
}

impl StoreError {
    /// Returns the error for a name that no checkpoint of the thread has.
    #[must_use]
    pub fn no_name(thread: &ThreadId, name: &CheckpointName) -> Self {
        Self::NoCheckpoint { thread: thread.clone(), checkpoint: alloc::format!("named {name}") }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_name_is_what_the_command_line_can_say() {
        for sound in ["before-release", "v1.2", "vor dem Umzug", "ü", "x1"] {
            assert_eq!(sound.parse::<CheckpointName>().unwrap().to_string(), sound);
        }
        let long = "x".repeat(101);
        for wrong in ["", " a", "a ", "a@b", "a~1", "a\nb", "\u{1f}", "3", "-1", &long] {
            assert_eq!(wrong.parse::<CheckpointName>(), Err(InvalidName(wrong.into())));
        }
    }

    #[test]
    fn what_is_no_name_is_not_read_as_one() {
        assert!(serde_json::from_str::<CheckpointName>("\"a@b\"").is_err());
        let name: CheckpointName = serde_json::from_str("\"a\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"a\"");
    }
}
