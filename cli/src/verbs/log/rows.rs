//! A history as a table.

use crate::excerpt::short_name;
use crate::json_shapes::Line;
use crate::lines::{Short, nodes};
use crate::page::{DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::table::{Cell, Side, Table};
use crate::time::lasted;
use crate::token_usage::TokenUsage;
use superstep_core::checkpoint::CheckpointName;
use superstep_core::id::ThreadId;

use super::nested::Nested;
use super::{Drawn, History, source_name};

/// The indent of a level of subgraphs.
const LEVEL: &str = "│ ";

pub(super) fn show(history: &History, page: &mut Page) {
    let mut ids = Vec::new();
    all_lines(history, &mut |line| ids.push(line.id));
    let mut calls_models = false;
    all_lines(history, &mut |line| calls_models |= line.used.is_some());
    let table = Table::new([
        ("", Side::Left),
        ("step", Side::Right),
        ("id", Side::Left),
        ("", Side::Left),
        ("source", Side::Left),
        ("began", Side::Left),
        ("took", Side::Right),
        ("ran", Side::Left),
        ("changed", Side::Left),
        (if calls_models { "tokens" } else { "" }, Side::Right),
        ("next", Side::Left),
    ]);
    // The columns for the nodes and the changes always stay.
    let table = table.giving_way(["source", "next", "began", "took", "tokens"]);
    let mut rows = Rows { table, short: Short::among(ids.into_iter()), heads_only: history.graph };
    rows.nested(&history.next_subgraphs, 0);
    rows.checkpoints(&history.checkpoints, &history.thread, 0);
    rows.table.show(page);
    let mut hint = |text: String| page.line([span(DIM, text)]);
    if history.more {
        let count = history.checkpoints.len();
        hint(format!("older ones are not shown: -n {} shows more, -n 0 all", count * 10));
    }
    match history.hidden {
        0 => {}
        1 => hint("a subgraph ran, too: --depth 1 shows what it did".into()),
        count => hint(format!("{count} subgraphs ran, too: --depth 1 shows what they did")),
    }
}

/// Visits the lines of all levels.
fn all_lines(history: &History, visit: &mut dyn FnMut(&Line)) {
    fn of_nested(all: &[Nested], visit: &mut dyn FnMut(&Line)) {
        for nested in all {
            of_nested(&nested.next_subgraphs, visit);
            of_drawn(&nested.checkpoints, visit);
        }
    }
    fn of_drawn(all: &[Drawn], visit: &mut dyn FnMut(&Line)) {
        for drawn in all {
            visit(&drawn.line);
            of_nested(&drawn.subgraphs, visit);
        }
    }
    of_nested(&history.next_subgraphs, visit);
    of_drawn(&history.checkpoints, visit);
}

struct Rows {
    table: Table,
    short: Short,
    /// `true` to name other threads only at their latest checkpoints.
    heads_only: bool,
}

impl Rows {
    fn checkpoints(&mut self, all: &[Drawn], thread: &ThreadId, level: usize) {
        for drawn in all {
            self.checkpoint(drawn, thread, level);
            self.nested(&drawn.subgraphs, level);
        }
    }

    /// Adds the checkpoints of subgraphs, each under its name.
    fn nested(&mut self, all: &[Nested], level: usize) {
        for Nested { name, key, checkpoints, next_subgraphs, more, .. } in all {
            let before = format!("{}┌ ", LEVEL.repeat(level));
            let kept = key.as_ref().map(|key| span(DIM, format!("  keeps its state as {key:?}")));
            let title = [span(NOTE, before), span(NAME, name)].into_iter().chain(kept);
            self.table.line(title.collect::<Vec<_>>());
            self.nested(next_subgraphs, level + 1);
            if let Some(first) = checkpoints.first() {
                self.checkpoints(checkpoints, &first.line.thread, level + 1);
            }
            if *more {
                let before = LEVEL.repeat(level + 1);
                self.table.line([span(NOTE, before), span(DIM, "older ones are not shown")]);
            }
        }
    }

    fn checkpoint(&mut self, drawn: &Drawn, thread: &ThreadId, level: usize) {
        let Drawn { line, drawing, .. } = drawn;
        let began = began(line);
        let took = line.took_ms.map(lasted).unwrap_or_default();
        self.table.row([
            span(NOTE, format!("{}{drawing}", LEVEL.repeat(level))).into(),
            plain(line.step.to_string()).into(),
            self.short.cell(line.id),
            Cell::or(
                span(GOOD, self.remark(line, thread, str::to_owned)),
                span(GOOD, self.remark(line, thread, short_name)),
            ),
            span(DIM, source_name(line.source)).into(),
            Cell::or(span(DIM, &began), span(DIM, began.get(11..).unwrap_or_default())),
            plain(took).into(),
            span(NAME, nodes(&line.ran)).into(),
            plain(line.changed.join(", ")).into(),
            plain(line.used.map(TokenUsage::tokens).unwrap_or_default()).into(),
            plain(nodes(&line.next)).into(),
        ]);
    }

    /// Returns the names of a checkpoint, and the threads it is the head of, or its thread if that is another one.
    fn remark(&self, line: &Line, thread: &ThreadId, shown: fn(&str) -> String) -> String {
        let heads: Vec<String> = line.head_of.iter().map(|head| shown(head.as_str())).collect();
        let foreign = !self.heads_only && line.thread != *thread;
        let whose = match (heads.is_empty(), foreign) {
            (false, _) => format!("({})", heads.join(", ")),
            (true, true) => format!("of {}", shown(line.called())),
            (true, false) => String::new(),
        };
        let names: Vec<&str> = line.names.iter().map(CheckpointName::as_str).collect();
        let parts = [names.join(", "), whose].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the time at which the work on a superstep began, to the second.
fn began(line: &Line) -> String {
    let began = line.started_at.as_deref().unwrap_or_default();
    began.get(..19).unwrap_or_default().replace('T', " ")
}
