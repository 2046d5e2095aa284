//! Converts stored records to the shapes that verbs print.

use std::collections::HashMap;

use superstep_core::checkpoint::{
    AskRecord, CheckpointName, EffectOutcome, EffectRecord, NamedCheckpoint, Source as Origin, StepRecord,
    Summary, rfc3339,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

use super::failure::Failure;
use super::json_shapes::{Effect, Line, Question};
use super::page::{BAD, DIM, NAME, Page, Span, plain, span};
use super::source::{FEWEST_DIGITS, Source};
use super::table::Cell;
use super::time::began_ms;
use super::token_usage::TokenUsage;

/// The labels of checkpoints, besides their ids.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The threads that have a checkpoint as their head.
    heads: HashMap<CheckpointId, Vec<ThreadId>>,
    /// The names of checkpoints on one thread.
    names: HashMap<CheckpointId, Vec<CheckpointName>>,
}

impl Known {
    /// Reads the labels, with the names of one thread.
    pub(super) fn of(source: &Source, thread: &ThreadId) -> Result<Self, Failure> {
        let mut known = Self { heads: HashMap::new(), names: names(source, thread)? };
        for thread in source.reader.list_threads()?.threads {
            known.heads.entry(thread.head.id).or_default().push(thread.thread);
        }
        Ok(known)
    }
}

/// Returns the names of a thread's checkpoints.
pub(super) fn names(
    source: &Source,
    thread: &ThreadId,
) -> Result<HashMap<CheckpointId, Vec<CheckpointName>>, Failure> {
    let mut names: HashMap<_, Vec<_>> = HashMap::new();
    for NamedCheckpoint { name, checkpoint } in source.reader.names(thread)? {
        names.entry(checkpoint).or_default().push(name);
    }
    Ok(names)
}

impl Line {
    pub(super) fn of(summary: Summary, changed: Vec<String>, known: &Known) -> Self {
        Self {
            id: summary.id,
            parent: summary.parent,
            thread: summary.thread,
            step: summary.step,
            source: summary.source,
            at: rfc3339(summary.created_ms),
            run: summary.run,
            ran: summary.ran,
            next: summary.next,
            changed,
            head_of: known.heads.get(&summary.id).cloned().unwrap_or_default(),
            names: known.names.get(&summary.id).cloned().unwrap_or_default(),
            name: None,
            started_at: None,
            took_ms: None,
            used: None,
        }
    }

    /// Adds the name of its thread, if that is a subgraph's.
    pub(super) fn with_name(self, source: &Source) -> Self {
        Self { name: source.name_below(&self.thread), ..self }
    }

    /// Returns the name of its thread.
    pub(super) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(self.thread.as_str())
    }

    /// Returns the lines of the newest `limit` of these steps, newest first. The usage and the duration are included
    /// where the step before is known.
    pub(super) fn of_steps<'s>(
        steps: &'s [StepRecord],
        limit: usize,
        known: &'s Known,
    ) -> impl DoubleEndedIterator<Item = Self> + 's {
        steps.iter().take(limit).enumerate().map(move |(at, step)| {
            let before = steps.get(at + 1);
            let used = before.and_then(|before| TokenUsage::by(&before.work.effects));
            let (began, ended) = (began_ms(step, before), step.checkpoint.id.unix_ms());
            let took_ms = began.and_then(|began| ended.checked_sub(began));
            let took_ms = took_ms.filter(|_| step.checkpoint.source == Origin::Loop);
            Self { used, took_ms, started_at: began.map(rfc3339), ..Self::of_step(step, known) }
        })
    }

    pub(super) fn of_step(step: &StepRecord, known: &Known) -> Self {
        Self::of(Summary::of(step.seq, &step.thread, &step.checkpoint), changed(step), known)
    }
}

/// Returns the names of the fields that changed.
pub(super) fn changed(step: &StepRecord) -> Vec<String> {
    step.checkpoint.changes.iter().map(|change| step.schema.field(change.field).name.clone()).collect()
}

impl Question {
    pub(super) fn of(ask: &AskRecord) -> Result<Self, Failure> {
        Ok(Self {
            id: ask.id.to_string(),
            node: ask.node.clone(),
            path: ask.path.clone(),
            question: ask.question.decode().map_err(Failure::damaged)?,
            answer: match &ask.answer {
                Some(answer) => Some(answer.decode().map_err(Failure::damaged)?),
                None => None,
            },
            answered_by: ask.answered_by,
            deadline: ask.deadline.as_ref().map(|deadline| rfc3339(deadline.at_ms)),
        })
    }
}

impl Effect {
    /// Converts an effect of a task of the superstep that follows a checkpoint.
    pub(super) fn of(
        effect: &EffectRecord,
        nodes: &[(superstep_core::id::TaskId, NodeName)],
    ) -> Result<Self, Failure> {
        let (ok, error) = match &effect.outcome {
            Some(EffectOutcome::Ok(value)) => (Some(value.decode().map_err(Failure::damaged)?), None),
            Some(EffectOutcome::Err(error)) => (None, Some(error.clone())),
            None => (None, None),
        };
        Ok(Self {
            node: nodes.iter().find(|(task, _)| *task == effect.id.task).map(|(_, node)| node.clone()),
            name: effect.id.name.clone(),
            key: effect.id.key.clone(),
            starts: effect.starts,
            ok,
            error,
        })
    }

    pub(super) fn show(&self, page: &mut Page, before: &str) {
        let mut spans = vec![plain(format!("  {before}")), span(NAME, &self.name)];
        if !self.key.is_empty() {
            spans.push(plain(format!(" {:?}", self.key)));
        }
        if let Some(node) = &self.node {
            spans.push(span(DIM, format!(" of {node}")));
        }
        spans.push(match (&self.ok, &self.error) {
            (Some(value), _) => plain(format!(" → {value}")),
            (None, Some(error)) => span(BAD, format!(" failed: {error}")),
            (None, None) => span(BAD, " began; its outcome is unknown"),
        });
        page.line(spans);
    }
}

/// Returns the displayed name of a node; START, END and EDIT have fixed names.
pub(super) fn called(node: &NodeName) -> &str {
    match node.as_str() {
        _ if node.is_start() => "START",
        _ if node.is_end() => "END",
        "__edit__" => "EDIT",
        name => name,
    }
}

/// Joins the names of nodes; a repeated node is listed once, with its count.
pub(super) fn nodes(names: &[NodeName]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in names {
        let name = called(name);
        match counted.last_mut().filter(|(last, _)| *last == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let texts = counted.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        count => format!("{name} ×{count}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// The number of trailing digits that distinguishes ids, at least eight. Ids begin with the time, so the ids of
/// one run differ at their ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    digits: usize,
    /// The number of leading digits of those endings that also distinguishes the ids.
    fewest: usize,
}

/// The minimum number of trailing digits that are shown of an id.
const SHOWN: usize = 8;

impl Short {
    pub(super) fn among(ids: impl Iterator<Item = CheckpointId>) -> Self {
        let texts: Vec<String> = ids.map(|id| id.0.as_simple().to_string()).collect();
        let digits = telling_apart(texts.iter().map(|text| text.chars().rev().collect())).max(SHOWN);
        let ends = texts.iter().map(|text| text[text.len() - SHOWN..].to_owned());
        // Addresses are matched by the leading digits of the last eight.
        let fewest = if digits > SHOWN { digits } else { telling_apart(ends).max(FEWEST_DIGITS) };
        Self { digits, fewest }
    }

    pub(super) fn text(self, id: CheckpointId) -> String {
        let text = id.0.as_simple().to_string();
        text[text.len() - self.digits.min(text.len())..].to_owned()
    }

    pub(super) fn span(self, id: CheckpointId) -> Span {
        span(super::page::ID, self.text(id))
    }

    /// Returns the id for a table, which is shorter where space is short.
    pub(super) fn cell(self, id: CheckpointId) -> Cell {
        let whole = self.span(id);
        let short = span(super::page::ID, whole.text.chars().take(self.fewest).collect::<String>());
        Cell::or(whole, short)
    }
}

/// Returns the number of leading characters that distinguishes texts.
fn telling_apart(texts: impl Iterator<Item = String>) -> usize {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    let common = |pair: &[String]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    texts.windows(2).map(common).max().map_or(1, |longest| longest + 1)
}
