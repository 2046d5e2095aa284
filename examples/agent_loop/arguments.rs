//! The command line.

use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use superstep::id::ThreadId;
use superstep::nodes::graphs::DEFAULT_MAX_ITERATIONS;
use superstep_examples::answering::{Answering, not_blank};
use superstep_examples::halt::Mark;

use crate::EXAMPLE;

/// Answers a question from a folder of documents; offline, by quoting them, unless another model is named.
#[derive(Debug, Parser)]
#[command(name = "agent_loop", subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// The question. With --resume it is only asked if the thread has never run.
    #[arg(required_unless_present = "resume", value_parser = not_blank)]
    pub(crate) question: Option<String>,

    #[command(flatten)]
    pub(crate) answering: Answering,

    /// Resume an interrupted thread, or print the result of a finished one.
    #[arg(long, requires = "thread")]
    pub(crate) resume: bool,

    /// The most visits of the node `agent` for one question.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_ITERATIONS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: u32,

    /// Halt when a point is passed for the Nth time, for tests that kill or interrupt the process there.
    #[arg(long, value_name = "POINT:N", hide = true)]
    pub(crate) halt_at: Option<Mark>,
}

impl Arguments {
    /// Parses the arguments of the process; exits if they are wrong.
    pub(crate) fn of_process() -> Self {
        let arguments = Self::parse();
        if arguments.answering.command.is_some() && (arguments.question.is_some() || arguments.resume) {
            Self::command().error(ErrorKind::ArgumentConflict, "`debug` and `serve` take no question").exit();
        }
        arguments
    }

    /// Returns the command that continues an unfinished thread.
    pub(crate) fn to_resume(&self, thread: &ThreadId, db: &Path) -> String {
        self.answering.to_resume(EXAMPLE, thread, db, [], [])
    }
}
