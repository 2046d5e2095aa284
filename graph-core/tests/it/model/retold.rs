//! Comparison of the events of a run with those rebuilt from the store.

use std::collections::BTreeSet;

use superstep::run::{EventKind, PathSegment, RunEvent, Status};

/// The events of a play: as they happened, and as they are rebuilt from the store.
pub(crate) struct Logs {
    pub(crate) live: Vec<RunEvent>,
    pub(crate) rebuilt: Vec<RunEvent>,
}

impl Logs {
    /// Compares all events of a play without trouble. The tasks of a superstep take turns at random, so the events
    /// between two events of the graph itself are compared in any order.
    pub(crate) fn compare_whole(&self) -> Result<(), String> {
        let (live, rebuilt) = (supersteps(&self.live), supersteps(&self.rebuilt));
        for (live, rebuilt) in live.iter().zip(&rebuilt) {
            if live != rebuilt {
                return Err(format!("live {live:#?}\nrebuilt {rebuilt:#?}"));
            }
        }
        if live.len() != rebuilt.len() {
            return Err(format!("live {live:#?}\nrebuilt {rebuilt:#?}"));
        }
        Ok(())
    }

    /// Checks for any play that each finished task occurs exactly once, however often it was tried, and no other
    /// does.
    pub(crate) fn compare_finished(&self) -> Result<(), String> {
        let live: BTreeSet<String> = self.live.iter().filter_map(finished).collect();
        let mut rebuilt: Vec<String> = self.rebuilt.iter().filter_map(finished).collect();
        rebuilt.sort();
        if live.iter().eq(&rebuilt) { Ok(()) } else { Err(format!("live {live:#?}\nrebuilt {rebuilt:#?}")) }
    }
}

/// Returns the place and the result of a finished task.
fn finished(event: &RunEvent) -> Option<String> {
    match &event.kind {
        EventKind::TaskFinished { step, task, node, writes, route, .. } => {
            Some(format!("{:?} {step}.{task} {node} {writes:?} {route:?}", path(event)))
        }
        _ => None,
    }
}

fn path(event: &RunEvent) -> Vec<PathSegment> {
    event.path.iter().map(|segment| PathSegment { attempt: 0, ..segment.clone() }).collect()
}

fn supersteps(events: &[RunEvent]) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = vec![Vec::new()];
    for event in events.iter().filter(|event| is_stored(event)) {
        let mut event = RunEvent { seq: 0, at_ms: 0, path: path(event), ..event.clone() };
        let mut is_border = event.path.is_empty();
        match &mut event.kind {
            EventKind::TaskStarted { attempt, .. } => (*attempt, is_border) = (0, false),
            EventKind::TaskFinished { .. } => is_border = false,
            _ => {}
        }
        let line = format!("{event:?}");
        if is_border {
            blocks.extend([vec![line], Vec::new()]);
        } else {
            blocks.last_mut().expect("there is one").push(line);
        }
    }
    blocks.iter_mut().for_each(|block| block.sort());
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Returns `true` if the store contains such an event.
fn is_stored(event: &RunEvent) -> bool {
    match &event.kind {
        EventKind::RunFinished { status } => *status == Status::Finished,
        EventKind::RunFailed { .. } => false,
        _ => true,
    }
}
