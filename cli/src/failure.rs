//! The errors of the program.

use std::path::Path;

use superstep_checkpoint::maintenance::MaintenanceError;
use superstep_core::checkpoint::StoreError;

use super::screen::Exit;

/// A one-line error message, and its exit code.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) text: String,
    /// The verb that helps, and its effect.
    help: Option<(&'static str, String)>,
    special: Option<Special>,
}

/// A kind that the exit code does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Overtaken,
    Unforced,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Unusable,
    Overtaken,
    Unforced,
}

impl Failure {
    /// The requested item does not exist.
    pub(super) fn nothing(text: impl Into<String>) -> Self {
        Self { exit: Exit::No, text: text.into(), help: None, special: None }
    }

    /// The request cannot be carried out.
    pub(super) fn unusable(text: impl Into<String>) -> Self {
        Self { exit: Exit::Unusable, text: text.into(), help: None, special: None }
    }

    /// The request cannot be carried out, for this reason.
    pub(super) fn of(error: impl std::fmt::Display) -> Self {
        Self::unusable(error.to_string())
    }

    /// The file is of an older format and cannot be written to.
    pub(super) fn older_format(path: &Path, found: u32, current: u32) -> Self {
        Self::unusable(format!("{} has format {found}, which is only read", path.display()))
            .with_help("migrate", format!("upgrades it to {current}"))
    }

    /// Adds a verb that helps, and its effect. Each program prints it with its own name.
    pub(super) fn with_help(self, verb: &'static str, does: impl Into<String>) -> Self {
        Self { help: Some((verb, does.into())), ..self }
    }

    /// Another program changed a thread at the same moment: the request can be repeated.
    pub(super) fn overtaken(text: impl Into<String>) -> Self {
        Self { special: Some(Special::Overtaken), ..Self::unusable(text) }
    }

    /// The verb does this only with its option `--force`.
    pub(super) fn unforced(text: impl Into<String>) -> Self {
        Self { special: Some(Special::Unforced), ..Self::unusable(text) }
    }

    /// Returns the kind of the failure.
    pub(super) fn kind(&self) -> Kind {
        match (self.special, self.exit) {
            (Some(Special::Overtaken), _) => Kind::Overtaken,
            (Some(Special::Unforced), _) => Kind::Unforced,
            (None, Exit::No) => Kind::Nothing,
            (None, _) => Kind::Unusable,
        }
    }

    /// Returns the same failure with the exit code of a run that did not start.
    pub(super) fn before_the_run(self) -> Self {
        Self { exit: Exit::Unusable, ..self }
    }

    /// Returns the message as printed by a program of this name.
    pub(super) fn told_by(&self, program: &str) -> String {
        match &self.help {
            Some((verb, does)) => format!("{}; `{program} {verb}` {does}", self.text),
            None if self.kind() == Kind::Unforced => {
                format!("{}; add --force to do it all the same", self.text)
            }
            None => self.text.clone(),
        }
    }

    /// The stored data is inconsistent.
    pub(super) fn damaged(error: impl std::fmt::Display) -> Self {
        Self::nothing(format!("the stored data is damaged: {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt { .. } | StoreError::NoCheckpoint { .. } => Self::nothing(error.to_string()),
            StoreError::NewerFormat { .. } => Self::unusable(format!("{error}: use a newer version of it")),
            StoreError::Io(cause) => Self::unusable(cause.to_string()),
            other => Self::unusable(other.to_string()),
        }
    }
}

impl From<MaintenanceError> for Failure {
    fn from(error: MaintenanceError) -> Self {
        match error {
            MaintenanceError::Store(error) => error.into(),
            MaintenanceError::OlderFormat { path, found, current } => {
                Self::older_format(&path, found, current)
            }
            other => Self::unusable(other.to_string()),
        }
    }
}
