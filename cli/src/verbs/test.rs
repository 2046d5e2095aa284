//! `test`: writes a Rust test of the steps that led to a checkpoint.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use superstep_core::checkpoint::{Frontier, Loaded, Source as Cause, StepRecord};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::{LoggedWrite, SecretFields};
use superstep_core::testing::Cassette;

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::Page;
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::secret_fields;
use crate::source::Source;
use crate::test_code::TestCode;

/// Write a Rust test of the turn that led to a checkpoint
///
/// The test repeats the turn and compares the final state. It begins with the input, the edit or the branch before the
/// checkpoint. You write one line of it: the one that builds the graph. The test contains no values of secret fields.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: superstep test essays.db rust@3 --cassette tests/cassettes/rust.json > tests/rust.rs"
)]
pub(crate) struct Test {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint that the test ends with; see `superstep --help`
    checkpoint: String,
    /// Test only the superstep that made the checkpoint
    #[arg(long)]
    step: bool,
    /// Write the effects and answers of the run to this file; the path is relative to the package's folder
    #[arg(long, value_name = "PATH")]
    cassette: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Written {
    thread: ThreadId,
    checkpoint: CheckpointId,
    graph: NodeName,
    /// The checkpoint at which the test begins.
    from: CheckpointId,
    supersteps: usize,
    /// The file with the recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    cassette: Option<PathBuf>,
    /// The secret fields, whose values the test does not contain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
    /// The test, as Rust code.
    code: String,
}

/// The steps that the test covers.
struct Turn<'t> {
    begin: &'t Loaded,
    end: &'t Loaded,
    supersteps: usize,
    /// The fields that are secret.
    fields: &'t SecretFields,
}

impl Test {
    pub(crate) fn answer(&self) -> Result<Written, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let past = source.past(&place)?;
        let from = self.begin(&past)?;
        let supersteps = past.iter().take_while(|step| step.checkpoint.id != from).count();
        let written = past.get(supersteps).map_or(&place.thread, |begin| &begin.thread);
        let begin = source.load(&source.in_past(&place, from, written)?)?;
        let end = source.load(&place)?;
        let journal = source.reader.journal(place.thread.clone(), place.at())?;
        let cassette = journal.cassette_from(from);
        if let Some(path) = &self.cassette {
            cassette.save(path).map_err(Failure::of)?;
        }
        let redaction = Redaction::at(&source, &place)?;
        let fields = redaction.fields();
        let mut hidden = journal.secrets();
        hidden.learn_all(redaction.texts());
        [&begin, &end].into_iter().for_each(|held| secret_fields::learn(&mut hidden, held, fields));
        let turn = Turn { begin: &begin, end: &end, supersteps, fields };
        let code = self.skeleton(source.called(&place.thread), &turn, &cassette)?.without(&hidden).code();
        Ok(Written {
            thread: place.thread,
            checkpoint: place.id,
            graph: end.graph.clone(),
            from,
            supersteps,
            cassette: self.cassette.clone(),
            secrets: secret_fields(&end, fields),
            code,
        })
    }

    /// Returns the checkpoint at which the test begins. The first of `past` is the one that it ends with.
    fn begin(&self, past: &[StepRecord]) -> Result<CheckpointId, Failure> {
        let (end, before) = past.split_first().ok_or_else(|| Failure::nothing("the checkpoint is gone"))?;
        if end.checkpoint.source != Cause::Loop {
            return Err(Failure::nothing(format!(
                "no superstep came to {}: it is {}; name one after it",
                self.checkpoint,
                match end.checkpoint.source {
                    Cause::Input => "an input",
                    Cause::Update => "an edit",
                    Cause::Pruned => "all that is left where older ones were pruned",
                    _ => "a branch",
                }
            )));
        }
        let begins = |step: &&StepRecord| self.step || step.checkpoint.source != Cause::Loop;
        let begin = before.iter().position(|step| begins(&step)).or(before.len().checked_sub(1));
        let begin = begin.ok_or_else(|| Failure::nothing("the history before the checkpoint was deleted"))?;
        // A pruned checkpoint has only its state left, so the test begins with the one after it.
        let begin = match before[begin].checkpoint.source {
            Cause::Pruned => begin.checked_sub(1),
            _ => Some(begin),
        };
        let begin = begin.ok_or_else(|| {
            Failure::nothing(format!(
                "what {} came from was pruned; name a later checkpoint",
                self.checkpoint
            ))
        })?;
        Ok(before[begin].checkpoint.id)
    }

    fn skeleton(&self, thread: String, turn: &Turn<'_>, cassette: &Cassette) -> Result<TestCode, Failure> {
        let Turn { begin, end, supersteps, fields } = *turn;
        let is_input = begin.checkpoint.source == Cause::Input;
        Ok(TestCode {
            graph: end.graph.to_string(),
            thread,
            address: self.checkpoint.clone(),
            step: end.checkpoint.step,
            after: begin.checkpoint.step,
            state: secret_fields::state(begin, fields)?,
            input: if is_input { Some(input(begin, fields)?) } else { None },
            next: frontier(begin),
            secrets: secret_fields(begin, fields),
            cassette: match &self.cassette {
                Some(path) => Err(slashed(path)),
                None => Ok(cassette.to_json()),
            },
            supersteps,
            expected: secret_fields::state(end, fields)?,
            leads_to: end.checkpoint.frontier.nodes().map(ToString::to_string).collect(),
        })
    }
}

/// Returns the writes of the pending input at a checkpoint.
fn input(begin: &Loaded, fields: &SecretFields) -> Result<Value, Failure> {
    let start = begin.checkpoint.frontier.tasks.iter().find(|task| task.node.is_start());
    let writes: Vec<LoggedWrite> = match start.and_then(|task| task.input.as_ref()) {
        Some(input) => input.decode().map_err(Failure::damaged)?,
        None => Vec::new(),
    };
    let named = writes.iter().map(|write| {
        let (op, value) = secret_fields::write(write, &begin.schema, fields)?;
        Ok(json!({ "field": begin.schema.field(write.field).name, "op": op, "value": value }))
    });
    named.collect()
}

/// Returns the tasks that are next at a checkpoint, without the kept states of subgraphs: those are on threads that the
/// test does not have.
fn frontier(begin: &Loaded) -> Frontier {
    Frontier { kept: Vec::new(), ..begin.checkpoint.frontier.clone() }
}

fn secret_fields(of: &Loaded, fields: &SecretFields) -> Vec<String> {
    of.schema.fields.iter().filter(|field| fields.has(field)).map(|field| field.name.clone()).collect()
}

/// Returns a path with `/` as the separator, which works on every system.
fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

impl Answer for Written {
    fn show(&self, page: &mut Page) {
        page.document(self.code.trim_end());
    }
}
