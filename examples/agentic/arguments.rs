//! The command line.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use superstep::id::ThreadId;
use superstep::nodes::configuration::{Configuration, Origin};
use superstep::nodes::graphs::{AgenticSettings, Profile};
use superstep::nodes::{ModelName, UnknownModel};

use crate::command_line::{self, not_blank};

/// Answers questions from a folder of documents, and verifies each answer; offline, unless another model is named.
///
/// Exits with 3 if an answer is given that was not accepted.
#[derive(Debug, Parser)]
#[command(name = "agentic", subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// The questions, each a turn of the conversation.
    #[arg(required_unless_present_any = ["resume", "print_config"], value_parser = not_blank)]
    pub(crate) questions: Vec<String>,

    /// The folder of documents [default: this repository's own].
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// The file that keeps every step [default: superstep/agentic.db in your data folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// The conversation to continue; a new one without it.
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    thread: Option<String>,

    /// Continue a turn that a crash or Ctrl-C left; of a finished one, print the result again.
    #[arg(long, requires = "thread", conflicts_with = "questions")]
    pub(crate) resume: bool,

    /// The model: extractive, script:FILE, or one behind a network, such as anthropic:claude-sonnet-4-5, with its key in
    /// the environment [default: SUPERSTEP_MODEL, or extractive].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,

    /// The model that is asked if the first fails in a way that another try would not mend.
    #[arg(long, value_name = "NAME")]
    pub(crate) fallback: Option<ModelName>,

    /// The model that judges answers [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) judge: Option<ModelName>,

    /// Settings in a TOML file; those of .env and of the environment come over them.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Settings of a step of a rollout: development, canary or full.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<Profile>,

    /// Who asks: decides who is in a canary.
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    pub(crate) user: Option<String>,

    /// Print what is set and where, and ask nothing.
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Print which phases a turn went through.
    #[arg(long)]
    pub(crate) trace: bool,

    /// Show what the model says as it says it; so also on a terminal.
    #[arg(long)]
    pub(crate) stream: bool,

    /// Print one JSON object for each turn.
    #[arg(long)]
    pub(crate) json: bool,

    /// Serve metrics for Prometheus on this port of 127.0.0.1, until Ctrl-C; 0 for any port.
    #[arg(long, value_name = "PORT")]
    pub(crate) metrics: Option<u16>,

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
        if arguments.command.is_some() && (!arguments.questions.is_empty() || arguments.resume) {
            Self::command().error(ErrorKind::ArgumentConflict, "`debug` is not asked a question").exit();
        }
        arguments
    }

    pub(crate) fn docs(&self) -> PathBuf {
        self.docs.clone().unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")))
    }

    /// The file of checkpoints.
    pub(crate) fn db(&self) -> Result<PathBuf, Box<dyn Error>> {
        self.db.clone().map_or_else(|| command_line::data_file("agentic.db"), Ok)
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

    /// The command that continues an unfinished turn. What else was said it has to be told again, the environment's settings
    /// among it.
    pub(crate) fn to_resume(
        &self,
        thread: &ThreadId,
        db: &Path,
        settings: &Configuration<AgenticSettings>,
    ) -> String {
        let said = settings.values().filter(|(_, _, origin)| **origin == Origin::Environment);
        let variables = said.map(|(name, value, _)| (name, value));
        let options = [
            ("docs", self.docs.as_ref().map(|docs| docs.display().to_string())),
            ("model", self.named_model().ok().flatten().map(|model| model.to_string())),
            ("fallback", self.fallback.as_ref().map(ToString::to_string)),
            ("judge", self.judge.as_ref().map(ToString::to_string)),
            ("config", self.config.as_ref().map(|config| config.display().to_string())),
            ("profile", self.profile.as_ref().map(ToString::to_string)),
            ("user", self.user.clone()),
        ];
        command_line::to_resume("agentic", thread, db, variables, options)
    }
}
