//! What the examples have in common that answer from a folder of documents.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use etcetera::BaseStrategy;
use superstep::id::ThreadId;
use superstep::nodes::docs::{DocIndex, FileKinds, IndexOptions, IndexReport, SearchDocs};
use superstep::nodes::tool::ToolRegistry;
use superstep::nodes::{ModelName, UnknownModel};
use superstep::prelude::{CancellationToken, RunError};

use crate::terminal::nobody_reads;

/// What they are told alike.
#[derive(Debug, Args)]
pub(crate) struct Answering {
    /// The folder of documents [default: this repository's docs/ and README].
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// The file that keeps every step [default: one of this example, under superstep in your data folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,

    /// The conversation to continue; a new one without it.
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    thread: Option<String>,

    /// The model: extractive, script:FILE, or one behind a network, such as anthropic:claude-sonnet-4-5, with its key in
    /// the environment [default: SUPERSTEP_MODEL, or extractive].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,

    /// Show what the model says as it says it; so also on a terminal.
    #[arg(long)]
    pub(crate) stream: bool,

    /// Print one JSON object for each answer.
    #[arg(long)]
    pub(crate) json: bool,

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

impl Answering {
    /// The tool that searches the documents.
    pub(crate) fn tools(&self) -> Result<ToolRegistry, Box<dyn Error>> {
        let (folder, kinds) = match &self.docs {
            Some(folder) => (folder.clone(), FileKinds::Documents),
            None => (PathBuf::from(env!("CARGO_MANIFEST_DIR")), FileKinds::ProjectDocumentation),
        };
        let index = DocIndex::build(&folder, &IndexOptions::default().with_files(kinds))?;
        name_unread(index.report());
        if index.report().passages == 0 {
            return Err(format!("{} holds no Markdown or text to search", folder.display()).into());
        }
        Ok(ToolRegistry::new().with(SearchDocs::new(index.into()))?)
    }

    /// The file of checkpoints: the one that is named, or that of this name in the user's data folder.
    pub(crate) fn db(&self, default: &str) -> Result<PathBuf, Box<dyn Error>> {
        if let Some(db) = &self.db {
            return Ok(db.clone());
        }
        let folder = etcetera::choose_base_strategy()?.data_dir().join("superstep");
        std::fs::create_dir_all(&folder)?;
        Ok(folder.join(default))
    }

    /// The model that is named here, or else by the environment.
    pub(crate) fn model(&self) -> Result<ModelName, UnknownModel> {
        Ok(self.named_model()?.unwrap_or_default())
    }

    fn named_model(&self) -> Result<Option<ModelName>, UnknownModel> {
        crate::model::chosen(self.model.as_ref())
    }

    /// The thread that is named, or a new one.
    pub(crate) fn thread(&self) -> ThreadId {
        match &self.thread {
            Some(thread) => thread.as_str().into(),
            None => uuid::Uuid::now_v7().to_string().into(),
        }
    }

    /// The command that continues an unfinished thread of an example, with these variables of the environment, and with those
    /// options that have a value.
    pub(crate) fn to_resume(
        &self,
        example: &str,
        thread: &ThreadId,
        db: &Path,
        variables: impl IntoIterator<Item = (&'static str, String)>,
        options: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> String {
        let model = self.named_model().ok().flatten();
        let own = [
            ("docs", self.docs.as_ref().map(|docs| docs.display().to_string())),
            ("model", model.map(|model| model.to_string())),
        ];
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
        let mut command: String = variables.collect();
        command.push_str(&format!(
            "cargo run --release --example {example} -- --resume --thread {} --db {}",
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

/// Says after an error which thread has what was finished, and how the turn is continued; nothing where there is nothing to continue.
pub(crate) fn say_how_to_continue(error: &(dyn Error + 'static), thread: &ThreadId, command: &str) {
    let never_ran = matches!(error.downcast_ref(), Some(RunError::NothingToResume { .. }));
    if !never_ran && !nobody_reads(error) {
        eprintln!("failed in thread {thread}; nothing that was finished is lost");
        eprintln!("continue: {command}");
    }
}

/// The number of unread files that are named.
const MOST_NAMED: usize = 10;

/// Names the documents that could not be read, and why: an answer may be missing because of them.
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

/// Refuses a text of nothing but white space.
pub(crate) fn not_blank(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is blank") } else { Ok(text.to_owned()) }
}

/// Quotes a word for a shell.
fn quoted(word: impl Display) -> String {
    format!("'{}'", word.to_string().replace('\'', r"'\''"))
}

/// Is cancelled by Ctrl-C, from now on; `then` is called when it is.
pub(crate) fn interrupt(then: impl FnOnce() + Send + 'static) -> CancellationToken {
    let interrupt = CancellationToken::new();
    let interrupted = interrupt.clone();
    let mut signal = Box::pin(tokio::signal::ctrl_c());
    // Polled once, so that Ctrl-C is listened to before anything runs.
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
