//! The time of a thread on one line.

use serde::Serialize;

use superstep_core::checkpoint::{At, Source as Origin, rfc3339};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_inspect::{Activity, Stretch, StripSpan, strip};

use crate::failure::Failure;
use crate::page::{DIM, Page, plain, span};
use crate::source::{CheckpointRef, Source};
use crate::time::{Point, lasted, readable};

/// The time from the first checkpoint of a branch to its last. Time in which nothing was next is left out.
#[derive(Debug, Serialize)]
pub(crate) struct Strip {
    thread: ThreadId,
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The time of the first checkpoint, in RFC 3339.
    started_at: String,
    /// The time of the last one.
    ended_at: String,
    /// The milliseconds in supersteps.
    work_ms: u64,
    /// The milliseconds in which a question waited for its answer.
    wait_ms: u64,
    /// The milliseconds in which nodes were next and no run was there.
    queue_ms: u64,
    pub(super) spans: Vec<Span>,
    #[serde(skip)]
    began_ms: u64,
    #[serde(skip)]
    ended_ms: u64,
}

/// A part of the strip, in columns from 0.
#[derive(Debug, Serialize)]
pub(super) struct Span {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) kind: Activity,
    /// The checkpoint at which it ends.
    pub(super) checkpoint: CheckpointId,
}

impl Strip {
    /// Returns the strip of a checkpoint and its past.
    pub(super) fn of(source: &Source, place: &CheckpointRef, width: u32) -> Result<Self, Failure> {
        let tree = source.tree(&place.thread)?;
        let mut past: Vec<_> = tree.past(place.id).collect();
        past.reverse();
        let (mut stretches, mut ends) = (Vec::new(), Vec::new());
        let mut push = |kind, ms, id| {
            stretches.push(Stretch { kind, ms });
            ends.push(id);
        };
        let mut before = None;
        for step in &past {
            let (point, id) = (Point::of(step), step.id);
            let began = point.began_ms(before.map(Point::of)).unwrap_or(point.at_ms);
            if let Some(before) = before.replace(step) {
                let idle = began.saturating_sub(Point::of(before).at_ms);
                if idle > 0 && !before.next.is_empty() {
                    let asked = source.in_past(place, before.id, &before.thread)?;
                    push(if asks(source, &asked)? { Activity::Wait } else { Activity::Queue }, idle, id);
                }
            }
            if step.source == Origin::Loop {
                push(Activity::Work, point.at_ms.saturating_sub(began), id);
            }
        }
        let sum = |kind| {
            let of_kind = stretches.iter().filter(|stretch| stretch.kind == kind);
            of_kind.fold(0_u64, |sum, stretch| sum.saturating_add(stretch.ms))
        };
        let spans = strip(&stretches, width).into_iter();
        let time = |step: Option<&&superstep_core::checkpoint::Summary>| {
            step.map_or_else(|| place.id.unix_ms(), |step| step.id.unix_ms())
        };
        let (began_ms, ended_ms) = (time(past.first()), time(past.last()));
        Ok(Self {
            thread: place.thread.clone(),
            name: source.name_below(&place.thread),
            started_at: rfc3339(began_ms),
            ended_at: rfc3339(ended_ms),
            work_ms: sum(Activity::Work),
            wait_ms: sum(Activity::Wait),
            queue_ms: sum(Activity::Queue),
            spans: spans
                .map(|StripSpan { from, to, kind, stretch }| Span {
                    from,
                    to,
                    kind,
                    checkpoint: ends[stretch],
                })
                .collect(),
            began_ms,
            ended_ms,
        })
    }

    /// Describes the times in words.
    pub(super) fn told(&self) -> String {
        let Self { work_ms, wait_ms, queue_ms, .. } = self;
        let parts = [("worked", work_ms), ("waited for answers", wait_ms), ("waited for a run", queue_ms)];
        let parts = parts.into_iter().filter(|(what, ms)| *what == "worked" || **ms > 0);
        parts.map(|(what, ms)| format!("{what} {}", lasted(*ms))).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn show(&self, page: &mut Page) {
        let letter = |kind| match kind {
            Activity::Work => "█",
            Activity::Wait => "░",
            Activity::Queue => "·",
        };
        let line = self.spans.iter().map(|span| letter(span.kind).repeat((span.to - span.from) as usize));
        page.line([plain(line.collect::<String>())]);
        let (from, to) = (readable(self.began_ms), readable(self.ended_ms));
        page.line([plain(self.told()), span(DIM, format!("  {from} to {to}"))]);
    }
}

/// Returns `true` if a task of a checkpoint asked a question.
fn asks(source: &Source, place: &CheckpointRef) -> Result<bool, Failure> {
    let step = source.reader.steps(&place.thread, &At::Id(place.id), 1)?;
    Ok(step.first().is_some_and(|step| !step.work.asks.is_empty()))
}
