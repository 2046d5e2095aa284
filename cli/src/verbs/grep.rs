//! `grep`: searches the contents of all threads.

use std::collections::HashSet;

use regex::Regex;
use serde::Serialize;

use superstep_core::checkpoint::{At, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_inspect::{Match, MatchPlace, Part, grep};

use crate::excerpt;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::lines::Short;
use crate::page::{DIM, NAME, NOTE, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::{Answer, Exit};
use crate::secret_fields;
use crate::source::{CheckpointRef, Source};
use crate::table::{Cell, Side, Table};

/// Search all states, effects, questions, answers and failures for a regular expression
///
/// Searches keys and values, including those of subgraphs. Lists each text where it first appears. On a terminal a long
/// text is shown from shortly before the match.
///
/// Exits with 1 if nothing is found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep grep essays.db 'Lis(bon|boa)' --thread rust")]
pub(crate) struct Grep {
    #[command(flatten)]
    file: FileArgument,
    /// A regular expression, in the syntax of the crate regex
    pattern: Regex,
    /// Search only this thread, its branches, its past and its subgraphs
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
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(flatten)]
    found: Match,
    /// The part of the text that matches.
    #[serde(rename = "match")]
    matched: String,
    /// The byte offset at which it begins.
    #[serde(skip)]
    at: usize,
}

impl Grep {
    pub(crate) fn answer(&self) -> Result<Matches, Failure> {
        let source = Source::open(&self.file)?;
        let mut matches: Vec<Found> = Vec::new();
        let mut seen: HashSet<(CheckpointId, String, Part, String)> = HashSet::new();
        for thread in &self.threads(&source)? {
            for end in ends(&source, thread)? {
                for (writer, found) in self.on_branch(&source, thread, end)? {
                    let place = serde_json::to_string(&found.place).map_err(Failure::damaged)?;
                    if seen.insert((found.checkpoint, place, found.part, found.text.clone())) {
                        let matched = self.pattern.find(&found.text);
                        let at = matched.map_or(0, |matched| matched.start());
                        let matched = matched.map_or("", |matched| matched.as_str()).to_owned();
                        matches.push(Found {
                            name: source.name_below(&writer),
                            thread: writer,
                            found,
                            matched,
                            at,
                        });
                    }
                }
            }
        }
        Ok(Matches { matches })
    }

    /// Returns the threads to search, each before the subgraphs that it ran.
    fn threads(&self, source: &Source) -> Result<Vec<ThreadId>, Failure> {
        let (mut threads, root): (Vec<ThreadId>, _) = match &self.thread {
            Some(name) => {
                let thread = source.any_thread(name)?;
                (vec![thread.clone()], Some(thread))
            }
            None => (source.reader.threads()?.into_iter().map(|thread| thread.thread).collect(), None),
        };
        threads.extend(source.all_below(root.as_ref())?);
        threads.sort_by_cached_key(|thread| source.rank(thread));
        Ok(threads)
    }

    /// Returns the matches in a checkpoint and its past, with the threads that wrote them.
    fn on_branch(
        &self,
        source: &Source,
        of: &ThreadId,
        end: CheckpointId,
    ) -> Result<Vec<(ThreadId, Match)>, Failure> {
        let place = CheckpointRef { thread: of.clone(), id: end };
        let mut steps = match source.reader.steps(of, &place.at(), usize::MAX) {
            Err(StoreError::NoCheckpoint { .. }) => return Ok(Vec::new()),
            steps => steps?,
        };
        let redaction = Redaction::at(source, &place)?;
        steps.iter_mut().for_each(|step| redaction.in_step(step));
        let found = grep(&steps, |text| self.pattern.is_match(text)).map_err(Failure::damaged)?;
        let shown = found.into_iter().filter(|found| match &found.place {
            MatchPlace::State { path } => secret_fields::field_of(path, redaction.fields()).is_none(),
            _ => true,
        });
        let writer = |found: &Match| {
            let step = steps.iter().find(|step| step.checkpoint.id == found.checkpoint);
            step.map_or_else(|| of.clone(), |step| step.thread.clone())
        };
        Ok(shown.map(|found| (writer(&found), found)).collect())
    }
}

/// Returns the ends of a thread's branches: its latest checkpoint, and those of its own without a successor.
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

/// Returns the text of a match; the short form begins shortly before the match.
fn text(found: &Match, at: usize) -> Cell {
    let what = if found.part == Part::Key { "the key " } else { "" };
    Cell::or(
        plain(format!("{what}{}", found.text)),
        plain(format!("{what}{}", excerpt::around(&found.text, at, BEFORE))),
    )
}

/// The number of characters that are shown before a match.
const BEFORE: usize = 12;

impl Answer for Matches {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.matches.iter().map(|line| line.found.checkpoint));
        let mut table = Table::new([("", Side::Left), ("", Side::Left), ("", Side::Left), ("", Side::Left)]);
        for Found { thread, name, found, at, .. } in &self.matches {
            let thread = name.as_deref().unwrap_or(thread.as_str());
            let place = match &found.place {
                MatchPlace::State { path } => path.to_string(),
                MatchPlace::Effect { name, key } if key.is_empty() => format!("effect {name}"),
                MatchPlace::Effect { name, key } => format!("effect {name} {key:?}"),
                MatchPlace::Question { node } => format!("question of {node}"),
                MatchPlace::Answer { node } => format!("answer to {node}"),
                MatchPlace::Failure { node } => format!("failure of {node}"),
                MatchPlace::Emitted { node } => format!("emitted by {node}"),
                MatchPlace::Metadata { name } => format!("metadata {name}"),
                _ => String::new(),
            };
            table.row([
                Cell::or(
                    span(NAME, format!("{thread}@{}", found.step)),
                    span(NAME, format!("{}@{}", excerpt::short_name(thread), found.step)),
                ),
                short.cell(found.checkpoint),
                span(NOTE, place).into(),
                text(found, *at),
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
