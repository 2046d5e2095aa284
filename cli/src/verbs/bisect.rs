//! `bisect`: finds the first checkpoint of a branch where a test holds.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use superstep_core::checkpoint::StepRecord;
use superstep_core::state::SecretFields;
use superstep_inspect::{Bisection, FirstState, Path, Search, Walk, bisect};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Line;
use crate::lines::{Known, Short, nodes};
use crate::page::{BAD, DIM, GOOD, NAME, Page, plain, span};
use crate::predicate::{Predicate, Unfit};
use crate::redaction::Redaction;
use crate::screen::{Answer, Exit};
use crate::secret_fields;
use crate::source::{CheckpointRef, Source};

/// Find the first checkpoint of a branch where a condition holds
///
/// PRED is one of: exists, missing, = JSON, != JSON, < N, <= N, > N, >= N, ~ REGEX, !~ REGEX. A list or map is compared
/// with a number by its number of items; a text is compared with a text in double quotes. CMD is run by the shell and
/// gets the state as JSON on its standard input; the condition holds if CMD exits with 0. Exits with 1 if the condition
/// holds nowhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples: superstep bisect essays.db rust --path facts --is '> 3'\n          \
                        superstep bisect essays.db rust --test 'grep -q Lisbon'")]
#[command(group(clap::ArgGroup::new("what").required(true).args(["test", "path"])))]
pub(crate) struct Bisect {
    #[command(flatten)]
    file: FileArgument,
    /// The thread, or the last checkpoint of the branch
    thread: String,
    /// The command that tests a state
    #[arg(long, value_name = "CMD")]
    test: Option<String>,
    /// The path of the value to test
    #[arg(long, value_name = "P", requires = "is")]
    path: Option<String>,
    /// The predicate for the value
    #[arg(long, value_name = "PRED", requires = "path")]
    is: Option<String>,
    /// Check every state, as a path does in up to 1,000 of them; otherwise only some are checked, which may not find where a
    /// condition that holds, fails and holds again holds first
    #[arg(long)]
    linear: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    /// `first`, `always` (from the first checkpoint on), or `never`.
    found: &'static str,
    /// The first checkpoint where it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Line>,
    /// `true` if the test held for a state and failed for a later one, among the evaluated states.
    flips_back: bool,
    /// `true` if every state was evaluated.
    #[serde(skip)]
    linear: bool,
    /// The number of evaluated states.
    evaluated: usize,
    checkpoints: usize,
}

/// The number of states up to which a value is checked in all of them: reading each from the one before takes less time than
/// a person notices, and the result is right whether or not the condition flips back.
const FEW: usize = 1_000;

/// The condition to look for.
enum Test {
    Command(String),
    At(Path, Predicate),
}

/// A test, the secret fields that it must not see, and its findings so far.
struct Looking<'t> {
    test: &'t Test,
    secret: SecretFields,
    /// The fields of the newest state.
    fields: Vec<String>,
    /// `true` once a state had a value at the path.
    found: bool,
    /// The type of a value to which equality cannot apply, if one was found.
    unfit: Option<Unfit>,
    /// `true` once an equality was applicable to a value.
    fits: bool,
}

impl Bisect {
    pub(crate) fn answer(&self) -> Result<Output, Failure> {
        let test = self.test()?;
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        let mut line = source.reader.history(&place.thread, &place.at(), usize::MAX)?;
        line.reverse();
        let secret = Redaction::fields_at(&source, &place)?;
        let mut looking = Looking::through(&test, secret);
        let linear = self.linear || line.len() <= FEW && matches!(test, Test::At(..));
        let bisection = match linear {
            true => one_by_one(&mut looking, &source, &place)?,
            false => bisect(line.len(), Search::Halves, |at| {
                let place = source.in_past(&place, line[at].id, &line[at].thread)?;
                let loaded = source.load(&place)?;
                let address = format!("{}@{}", source.called(&line[at].thread), line[at].step);
                looking.holds(&secret_fields::whole_state(&loaded)?, &address)
            })?,
        };
        looking.check(bisection.evaluated)?;
        let Bisection { found, flips_back, evaluated } = bisection;
        let at = match found {
            FirstState::First(at) => Some(at),
            FirstState::Always => Some(0),
            FirstState::Never => None,
        };
        let first = at.map(|at| source.in_past(&place, line[at].id, &line[at].thread)).transpose()?;
        let step: Vec<StepRecord> = match &first {
            Some(first) => source.reader.steps(&first.thread, &first.at(), 1)?,
            None => Vec::new(),
        };
        Ok(Output {
            found: match found {
                FirstState::First(_) => "first",
                FirstState::Always => "always",
                FirstState::Never => "never",
            },
            checkpoint: step.first().map(|step| Line::of_step(step, &Known::default()).with_name(&source)),
            flips_back,
            linear,
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

/// Evaluates every state, each built from the one before.
fn one_by_one(
    looking: &mut Looking<'_>,
    source: &Source,
    place: &CheckpointRef,
) -> Result<Bisection, Failure> {
    let steps = source.past(place)?;
    let Some(newest) = steps.first() else {
        return Err(Failure::nothing("the checkpoint has just been deleted"));
    };
    let mut walk = Walk::under(Arc::clone(&newest.schema));
    bisect(steps.len(), Search::Linear, |at| {
        let step = &steps[steps.len() - 1 - at];
        walk.step(step).map_err(Failure::damaged)?;
        let address = format!("{}@{}", source.called(&step.thread), step.checkpoint.step);
        looking.holds(walk.state(), &address)
    })
}

impl<'t> Looking<'t> {
    fn through(test: &'t Test, secret: SecretFields) -> Self {
        Self { test, secret, fields: Vec::new(), found: false, unfit: None, fits: false }
    }

    /// Returns `true` if the test holds of a state, with secrets redacted. Errors name the state by its `address`.
    fn holds(&mut self, state: &Value, address: &str) -> Result<bool, Failure> {
        match self.test {
            Test::At(path, predicate) if secret_fields::leads_to_none(path, &self.secret) => {
                self.holds_at(path, predicate, state, address)
            }
            test => {
                let mut shown = state.clone();
                secret_fields::hide(&mut shown, &self.secret);
                match test {
                    Test::At(path, predicate) => self.holds_at(path, predicate, &shown, address),
                    Test::Command(command) => succeeds(command, &shown),
                }
            }
        }
    }

    fn holds_at(
        &mut self,
        path: &Path,
        predicate: &Predicate,
        state: &Value,
        address: &str,
    ) -> Result<bool, Failure> {
        let value = path.get(state);
        self.found |= value.is_some();
        let fields: Vec<String> =
            state.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        if fields.len() > self.fields.len() {
            self.fields = fields;
        }
        match value.and_then(|value| predicate.never_equal(value)) {
            Some(unfit) => self.unfit = Some(unfit),
            None => self.fits |= value.is_some_and(|value| !value.is_null()),
        }
        predicate.holds(value).map_err(|unfit| Failure::unusable(format!("{path} of {address} {unfit}")))
    }

    /// Fails if no evaluated state could answer the question.
    fn check(&self, evaluated: usize) -> Result<(), Failure> {
        let Test::At(path, predicate) = self.test else { return Ok(()) };
        match &self.unfit {
            Some(unfit) if !self.fits => return Err(Failure::unusable(format!("{path} {unfit}"))),
            _ => {}
        }
        match predicate {
            Predicate::Exists | Predicate::Missing => Ok(()),
            _ if self.found || evaluated == 0 => Ok(()),
            _ => Err(Failure::nothing(format!(
                "there is nothing at {path} in any of the {evaluated} states checked; their fields are {}",
                self.fields.join(", ")
            ))),
        }
    }
}

/// Runs a command with a state on its standard input; returns `true` if it exits with 0.
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
            // The command need not read the whole state.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.map_err(failed)?,
        }
    }
    match child.wait().map_err(failed)?.code() {
        // Exit codes of the shell: the command cannot be run, or was not found.
        None | Some(126 | 127) => Err(Failure::unusable(format!("the command {command:?} could not be run"))),
        code => Ok(code == Some(0)),
    }
}

impl Answer for Output {
    fn show(&self, page: &mut Page) {
        match (&self.checkpoint, self.found) {
            (None, _) if self.evaluated == self.checkpoints => page.line([span(BAD, "it holds nowhere")]),
            (None, _) => page.line([span(BAD, "it holds in no state checked: --linear checks all")]),
            (Some(line), found) => {
                let short = Short::among([line.id].into_iter());
                let words = if found == "always" { "it always holds, from " } else { "it first holds at " };
                page.line([span(GOOD, words), span(NAME, format!("{}@{}", line.called(), line.step))]);
                page.line([plain("  checkpoint "), short.span(line.id), plain(format!(" of {}", line.at))]);
                page.line([plain(format!("  ran {}", nodes(&line.ran)))]);
                page.line([plain(format!("  changed {}", line.changed.join(", ")))]);
            }
        }
        let (evaluated, all) = (self.evaluated, self.checkpoints);
        page.line([span(DIM, format!("{evaluated} of {all} states checked"))]);
        if self.flips_back {
            let advice = if self.linear { "" } else { ": --linear finds where it holds first" };
            page.line([span(BAD, format!("it does not hold in some later state{advice}"))]);
        }
    }

    fn exit(&self) -> Exit {
        if self.checkpoint.is_some() { Exit::Fine } else { Exit::No }
    }
}
