//! Verbs that a program adds to a command line.

use std::error::Error;

use async_trait::async_trait;
use clap::{ArgMatches, Command};
use superstep_core::checkpoint::StoreError;

use super::failure::Failure;
use super::screen::{Exit, Screen};

/// A verb that is added to a command line. `On` is a [`CheckpointSource`](crate::CheckpointSource) for
/// [the program `superstep`](crate::main), and a list of the
/// [graphs](superstep_core::run::AnyGraph) for [a debugger](crate::Debugger::with).
///
/// Help and completions list it with the other verbs.
#[async_trait(?Send)]
pub trait Extension<On>: Send + Sync {
    /// Returns the name, the help and the options of the verb. The arguments for the file and for the output are added.
    fn command(&self) -> Command;

    /// Carries out the verb with its options, on a tokio runtime.
    ///
    /// # Errors
    /// The error is printed. The exit code is [`Exit::Unusable`], or [`Exit::No`] for a [`StoreError`] about damaged data.
    async fn run(
        &self,
        on: On,
        options: &ArgMatches,
        screen: Screen<'_>,
    ) -> Result<Exit, Box<dyn Error + Send + Sync>>;
}

impl From<Box<dyn Error + Send + Sync>> for Failure {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        match error.downcast::<StoreError>() {
            Ok(error) => (*error).into(),
            Err(other) => Self::of(other),
        }
    }
}
