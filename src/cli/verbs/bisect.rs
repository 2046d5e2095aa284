//! `bisect`: the first checkpoint of a branch where something holds.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::checkpoint::StepRecord;
use crate::inspect::{Bisection, Found, Path, Search, Walk, bisect};
use crate::state::SecretFields;

use crate::cli::answer::Answer;
use crate::cli::concealed::Concealed;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::lines::{Known, Short, nodes};
use crate::cli::page::{BAD, DIM, GOOD, NAME, Page, plain, span};
use crate::cli::predicate::Predicate;
use crate::cli::screen::Exit;
use crate::cli::secrets;
use crate::cli::shapes::Line;
use crate::cli::source::{Place, Source};

/// Find the first checkpoint of a branch where something holds
///
/// PRED is one of: exists, missing, = JSON, != JSON, < N, <= N, > N, >= N, ~ REGEX, !~ REGEX. A list is compared with a number by
/// its length. CMD is run by the shell and gets the state as JSON on its standard input; it holds if CMD ends with 0.
/// Exits with 1 if it holds nowhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples: superstep bisect essays.db rust --path facts --is '> 3'\n          \
                        superstep bisect essays.db rust --test 'grep -q Lisbon'")]
#[command(group(clap::ArgGroup::new("what").required(true).args(["test", "path"])))]
pub(crate) struct Bisect {
    #[command(flatten)]
    file: FileArgument,
    /// The thread, or the checkpoint that the branch ends with
    thread: String,
    /// The command that tells
    #[arg(long, value_name = "CMD")]
    test: Option<String>,
    /// The path in the state that is looked at
    #[arg(long, value_name = "P", requires = "is")]
    path: Option<String>,
    /// What must hold of it
    #[arg(long, value_name = "PRED", requires = "path")]
    is: Option<String>,
    /// Look at every state: right also if it holds, and then does not, and holds again
    #[arg(long)]
    linear: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Told {
    /// `first`, `always` (from the first checkpoint on), or `never`.
    found: &'static str,
    /// The first checkpoint where it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Line>,
    /// Whether it held somewhere and later not, as far as states were looked at.
    flips_back: bool,
    /// Whether every state was looked at.
    #[serde(skip)]
    linear: bool,
    /// How many states were looked at, of how many.
    evaluated: usize,
    checkpoints: usize,
}

/// What is to hold.
enum Test {
    Command(String),
    At(Path, Predicate),
}

impl Bisect {
    pub(crate) fn answer(&self) -> Result<Told, Failure> {
        let test = self.test()?;
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        let mut line = source.reader.history(&place.thread, &place.at(), usize::MAX)?;
        line.reverse();
        let secret = Concealed::fields_at(&source, &place)?;
        let bisection = match self.linear {
            true => one_by_one(&test, &source, &place, &secret)?,
            false => bisect(line.len(), Search::Halves, |at| {
                let place = Place { thread: place.thread.clone(), id: line[at].id };
                let loaded = source.load(&place)?;
                test.holds(&secrets::whole_state(&loaded)?, &secret)
            })?,
        };
        let Bisection { found, flips_back, evaluated } = bisection;
        let at = match found {
            Found::First(at) => Some(at),
            Found::Always => Some(0),
            Found::Never => None,
        };
        let first = at.map(|at| Place { thread: place.thread.clone(), id: line[at].id });
        let step: Vec<StepRecord> = match &first {
            Some(first) => source.reader.steps(&first.thread, &first.at(), 1)?,
            None => Vec::new(),
        };
        Ok(Told {
            found: match found {
                Found::First(_) => "first",
                Found::Always => "always",
                Found::Never => "never",
            },
            checkpoint: step.first().map(|step| Line::of_step(step, &Known::default())),
            flips_back,
            linear: self.linear,
            evaluated,
            checkpoints: line.len(),
        })
    }

    fn test(&self) -> Result<Test, Failure> {
        match (&self.test, &self.path, &self.is) {
            (Some(command), ..) => Ok(Test::Command(command.clone())),
            (None, Some(path), Some(predicate)) => Ok(Test::At(
                path.parse().map_err(|error| Failure::unusable(format!("{error}")))?,
                predicate.parse().map_err(Failure::unusable)?,
            )),
            _ => Err(Failure::unusable("say --test CMD, or --path P --is PRED")),
        }
    }
}

/// Looks at every state, each made from the one before.
fn one_by_one(
    test: &Test,
    source: &Source,
    place: &Place,
    secret: &SecretFields,
) -> Result<Bisection, Failure> {
    let steps = source.past(place)?;
    let Some(newest) = steps.first() else {
        return Err(Failure::nothing("the checkpoint has just been deleted"));
    };
    let mut walk = Walk::under(Arc::clone(&newest.schema));
    bisect(steps.len(), Search::Linear, |at| {
        walk.step(&steps[steps.len() - 1 - at]).map_err(Failure::damaged)?;
        test.holds(walk.state(), secret)
    })
}

impl Test {
    /// Whether it holds of a state, of which it sees what may be shown.
    fn holds(&self, state: &Value, secret: &SecretFields) -> Result<bool, Failure> {
        match self {
            Self::At(path, predicate) if secrets::leads_to_none(path, secret) => {
                Ok(predicate.holds(path.get(state)))
            }
            _ => {
                let mut shown = state.clone();
                secrets::hide(&mut shown, secret);
                match self {
                    Self::At(path, predicate) => Ok(predicate.holds(path.get(&shown))),
                    Self::Command(command) => succeeds(command, &shown),
                }
            }
        }
    }
}

/// Whether a command ends well that is given a state.
fn succeeds(command: &str, state: &Value) -> Result<bool, Failure> {
    let failed =
        |error: std::io::Error| Failure::unusable(format!("the command {command:?} failed: {error}"));
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(state.to_string().as_bytes()) {
            // It need not read all of it.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.map_err(failed)?,
        }
    }
    match child.wait().map_err(failed)?.code() {
        // The shell's own: it cannot run the command, or does not find it.
        None | Some(126 | 127) => Err(Failure::unusable(format!("the command {command:?} could not be run"))),
        code => Ok(code == Some(0)),
    }
}

impl Answer for Told {
    fn show(&self, page: &mut Page) {
        match (&self.checkpoint, self.found) {
            (None, _) => page.line([span(BAD, "it holds nowhere")]),
            (Some(line), found) => {
                let short = Short::among([line.id].into_iter());
                let words = if found == "always" { "it always holds, from " } else { "it first holds at " };
                page.line([span(GOOD, words), span(NAME, format!("{}@{}", line.thread, line.step))]);
                page.line([plain("  checkpoint "), short.span(line.id), plain(format!(" of {}", line.at))]);
                page.line([plain(format!("  ran {}", nodes(&line.ran)))]);
                page.line([plain(format!("  changed {}", line.changed.join(", ")))]);
            }
        }
        let (evaluated, all) = (self.evaluated, self.checkpoints);
        page.line([span(DIM, format!("{evaluated} of {all} states looked at"))]);
        if self.flips_back {
            let advice = if self.linear { "" } else { ": --linear finds where it holds first" };
            page.line([span(BAD, format!("it does not hold in some later state{advice}"))]);
        }
    }

    fn exit(&self) -> Exit {
        if self.checkpoint.is_some() { Exit::Fine } else { Exit::No }
    }
}
