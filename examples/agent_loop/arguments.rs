//! The command line.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use superstep::id::ThreadId;
use superstep::nodes::graphs::DEFAULT_MAX_ITERATIONS;
use superstep::nodes::{ModelName, UnknownModel};

use crate::command_line::{self, not_blank};

/// Answers a question from a folder of documents; offline, by quoting them, unless another model is named.
#[derive(Debug, Parser)]
#[command(name = "agent_loop", subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// The question. With --resume only asked on a thread that never ran.
    #[arg(required_unless_present = "resume", value_parser = not_blank)]
    pub(crate) question: Option<String>,

    /// The folder of documents [default: this repository's own].
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// The file that keeps every step [default: superstep/agent_loop.db in your data folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// The conversation to continue; a new one without it.
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    thread: Option<String>,

    /// Continue a thread that a crash or Ctrl-C left; of a finished one, print the result again.
    #[arg(long, requires = "thread")]
    pub(crate) resume: bool,

    /// The model: extractive, script:FILE, or one behind a network, such as anthropic:claude-sonnet-4-5, with its key in
    /// the environment [default: SUPERSTEP_MODEL, or extractive].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,

    /// Show what the model says as it says it; so also on a terminal.
    #[arg(long)]
    pub(crate) stream: bool,

    /// How often the agent may be visited for one question.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_ITERATIONS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: u32,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Stand still at the Nth time a point is passed, for tests that kill or interrupt the process there.
    #[arg(long, value_name = "POINT:N", hide = true)]
    pub(crate) halt_at: Option<crate::halt::Mark>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look into the file, and run, replay and answer its threads. `debug --help` lists the verbs.
    #[command(disable_help_flag = true)]
    Debug {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "VERB ..")]
        arguments: Vec<OsString>,
    },
}

impl Arguments {
    /// Those of the process; with wrong ones it ends here.
    pub(crate) fn of_process() -> Self {
        let arguments = Self::parse();
        if arguments.command.is_some() && (arguments.question.is_some() || arguments.resume) {
            Self::command().error(ErrorKind::ArgumentConflict, "`debug` is not asked a question").exit();
        }
        arguments
    }

    pub(crate) fn docs(&self) -> PathBuf {
        self.docs.clone().unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
    }

    /// The file of checkpoints.
    pub(crate) fn db(&self) -> Result<PathBuf, Box<dyn Error>> {
        self.db.clone().map_or_else(|| command_line::data_file("agent_loop.db"), Ok)
    }

    /// The model that is named here, or else by the environment.
    pub(crate) fn model(&self) -> Result<ModelName, UnknownModel> {
        Ok(self.named_model()?.unwrap_or_default())
    }

    fn named_model(&self) -> Result<Option<ModelName>, UnknownModel> {
        crate::model::chosen(self.model.as_ref())
    }

    pub(crate) fn thread(&self) -> ThreadId {
        command_line::thread(self.thread.as_ref())
    }

    /// The command that continues an unfinished thread.
    pub(crate) fn to_resume(&self, thread: &ThreadId, db: &Path) -> String {
        let options = [
            ("docs", self.docs.as_ref().map(|docs| docs.display().to_string())),
            ("model", self.named_model().ok().flatten().map(|model| model.to_string())),
        ];
        let command = command_line::to_resume("agent_loop", thread, db, [], options);
        if self.json { command + " --json" } else { command }
    }
}
