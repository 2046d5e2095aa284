//! Arguments and tools of the examples that answer from a folder of documents.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use etcetera::BaseStrategy;
use superstep::id::ThreadId;
use superstep::nodes::docs::{DocIndex, FileKinds, IndexOptions, IndexReport, SearchDocs};
use superstep::nodes::model::ChatModel;
use superstep::nodes::tool::ToolRegistry;
use superstep::nodes::{ModelName, UnknownModel};
use superstep::prelude::{CancellationToken, RunError};
use superstep::run::ToAnyGraph;

use crate::command_line::is_broken_pipe;
use crate::model::{PROVIDERS, is_behind_a_network};
use crate::{Example, model, repository};

/// The arguments that they share.
#[derive(Debug, Args)]
pub struct Answering {
    /// The folder of documents [default: this repository's docs/ and README].
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// The file that keeps every step [default: one of this example, under superstep in your data folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// The conversation to continue [default: a new one].
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    thread: Option<String>,

    /// The model: extractive, script:FILE, or one behind a network, such as anthropic:claude-sonnet-4-5, with its key
    /// in the environment [default: SUPERSTEP_MODEL, or extractive].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,

    /// Print the model's reply while it arrives; the default on a terminal.
    #[arg(long)]
    pub stream: bool,

    /// Print one JSON object for each answer.
    #[arg(long)]
    pub json: bool,

    /// The debugger, or the server.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command other than a question.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look into the file, and run, replay and answer its threads; `debug --help` lists the verbs.
    #[command(disable_help_flag = true)]
    Debug {
        /// The verb and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "VERB ..")]
        arguments: Vec<OsString>,
    },
    /// Serve the graph to clients of LangGraph's API; `serve --help` lists the options.
    #[command(disable_help_flag = true)]
    Serve {
        /// The options.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION ..")]
        arguments: Vec<OsString>,
    },
}

impl Command {
    /// Runs the command for a graph.
    pub async fn run(self, graph: &dyn ToAnyGraph) -> ExitCode {
        match self {
            Self::Debug { arguments } => superstep::debugger(&[graph]).run(arguments).await,
            Self::Serve { arguments } => superstep::serve(&[graph]).run(arguments).await,
        }
    }
}

impl Answering {
    /// Makes the tool that searches the documents.
    ///
    /// # Errors
    /// If the folder cannot be read or has no documents.
    pub fn tools(&self) -> Result<ToolRegistry, Box<dyn Error>> {
        let (folder, kinds) = match &self.docs {
            Some(folder) => (folder.clone(), FileKinds::Documents),
            None => (repository().to_owned(), FileKinds::ProjectDocumentation),
        };
        let index = DocIndex::build(&folder, &IndexOptions::default().with_files(kinds))?;
        name_unread(index.report());
        if index.report().passages == 0 {
            return Err(format!("{} holds no Markdown or text to search", folder.display()).into());
        }
        Ok(ToolRegistry::new().with(SearchDocs::new(index.into()))?)
    }

    /// Returns the file of checkpoints: the one in the arguments, or the default one in the user's data folder.
    ///
    /// # Errors
    /// If there is no such folder, and it cannot be created.
    pub fn db(&self, default: &str) -> Result<PathBuf, Box<dyn Error>> {
        if let Some(db) = &self.db {
            return Ok(db.clone());
        }
        let folder = etcetera::choose_base_strategy()?.data_dir().join("superstep");
        std::fs::create_dir_all(&folder)?;
        Ok(folder.join(default))
    }

    /// Opens the model in the arguments, or else in the environment.
    ///
    /// # Errors
    /// When the name is unknown, or the model cannot be made.
    pub fn model(&self, example: Example) -> Result<Arc<dyn ChatModel>, Box<dyn Error>> {
        model::open(&self.named_model()?.unwrap_or_default(), example)
    }

    fn named_model(&self) -> Result<Option<ModelName>, UnknownModel> {
        model::chosen(self.model.as_ref())
    }

    /// Returns the thread in the arguments, or a new one.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        match &self.thread {
            Some(thread) => thread.as_str().into(),
            None => uuid::Uuid::now_v7().to_string().into(),
        }
    }

    /// Returns the command that continues an unfinished thread of an example, with these environment variables, and
    /// with the options that have a value.
    pub fn to_resume(
        &self,
        example: Example,
        thread: &ThreadId,
        db: &Path,
        variables: impl IntoIterator<Item = (&'static str, String)>,
        options: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> String {
        let model = self.named_model().ok().flatten();
        let more: &[&str] = if model.as_ref().is_some_and(is_behind_a_network) { &[PROVIDERS] } else { &[] };
        let own = [
            ("docs", self.docs.as_ref().map(|docs| docs.display().to_string())),
            ("model", model.map(|model| model.to_string())),
        ];
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
        let mut command: String = variables.collect();
        command.push_str(&format!(
            "{} --resume --thread {} --db {}",
            example.command(more),
            quoted(thread),
            quoted(db.display())
        ));
        for (name, value) in own.into_iter().chain(options) {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {}", quoted(value)));
            }
        }
        if self.json { command + " --json" } else { command }
    }
}

/// Prints, after an error, the thread with the finished work and the command that continues it; prints nothing if there
/// is nothing to continue.
#[expect(clippy::print_stderr, reason = "a command-line program says there how to continue")]
pub fn say_how_to_continue(error: &(dyn Error + 'static), thread: &ThreadId, command: &str) {
    let never_ran = matches!(error.downcast_ref(), Some(RunError::NothingToResume { .. }));
    if !never_ran && !is_broken_pipe(error) {
        eprintln!("failed in thread {thread}; nothing that was finished is lost");
        eprintln!("continue: {command}");
    }
}

/// The maximum number of unread files to name.
const MOST_NAMED: usize = 10;

/// Names the documents that could not be read, with the reasons: an answer may be missing because of them.
#[expect(clippy::print_stderr, reason = "a command-line program says there what it left out")]
fn name_unread(report: &IndexReport) {
    for skipped in report.unread().take(MOST_NAMED) {
        eprintln!("not searched: {skipped}");
    }
    let more = report.unread().skip(MOST_NAMED).count();
    if more > 0 {
        eprintln!("not searched: {more} more");
    }
}

/// Rejects a text that is blank.
///
/// # Errors
/// If the text is blank.
pub fn not_blank(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is blank") } else { Ok(text.to_owned()) }
}

/// Quotes a word for a shell.
fn quoted(word: impl Display) -> String {
    format!("'{}'", word.to_string().replace('\'', r"'\''"))
}

/// Returns a token that Ctrl-C cancels, from now on; `then` is called when it does.
pub fn interrupt(then: impl FnOnce() + Send + 'static) -> CancellationToken {
    let interrupt = CancellationToken::new();
    let interrupted = interrupt.clone();
    let mut signal = Box::pin(tokio::signal::ctrl_c());
    // Polled once, so that Ctrl-C is handled before anything runs.
    if futures_util::FutureExt::now_or_never(&mut signal).is_some() {
        interrupt.cancel();
        return interrupt;
    }
    tokio::spawn(async move {
        if signal.await.is_ok() {
            interrupted.cancel();
            then();
        }
    });
    interrupt
}
