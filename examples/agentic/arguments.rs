//! The command line.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use superstep::id::ThreadId;
use superstep::nodes::ModelName;
use superstep::nodes::configuration::{Configuration, Origin};
use superstep::nodes::graphs::{AgenticSettings, Profile};
use superstep_examples::answering::{Answering, not_blank};

use crate::EXAMPLE;

/// Answers questions from a folder of documents, and verifies each answer; offline, unless another model is named.
///
/// Exits with 3 if an answer was refused, or could not be judged.
#[derive(Debug, Parser)]
#[command(name = "agentic", subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// The questions, each a turn of the conversation.
    #[arg(required_unless_present_any = ["resume", "print_config"], value_parser = not_blank)]
    pub(crate) questions: Vec<String>,

    #[command(flatten)]
    pub(crate) answering: Answering,

    /// Resume an interrupted turn, or print the result of a finished one.
    #[arg(long, requires = "thread", conflicts_with = "questions")]
    pub(crate) resume: bool,

    /// The model that is called if another one fails.
    #[arg(long, value_name = "NAME")]
    pub(crate) fallback: Option<ModelName>,

    /// The model that judges answers [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) judge: Option<ModelName>,

    /// A TOML file with settings; those of .env and of the environment override them.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Settings of a step of a rollout: development, canary or full.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<Profile>,

    /// The id of the user, which decides who is in a canary.
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    pub(crate) user: Option<String>,

    /// Print the settings and their sources, and ask nothing.
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Print the phases of each turn.
    #[arg(long)]
    pub(crate) trace: bool,

    /// Serve metrics for Prometheus on this port of 127.0.0.1, until Ctrl-C; 0 for any port.
    #[arg(long, value_name = "PORT")]
    pub(crate) metrics: Option<u16>,
}

impl Arguments {
    /// Parses the arguments of the process; exits if they are wrong.
    pub(crate) fn of_process() -> Self {
        let arguments = Self::parse();
        if arguments.answering.command.is_some() && (!arguments.questions.is_empty() || arguments.resume) {
            Self::command().error(ErrorKind::ArgumentConflict, "`debug` and `serve` take no question").exit();
        }
        arguments
    }

    /// Returns the command that continues an unfinished turn, with the other options and the settings from the
    /// environment.
    pub(crate) fn to_resume(
        &self,
        thread: &ThreadId,
        db: &Path,
        settings: &Configuration<AgenticSettings>,
    ) -> String {
        let said = settings.values().filter(|(_, _, origin)| **origin == Origin::Environment);
        let variables = said.map(|(name, value, _)| (name, value));
        let options = [
            ("fallback", self.fallback.as_ref().map(ToString::to_string)),
            ("judge", self.judge.as_ref().map(ToString::to_string)),
            ("config", self.config.as_ref().map(|config| config.display().to_string())),
            ("profile", self.profile.as_ref().map(ToString::to_string)),
            ("user", self.user.clone()),
        ];
        self.answering.to_resume(EXAMPLE, thread, db, variables, options)
    }
}
