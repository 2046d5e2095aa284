//! `grep`: a search over everything.

use std::collections::HashSet;

use regex::Regex;
use serde::Serialize;

use crate::checkpoint::{At, StoreError};
use crate::id::{CheckpointId, ThreadId};
use crate::inspect::{Match, Place as Where, grep};

use crate::cli::answer::Answer;
use crate::cli::concealed::Concealed;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::lines::Short;
use crate::cli::page::{DIM, NAME, NOTE, Page, plain, span};
use crate::cli::screen::Exit;
use crate::cli::secrets;
use crate::cli::source::{Place, Source};
use crate::cli::table::{Side, Table};

/// Search all values of all states, effects, questions, answers and failures; each is told where it came in
///
/// Exits with 1 if nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep grep essays.db 'Lis(bon|boa)' --thread rust")]
pub(crate) struct Grep {
    #[command(flatten)]
    file: FileArgument,
    /// A regular expression, as of the crate regex
    pattern: Regex,
    /// Only in this thread, its branches and its past
    #[arg(long)]
    thread: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Matches {
    matches: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    thread: ThreadId,
    #[serde(flatten)]
    found: Match,
}

impl Grep {
    pub(crate) fn answer(&self) -> Result<Matches, Failure> {
        let source = Source::open(&self.file)?;
        let threads: Vec<ThreadId> = match &self.thread {
            Some(name) => vec![source.thread(name)?.thread],
            None => source.reader.threads()?.into_iter().map(|thread| thread.thread).collect(),
        };
        let mut matches: Vec<Found> = Vec::new();
        let mut seen: HashSet<(CheckpointId, String, String)> = HashSet::new();
        for thread in &threads {
            for end in ends(&source, thread)? {
                for (writer, found) in self.on_branch(&source, thread, end)? {
                    let place = serde_json::to_string(&found.place).map_err(Failure::damaged)?;
                    if seen.insert((found.checkpoint, place, found.text.clone())) {
                        matches.push(Found { thread: writer, found });
                    }
                }
            }
        }
        Ok(Matches { matches })
    }

    /// What is found in a checkpoint and its past, with the threads that wrote it.
    fn on_branch(
        &self,
        source: &Source,
        of: &ThreadId,
        end: CheckpointId,
    ) -> Result<Vec<(ThreadId, Match)>, Failure> {
        let place = Place { thread: of.clone(), id: end };
        let mut steps = match source.reader.steps(of, &place.at(), usize::MAX) {
            Err(StoreError::NoCheckpoint { .. }) => return Ok(Vec::new()),
            steps => steps?,
        };
        let concealed = Concealed::at(source, &place)?;
        steps.iter_mut().for_each(|step| concealed.in_step(step));
        let found = grep(&steps, |text| self.pattern.is_match(text)).map_err(Failure::damaged)?;
        let shown = found.into_iter().filter(|found| match &found.place {
            Where::State { path } => secrets::field_of(path, concealed.fields()).is_none(),
            _ => true,
        });
        let writer = |found: &Match| {
            let step = steps.iter().find(|step| step.checkpoint.id == found.checkpoint);
            step.map_or_else(|| of.clone(), |step| step.thread.clone())
        };
        Ok(shown.map(|found| (writer(&found), found)).collect())
    }
}

/// The ends of a thread's branches: its latest checkpoint, and those of its own that nothing continues.
fn ends(source: &Source, thread: &ThreadId) -> Result<Vec<CheckpointId>, Failure> {
    let head = source.reader.history(thread, &At::Head, 1)?;
    let tree = source.reader.lineage(thread)?;
    let continued: HashSet<CheckpointId> = tree.iter().filter_map(|line| line.parent).collect();
    let own = tree.iter().filter(|line| line.thread == *thread && !continued.contains(&line.id));
    let mut ends: Vec<CheckpointId> = head.iter().chain(own).map(|line| line.id).collect();
    ends.sort_unstable();
    ends.dedup();
    Ok(ends)
}

impl Answer for Matches {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.matches.iter().map(|line| line.found.checkpoint));
        let mut table = Table::new([("", Side::Left), ("", Side::Left), ("", Side::Left), ("", Side::Left)]);
        for Found { thread, found } in &self.matches {
            let place = match &found.place {
                Where::State { path } => path.to_string(),
                Where::Effect { name, key } if key.is_empty() => format!("effect {name}"),
                Where::Effect { name, key } => format!("effect {name} {key:?}"),
                Where::Question { node } => format!("question of {node}"),
                Where::Answer { node } => format!("answer to {node}"),
                Where::Failure { node } => format!("failure of {node}"),
                Where::Emitted { node } => format!("emitted by {node}"),
                Where::Metadata { name } => format!("metadata {name}"),
                _ => String::new(),
            };
            table.row([
                span(NAME, format!("{thread}@{}", found.step)),
                short.span(found.checkpoint),
                span(NOTE, place),
                plain(&found.text),
            ]);
        }
        match self.matches.is_empty() {
            true => page.line([span(DIM, "nothing found")]),
            false => table.show(page),
        }
    }

    fn exit(&self) -> Exit {
        if self.matches.is_empty() { Exit::No } else { Exit::Fine }
    }
}
