//! Why there is no answer.

use std::path::Path;

use superstep_checkpoint::maintenance::MaintenanceError;
use superstep_core::checkpoint::StoreError;

use super::screen::Exit;

/// One line for people, and the exit code that goes with it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) text: String,
    /// The verb that helps, and what it does.
    help: Option<(&'static str, String)>,
}

impl Failure {
    /// There is no such thing.
    pub(super) fn nothing(text: impl Into<String>) -> Self {
        Self { exit: Exit::No, text: text.into(), help: None }
    }

    /// It cannot be done.
    pub(super) fn unusable(text: impl Into<String>) -> Self {
        Self { exit: Exit::Unusable, text: text.into(), help: None }
    }

    /// The file is of an older format, and was to be written to.
    pub(super) fn older_format(path: &Path, found: u32, current: u32) -> Self {
        Self::unusable(format!("{} has format {found}, which is only read", path.display()))
            .with_help("migrate", format!("upgrades it to {current}"))
    }

    /// Tells of a verb that helps, and what it does. Each program says it with its own words.
    pub(super) fn with_help(self, verb: &'static str, does: impl Into<String>) -> Self {
        Self { help: Some((verb, does.into())), ..self }
    }

    /// The same of a run that has not even begun for it.
    pub(super) fn before_the_run(self) -> Self {
        Self { exit: Exit::Unusable, ..self }
    }

    /// What a program says that is called so.
    pub(super) fn told_by(&self, program: &str) -> String {
        match &self.help {
            Some((verb, does)) => format!("{}; `{program} {verb}` {does}", self.text),
            None => self.text.clone(),
        }
    }

    /// What is stored does not fit together.
    pub(super) fn damaged(error: impl std::fmt::Display) -> Self {
        Self::nothing(format!("what is stored is damaged: {error}"))
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
