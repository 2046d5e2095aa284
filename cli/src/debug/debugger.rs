//! The one call that adds a debugger to a program.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::process::ExitCode;

use superstep_checkpoint::SqliteSaver;

use crate::extension::Extension;
use crate::program::{here, lost, said};
use crate::screen::{Exit, Screen};

use super::arguments;
use super::progress::Progress;
use super::session::{Session, quoted};
use superstep_core::run::{AnyGraph, ToAnyGraph};

/// Makes a debugger for these graphs and flows. It has every verb of the program `superstep`, and those that need the
/// graphs' code: `run`, `resume`, `answer`, `replay`, `rerun` and `tail`. `migrate --check` loads all threads with the
/// graphs' types.
///
/// The verbs read the file of the graphs' own saver, unless `--file` names another one. The graph of a thread is found
/// by the name that is stored with it.
///
/// ```no_run
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Default)]
/// # struct Essay { draft: String }
/// # fn essays() -> StateGraph<Essay> { StateGraph::new("essays") }
/// #[tokio::main]
/// async fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
///     let essays = essays().compile()?.checkpointer(SqliteSaver::open("essays.db").await?);
///
///     // `essays debug log rust`, `essays debug replay rust`, `essays debug --help`
///     if let Some(exit) = superstep::debugger(&[&essays]).subcommand("debug").await {
///         return Ok(exit);
///     }
///     // what the program does otherwise
/// #   Ok(std::process::ExitCode::SUCCESS)
/// }
/// ```
///
/// A program that is only a debugger calls [`main`](Debugger::main). A program that parses its own arguments passes
/// those after its subcommand to [`run`](Debugger::run). [docs/cli.md](https://github.com/superstep-rs/superstep/blob/main/docs/cli.md) describes the verbs.
pub fn debugger(graphs: &[&dyn ToAnyGraph]) -> Debugger {
    let graphs = graphs.iter().map(|graph| graph.to_any_graph()).collect();
    Debugger { graphs, added: Vec::new(), behind: None, program: None }
}

/// The debugger of a program. Made by [`debugger`].
#[must_use = "it does nothing until it is given arguments"]
pub struct Debugger {
    graphs: Vec<AnyGraph>,
    added: Vec<Box<dyn Extension<Vec<AnyGraph>>>>,
    behind: Option<SqliteSaver>,
    program: Option<String>,
}

impl Debugger {
    /// Sets the command name for the help and for printed commands: the words before the verb, as typed in a shell. The
    /// default is the words that the process was started with.
    pub fn called(self, program: impl Into<String>) -> Self {
        Self { program: Some(program.into()), ..self }
    }

    /// Sets the inner saver of the graphs, for graphs whose savers are [around](superstep_core::checkpoint::Around) a
    /// [`SqliteSaver`]: the verbs read its file.
    pub fn behind(self, saver: SqliteSaver) -> Self {
        Self { behind: Some(saver), ..self }
    }

    /// Adds a verb that works on the graphs.
    pub fn with(mut self, verb: impl Extension<Vec<AnyGraph>> + 'static) -> Self {
        self.added.push(Box::new(verb));
        self
    }

    /// Runs with the arguments and the terminal of the process. For a program whose only purpose is debugging.
    pub async fn main(self) -> ExitCode {
        self.run(std::env::args_os().skip(1)).await
    }

    /// Runs with the arguments of the process if the first of them is `name`; returns `None` otherwise.
    pub async fn subcommand(self, name: &str) -> Option<ExitCode> {
        let mut arguments = std::env::args_os().skip(1);
        match arguments.next()? == *name {
            true => Some(self.run(arguments).await),
            false => None,
        }
    }

    /// Runs with these arguments, the first of which is a verb, on the terminal of the process.
    ///
    /// A program that parses its arguments with `clap` declares them like this:
    ///
    /// ```
    /// # use clap::{Parser, Subcommand};
    /// # #[derive(Parser)] struct Arguments { #[command(subcommand)] command: Command }
    /// #[derive(Subcommand)]
    /// enum Command {
    ///     /// Look into the threads of this program
    ///     #[command(disable_help_flag = true)]
    ///     Debug {
    ///         #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    ///         arguments: Vec<std::ffi::OsString>,
    ///     },
    /// }
    /// # let Command::Debug { arguments } = Arguments::parse_from(["essays", "debug", "log", "rust", "--help"]).command;
    /// # assert_eq!(arguments.len(), 3);
    /// ```
    pub async fn run<A: Into<OsString> + Clone>(self, arguments: impl IntoIterator<Item = A>) -> ExitCode {
        // Not locked: nodes may print.
        let (mut out, mut err) = (io::stdout(), io::stderr());
        let screen = Screen { look: here(&out), out: &mut out, err: &mut err };
        ExitCode::from(self.run_on(arguments, screen).await as u8)
    }

    /// Runs like [`run`](Self::run), on a screen of the caller's.
    pub async fn run_on<A: Into<OsString> + Clone>(
        self,
        arguments: impl IntoIterator<Item = A>,
        screen: Screen<'_>,
    ) -> Exit {
        let Screen { out, err, look } = screen;
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let program = self.program.unwrap_or_else(|| words_before(&arguments));
        let session = Session { graphs: self.graphs, added: self.added, behind: self.behind, program };
        let mut progress = Progress::new(&mut *out, look);
        let told = arguments::carry_out(&session, arguments, &mut progress, err).await;
        match progress.lost.take() {
            Some(error) if told.is_ok() => lost(&error, err),
            _ => said(told, Screen { out, err, look }),
        }
    }
}

/// Returns the words of the process's command line before these arguments; only its path if the command line does not
/// end with them.
fn words_before(arguments: &[OsString]) -> String {
    let words: Vec<OsString> = std::env::args_os().collect();
    let before = words.strip_suffix(arguments).filter(|before| !before.is_empty());
    let before = before.unwrap_or(words.get(..1).unwrap_or_default());
    let before: Vec<String> = before.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    before.join(" ")
}

impl fmt::Debug for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graphs = self.graphs.iter().map(|graph| graph.name().as_str());
        f.debug_set().entries(graphs).finish()
    }
}
