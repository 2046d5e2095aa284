//! Encodes a checkpoint's texts; [`manifest`](crate::history::manifest) describes their form.

use serde::Serialize;
use superstep_core::checkpoint::{Cause, Checkpoint, Frontier, NextTask, StoreError, TaskRecord};
use superstep_core::state::{Change, Json, Logged, LoggedWrite, Op};

use crate::history::manifest::Bodies;

/// Encodes the parts of one row.
pub(crate) struct Encoder<'a, B> {
    pub(crate) bodies: &'a B,
    pub(crate) out: &'a mut String,
}

pub(crate) fn push_int(out: &mut String, value: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

fn push_text(out: &mut String, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(Json::encode(text).as_ref().map_or("\"\"", Json::as_str));
    }
}

impl<B: Bodies> Encoder<'_, B> {
    /// Encodes all parts of a checkpoint that do not have their own columns.
    pub(crate) fn manifest(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.out.push('{');
        let mut first = true;
        let mut used = vec![0; checkpoint.changes.len()];
        self.list("tasks", &mut first, &checkpoint.tasks, |encoder, task| {
            encoder.task(task, &checkpoint.changes, &mut used)
        })?;
        self.list("next", &mut first, &checkpoint.frontier.tasks, Self::next)?;
        let Frontier { joins, deferred, kept, .. } = &checkpoint.frontier;
        self.list("joins", &mut first, joins, |encoder, join| encoder.plain(join))?;
        self.list("deferred", &mut first, deferred, |encoder, node| encoder.plain(node))?;
        self.list("kept", &mut first, kept, |encoder, kept| encoder.plain(kept))?;
        if !checkpoint.metadata.is_empty() {
            self.out.push_str(if first { "\"metadata\":{" } else { ",\"metadata\":{" });
            for (position, (key, value)) in checkpoint.metadata.iter().enumerate() {
                if position > 0 {
                    self.out.push(',');
                }
                push_text(self.out, key);
                self.out.push(':');
                self.out.push_str(value.as_str());
            }
            self.out.push('}');
        }
        self.out.push('}');
        Ok(())
    }

    fn list<T>(
        &mut self,
        name: &str,
        first: &mut bool,
        items: &[T],
        mut each: impl FnMut(&mut Self, &T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if items.is_empty() {
            return Ok(());
        }
        self.out.push_str(if *first { "\"" } else { ",\"" });
        *first = false;
        self.out.push_str(name);
        self.out.push_str("\":[");
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.out.push(',');
            }
            each(self, item)?;
        }
        self.out.push(']');
        Ok(())
    }

    pub(crate) fn op(&mut self, op: &Op) -> Result<(), StoreError> {
        self.out.push('{');
        self.payload(op.name(), op.operand())?;
        self.out.push('}');
        Ok(())
    }

    /// Encodes the member `name`, or `name_body` if the value is long.
    fn payload(&mut self, name: &str, value: &Json) -> Result<(), StoreError> {
        self.out.push('"');
        self.out.push_str(name);
        if self.bodies.is_long(value.as_str()) {
            self.out.push_str("_body\":");
            let id = self.bodies.keep(value.as_str())?;
            push_int(self.out, id);
        } else {
            self.out.push_str("\":");
            self.out.push_str(value.as_str());
        }
        Ok(())
    }

    fn task(&mut self, task: &TaskRecord, changes: &[Change], used: &mut [usize]) -> Result<(), StoreError> {
        self.out.push_str("{\"node\":");
        push_text(self.out, task.node.as_str());
        let mut first = false;
        self.list("writes", &mut first, &task.writes, |encoder, write| encoder.write(write, changes, used))?;
        if let Some(route) = &task.route {
            self.out.push_str(",\"route\":{\"case\":");
            push_text(self.out, &route.case);
            self.out.push(',');
            self.payload("value", &route.value)?;
            self.out.push('}');
        }
        self.list("targets", &mut first, &task.targets, |encoder, node| {
            push_text(encoder.out, node.as_str());
            Ok(())
        })?;
        if let Some(handled) = &task.handled {
            self.out.push_str(",\"handled\":");
            self.plain(handled)?;
        }
        self.out.push('}');
        Ok(())
    }

    /// Encodes a write. A write that is an operation of `changes` is only stored there. Operations are in task order,
    /// so the search continues after the last match.
    fn write(
        &mut self,
        write: &LoggedWrite,
        changes: &[Change],
        used: &mut [usize],
    ) -> Result<(), StoreError> {
        if let Logged::Op(op) = &write.write
            && let Some(position) = changes.iter().position(|change| change.field == write.field)
        {
            let from = used[position];
            let ops = changes[position].ops.iter().enumerate().skip(from).take(4);
            if let Some((index, _)) = ops.into_iter().find(|(_, stored)| same(stored, op)) {
                used[position] = index + 1;
                self.out.push_str("{\"op\":[");
                push_int(self.out, position as i64);
                self.out.push(',');
                push_int(self.out, index as i64);
                self.out.push_str("]}");
                return Ok(());
            }
        }
        self.out.push_str("{\"field\":");
        push_int(self.out, i64::from(write.field.0));
        self.out.push(',');
        match &write.write {
            Logged::Op(op) => {
                self.out.push_str("\"did\":");
                self.op(op)?;
            }
            Logged::Reduce(argument) => self.payload("reduce", argument)?,
        }
        self.out.push('}');
        Ok(())
    }

    fn next(&mut self, task: &NextTask) -> Result<(), StoreError> {
        self.out.push_str("{\"node\":");
        push_text(self.out, task.node.as_str());
        self.out.push_str(",\"cause\":");
        match &task.cause {
            Cause::Tasks(by) if by.len() == 1 => {
                self.out.push_str("{\"tasks\":[");
                push_int(self.out, i64::from(by[0]));
                self.out.push_str("]}");
            }
            cause => self.plain(cause)?,
        }
        if let Some(input) = &task.input {
            self.out.push(',');
            self.payload("input", input)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn plain<T: Serialize>(&mut self, value: &T) -> Result<(), StoreError> {
        let text = Json::encode(value).map_err(|error| StoreError::Io(Box::new(error)))?;
        self.out.push_str(text.as_str());
        Ok(())
    }
}

fn same(stored: &Op, op: &Op) -> bool {
    let same_kind = core::mem::discriminant(stored) == core::mem::discriminant(op);
    same_kind && (stored.operand().same_text(op.operand()) || stored.operand() == op.operand())
}
