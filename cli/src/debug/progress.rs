//! Prints the events of a run as they happen.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::page::{BAD, DIM, NAME, NOTE, Page, Span, plain, span};
use crate::program::is_lost;
use crate::screen::{Look, escape_json};
use superstep_core::checkpoint::Source;
use superstep_core::id::NodeName;
use superstep_core::run::{EventKind, PathSegment, RunEvent};

/// The output for events.
pub(super) struct Progress<'w> {
    pub(super) out: &'w mut dyn Write,
    pub(super) look: Look,
    /// `true` to print events as JSON, one a line.
    pub(super) json: bool,
    /// The first error of writing an event.
    pub(super) lost: Option<io::Error>,
    /// The start times of running tasks.
    begun: HashMap<Task, u64>,
}

/// A task of a run, and the nodes that lead to it.
type Task = (Vec<PathSegment>, i64, u32);

impl<'w> Progress<'w> {
    pub(super) fn new(out: &'w mut dyn Write, look: Look) -> Self {
        Self { out, look, json: false, lost: None, begun: HashMap::new() }
    }

    /// Prints an event, if it has anything to print.
    pub(super) fn tell(&mut self, event: &RunEvent) {
        let text = match self.json {
            true => serde_json::to_string(event)
                .map_or_else(|_| String::new(), |text| escape_json(&text).into_owned() + "\n"),
            false => self.lines(event),
        };
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        // A write error does not stop the run.
        if let Err(error) = written
            && is_lost(&error)
        {
            self.lost.get_or_insert(error);
        }
    }

    fn lines(&mut self, event: &RunEvent) -> String {
        let mut page = Page::new(self.look);
        let path = &event.path;
        match &event.kind {
            EventKind::TaskStarted { step, task, .. } => {
                self.begun.insert((path.clone(), *step, *task), event.at_ms);
            }
            EventKind::TaskFinished { step, task, node, route, recorded, cached, .. } => {
                let mut spans = what(path, *step, node);
                spans.extend(route.as_ref().map(|case| plain(format!(" → {case}"))));
                let took = self.begun.remove(&(path.clone(), *step, *task));
                let source = match (recorded, cached) {
                    (true, _) => Some("had finished before".to_owned()),
                    (_, true) => Some("from the cache".to_owned()),
                    // Durations are for people on a terminal.
                    _ => took
                        .filter(|_| self.look.width.is_some())
                        .map(|began| format!("{} ms", event.at_ms.saturating_sub(began))),
                };
                spans.extend(source.map(|source| span(DIM, format!("  {source}"))));
                if !node.is_start() {
                    page.line(spans);
                }
            }
            EventKind::TaskPaused { step, node, .. } => {
                page.line(what(path, *step, node).into_iter().chain([span(NOTE, " asks")]));
            }
            EventKind::TaskFailed { step, node, error, retry_in_ms, handled, .. } => {
                let then = match (retry_in_ms, handled) {
                    (Some(wait), _) => format!("; again in {wait} ms"),
                    (None, true) => "; its error handler continues".into(),
                    (None, false) => String::new(),
                };
                let failed = span(BAD, format!(" failed: {error}{then}"));
                page.line(what(path, *step, node).into_iter().chain([failed]));
            }
            EventKind::Custom { step, node, name, data, .. } => {
                let emitted = span(DIM, format!(" emits {name} {data}"));
                page.line(what(path, *step, node).into_iter().chain([emitted]));
            }
            EventKind::CheckpointSaved { step, source, .. } if path.is_empty() => {
                if let Some(name) = edit_name(*source) {
                    page.line([plain(format!("{step:>6}  ")), span(NAME, name)]);
                }
            }
            EventKind::JoinUnfinished { target, missing } => {
                let missing: Vec<&str> = missing.iter().map(NodeName::as_str).collect();
                let text = format!("        the join before {target} still waits for {}", missing.join(", "));
                page.line([span(NOTE, text)]);
            }
            _ => {}
        }
        page.finish()
    }
}

/// Returns the name of a checkpoint that no superstep made.
fn edit_name(source: Source) -> Option<&'static str> {
    match source {
        Source::Update => Some("an edit"),
        Source::Fork => Some("a branch"),
        _ => None,
    }
}

/// Returns the step and the node, after the nodes whose subgraphs lead there.
fn what(path: &[PathSegment], step: i64, node: &NodeName) -> Vec<Span> {
    let way: String = path.iter().map(|segment| format!("{}/", segment.node)).collect();
    vec![plain(format!("{step:>6}  {way}")), span(NAME, node.as_str())]
}

/// Returns the text for people at the end of a run; empty for JSON, whose events already contain it. It is never
/// truncated, so that commands can be copied.
pub(super) fn page(screen: &Progress<'_>, show: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(Look { width: None, ..screen.look });
    if !screen.json {
        show(&mut page);
    }
    page.finish()
}
