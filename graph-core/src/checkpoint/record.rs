//! The size of records, which are stored beside the state.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use super::commit::{Carried, Commit};
use super::emitted::{Emitted, EmittedEvent};
use super::frontier::{Cause, Kept};
use super::model::{Checkpoint, RouteRecord};
use super::store_error::StoreError;
use super::work::{AskRecord, EffectOutcome, EffectRecord, FailureRecord, TaskResult};
use crate::error::ErrorReport;
use crate::state::limits::Size;
use crate::state::{Excess, Json, Logged, LoggedWrite, SizeLimits};

/// A record that a saver stores beside the state.
///
/// Savers [check](Self::check) records before they store any of them.
pub trait Record {
    /// Visits the parts of the record.
    #[doc(hidden)]
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>));

    /// Returns the name of the record for error messages.
    #[doc(hidden)]
    fn place(&self) -> String;

    /// Checks that the record may be stored. For a small record, only the lengths of its texts are read.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`].
    fn check(&self, limits: &SizeLimits) -> Result<(), StoreError> {
        let limits = limits.to_write();
        let mut bytes = 0_usize;
        self.visit(&mut |piece| bytes = bytes.saturating_add(piece.bytes_at_most()));
        // Each value takes at least two bytes.
        if bytes <= limits.most_bytes().min(limits.most_values()) {
            return Ok(());
        }
        let too_large = |excess| StoreError::TooLarge { place: self.place(), excess };
        measure(self, &limits).map_err(too_large)
    }
}

/// A part of a record.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Piece<'r> {
    /// A value.
    Json(&'r Json),
    /// A text.
    Text(&'r str),
    /// A container of this many values.
    Frame(usize),
}

/// The maximum size of a value in a container with its name, in bytes.
const FRAMED: usize = 24;

/// The size from which a text may be stored once, however often it occurs.
const LONG: usize = 4096;

impl Piece<'_> {
    fn bytes_at_most(self) -> usize {
        match self {
            Self::Json(json) => json.as_str().len(),
            // `\u0000` is the longest form of a byte.
            Self::Text(text) => 6 * text.len() + 2,
            Self::Frame(values) => FRAMED * values,
        }
    }
}

fn measure<R: Record + ?Sized>(record: &R, limits: &SizeLimits) -> Result<(), Excess> {
    let mut long = BTreeSet::new();
    let mut all = Ok(Size::default());
    record.visit(&mut |piece| {
        let Ok(size) = all else { return };
        let more = match piece {
            Piece::Json(json) => match limits.check(json.as_str()) {
                Ok(()) if json.as_str().len() < LONG => Size::of(json.as_str()),
                Ok(()) if long.insert(json.as_str()) => Size { bytes: json.as_str().len(), values: 1 },
                Ok(()) => Size { bytes: FRAMED, values: 1 },
                Err(excess) => return all = Err(excess),
            },
            Piece::Text(text) => {
                let escaped = text.bytes().filter(|byte| *byte < 0x20).count();
                let quoted = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
                Size { bytes: text.len() + 5 * escaped + quoted + 2, values: 1 }
            }
            Piece::Frame(values) => Size { bytes: FRAMED * values, values },
        };
        all = Ok(size.and(more));
    });
    // A reader allows more values, because a segment adds some to those of the records in it.
    let record = limits.values(limits.most_values() + limits.most_values() / 2);
    record.check_size(all?)
}

impl Record for Checkpoint {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        for change in &self.changes {
            visit(Piece::Frame(3));
            for op in &change.ops {
                visit(Piece::Frame(1));
                visit(Piece::Json(op.operand()));
            }
        }
        for task in &self.tasks {
            visit(Piece::Frame(2));
            visit(Piece::Text(task.node.as_str()));
            task.writes.iter().for_each(|write| of_write(write, visit));
            task.route.iter().for_each(|route| of_route(route, visit));
            task.targets.iter().for_each(|target| visit(Piece::Text(target.as_str())));
            task.handled.iter().for_each(|handled| of_error(&handled.error, visit));
        }
        for next in &self.frontier.tasks {
            visit(Piece::Frame(3));
            visit(Piece::Text(next.node.as_str()));
            of_cause(&next.cause, visit);
            next.input.iter().for_each(|input| visit(Piece::Json(input)));
        }
        for join in &self.frontier.joins {
            visit(Piece::Frame(3));
            visit(Piece::Text(join.target.as_str()));
            let nodes = join.sources.iter().chain(&join.arrived);
            nodes.for_each(|node| visit(Piece::Text(node.as_str())));
        }
        for deferred in &self.frontier.deferred {
            visit(Piece::Frame(2));
            visit(Piece::Text(deferred.node.as_str()));
            deferred.by.iter().for_each(|node| visit(Piece::Text(node.as_str())));
        }
        self.frontier.kept.iter().for_each(|kept| of_kept(kept, visit));
        for (key, value) in &self.metadata {
            visit(Piece::Text(key));
            visit(Piece::Json(value));
        }
    }

    fn place(&self) -> String {
        format!("checkpoint {} of step {}", self.id, self.step)
    }
}

impl Record for TaskResult {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(8));
        visit(Piece::Text(self.node.as_str()));
        self.writes.iter().for_each(|write| of_write(write, visit));
        self.route.iter().for_each(|route| of_route(route, visit));
        for target in self.targets.iter().flatten() {
            visit(Piece::Frame(1));
            visit(Piece::Text(target.node.as_str()));
            target.input.iter().for_each(|input| visit(Piece::Json(input)));
        }
        self.kept.iter().for_each(|kept| of_kept(kept, visit));
        self.handled.iter().for_each(|handled| of_error(&handled.error, visit));
        self.emitted.iter().for_each(|emitted| emitted.visit(visit));
    }

    fn place(&self) -> String {
        format!("the result of task {}", self.task)
    }
}

impl Record for FailureRecord {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(4));
        visit(Piece::Text(self.node.as_str()));
        of_error(&self.error, visit);
    }

    fn place(&self) -> String {
        format!("the failure of task {}", self.task)
    }
}

impl Record for AskRecord {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(8));
        visit(Piece::Text(self.node.as_str()));
        self.path.iter().for_each(|node| visit(Piece::Text(node.as_str())));
        visit(Piece::Text(&self.key));
        let default = self.deadline.as_ref().map(|deadline| &deadline.default);
        let values = [Some(&self.question), default, self.answer.as_ref()];
        values.into_iter().flatten().for_each(|value| visit(Piece::Json(value)));
    }

    fn place(&self) -> String {
        format!("question {}", self.id)
    }
}

impl Record for EffectRecord {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(8));
        visit(Piece::Text(&self.id.name));
        visit(Piece::Text(&self.id.key));
        self.outcome.iter().for_each(|outcome| outcome.visit(visit));
    }

    fn place(&self) -> String {
        format!("effect {} of task {}", self.id.name, self.id.task)
    }
}

impl Record for EffectOutcome {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(1));
        visit(match self {
            Self::Ok(value) => Piece::Json(value),
            Self::Err(text) => Piece::Text(text),
        });
    }

    fn place(&self) -> String {
        "the outcome of an effect".into()
    }
}

impl Record for Emitted {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Frame(3));
        for event in &self.events {
            visit(Piece::Frame(3));
            match event {
                EmittedEvent::Custom { name, data, .. } => {
                    visit(Piece::Text(name));
                    visit(Piece::Json(data));
                }
                EmittedEvent::Message { chunk, .. } => visit(Piece::Json(chunk)),
            }
        }
    }

    fn place(&self) -> String {
        "what a task emitted".into()
    }
}

impl Record for Json {
    fn visit<'r>(&'r self, visit: &mut dyn FnMut(Piece<'r>)) {
        visit(Piece::Json(self));
    }

    fn place(&self) -> String {
        "a value".into()
    }
}

impl Commit {
    /// Checks that all parts may be stored, except the state.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`].
    pub fn check(&self, limits: &SizeLimits) -> Result<(), StoreError> {
        self.input.iter().try_for_each(|input| input.check(limits))?;
        self.checkpoint.check(limits)?;
        self.emitted.iter().try_for_each(|(_, emitted)| emitted.check(limits))?;
        self.carried.iter().try_for_each(|carried| carried.check(limits))
    }
}

impl Carried {
    /// Checks that all parts may be stored.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`].
    pub fn check(&self, limits: &SizeLimits) -> Result<(), StoreError> {
        self.results.iter().try_for_each(|result| result.check(limits))?;
        self.failures.iter().try_for_each(|failure| failure.check(limits))?;
        self.asks.iter().try_for_each(|ask| ask.check(limits))?;
        self.effects.iter().try_for_each(|effect| effect.check(limits))
    }
}

fn of_write<'r>(write: &'r LoggedWrite, visit: &mut dyn FnMut(Piece<'r>)) {
    visit(Piece::Frame(4));
    visit(Piece::Json(match &write.write {
        Logged::Op(op) => op.operand(),
        Logged::Reduce(argument) => argument,
    }));
}

fn of_route<'r>(route: &'r RouteRecord, visit: &mut dyn FnMut(Piece<'r>)) {
    visit(Piece::Frame(1));
    visit(Piece::Text(&route.case));
    visit(Piece::Json(&route.value));
}

fn of_cause<'r>(cause: &'r Cause, visit: &mut dyn FnMut(Piece<'r>)) {
    visit(Piece::Frame(match cause {
        Cause::Input => 1,
        Cause::Each { .. } => 4,
        Cause::Tasks(by) | Cause::Join(by) => 2 + by.len(),
        Cause::Deferred(_) => 2,
    }));
    if let Cause::Deferred(by) = cause {
        by.iter().for_each(|node| visit(Piece::Text(node.as_str())));
    }
}

fn of_kept<'r>(kept: &'r Kept, visit: &mut dyn FnMut(Piece<'r>)) {
    visit(Piece::Frame(4));
    visit(Piece::Text(&kept.key));
    visit(Piece::Text(kept.thread.as_str()));
}

fn of_error<'r>(error: &'r ErrorReport, visit: &mut dyn FnMut(Piece<'r>)) {
    visit(Piece::Frame(6));
    visit(Piece::Text(&error.message));
    error.causes.iter().for_each(|cause| visit(Piece::Text(cause)));
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::id::TaskId;

    fn result(writes: Vec<LoggedWrite>) -> TaskResult {
        TaskResult {
            task: TaskId::from_bytes([7; 16]),
            node: "n".into(),
            writes,
            route: None,
            targets: None,
            kept: None,
            handled: None,
            emitted: None,
        }
    }

    fn set(text: &str) -> LoggedWrite {
        let value = Json::parse(text).unwrap();
        LoggedWrite { field: crate::state::FieldId(0), write: Logged::Op(crate::state::Op::Set(value)) }
    }

    #[test]
    fn a_long_text_counts_once_and_what_is_small_each_time() {
        let limits = SizeLimits::default().bytes(100_000).values(1000);
        let long = set(&format!("\"{}\"", "x".repeat(60_000)));
        result(vec![long.clone(); 10]).check(&limits).unwrap();
        let other = set(&format!("\"{}\"", "y".repeat(60_000)));
        let refused = result(vec![long, other]).check(&limits).unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { excess: Excess::Bytes(_), .. }), "{refused}");
        let refused = result(vec![set("[1,2]"); 400]).check(&limits).unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { excess: Excess::Values(_), .. }), "{refused}");
        let numbers = format!("[{}]", vec!["1"; 1100].join(","));
        let refused = result(vec![set(&numbers)]).check(&limits).unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { excess: Excess::Values(969), .. }), "{refused}");
        let prose = format!("\"{}\"", ", ".repeat(1100));
        result(vec![set(&prose)]).check(&limits).unwrap();
    }
}
