//! A checkpoint as JSON text, and back.
//!
//! Written by hand, because values are JSON text already: they are copied, not encoded again. Read by serde.
//!
//! ```text
//! changes   [{"field":0,"prev":12,"ops":[{"extend":["a"]}]}, …]     prev: the checkpoint with the version
//!                                                                   before; [12,3] when it was field 3 there
//! manifest  {"tasks":[{"node":"n","writes":[{"op":[0,0]}, …]}],     op: change 0, operation 0, stored there
//!            "next":[{"node":"m","cause":{"tasks":[0]}}], "joins":[…], "metadata":{…}}
//! ```
//!
//! In both, `x_body` in the place of `x` is a text that is kept in the table `body`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use superstep_core::checkpoint::{
    Cause, Checkpoint, Frontier, JoinProgress, NextTask, RouteRecord, StoreError, TaskRecord,
};
use superstep_core::id::NodeName;
use superstep_core::state::{Change, FieldId, Json, Logged, LoggedWrite, Op};

use crate::fault::corrupt;

/// Every so many checkpoints of a branch, and wherever its schema changes, the whole map from field to version
/// is stored.
pub const MAP_EVERY: u32 = 64;

/// Texts from this size on are stored once per content.
const BODY_FROM: usize = 4096;

/// Where a field's version is: in the changes of a checkpoint, under the field's id in that one's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) seq: i64,
    pub(crate) field: FieldId,
}

/// The map from field to version at one checkpoint.
pub(crate) type Fields = Vec<Option<Version>>;

/// Keeps and finds long texts.
pub(crate) trait Bodies {
    fn keep(&self, text: &str) -> Result<i64, StoreError>;
    fn find(&self, id: i64) -> Result<Json, StoreError>;
}

/// Writes the parts of one row.
pub(crate) struct Encoder<'a, B> {
    pub(crate) bodies: &'a B,
    pub(crate) out: &'a mut String,
}

fn push_int(out: &mut String, value: i64) {
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
    /// The changes, each with the version before it; `fields` then holds the versions after them.
    pub(crate) fn changes(
        &mut self,
        changes: &[Change],
        seq: i64,
        fields: &mut Fields,
    ) -> Result<(), StoreError> {
        self.out.push('[');
        for (position, change) in changes.iter().enumerate() {
            let index = change.field.index();
            if fields.len() <= index {
                fields.resize(index + 1, None);
            }
            self.out.push_str(if position == 0 {
                "{\"field\":"
            } else {
                ",{\"field\":"
            });
            push_int(self.out, i64::from(change.field.0));
            let whole = change.ops.first().is_some_and(Op::is_whole);
            if let Some(version) = fields[index].filter(|_| !whole) {
                self.out.push_str(",\"prev\":");
                self.version(version, change.field);
            }
            self.out.push_str(",\"ops\":[");
            for (position, op) in change.ops.iter().enumerate() {
                if position > 0 {
                    self.out.push(',');
                }
                self.op(op)?;
            }
            self.out.push_str("]}");
            fields[index] = Some(Version {
                seq,
                field: change.field,
            });
        }
        self.out.push(']');
        Ok(())
    }

    /// The whole map.
    pub(crate) fn fields(&mut self, fields: &Fields) {
        self.out.push('[');
        for (index, version) in fields.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            match version {
                Some(version) => {
                    let field = FieldId(u16::try_from(index).unwrap_or(u16::MAX));
                    self.version(*version, field);
                }
                None => self.out.push_str("null"),
            }
        }
        self.out.push(']');
    }

    /// Everything else of a checkpoint that is not a column of its own.
    pub(crate) fn manifest(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.out.push('{');
        let mut first = true;
        let mut used = vec![0; checkpoint.changes.len()];
        self.list("tasks", &mut first, &checkpoint.tasks, |encoder, task| {
            encoder.task(task, &checkpoint.changes, &mut used)
        })?;
        self.list("next", &mut first, &checkpoint.frontier.tasks, Self::next)?;
        self.list(
            "joins",
            &mut first,
            &checkpoint.frontier.joins,
            |encoder, join| encoder.plain(join),
        )?;
        if !checkpoint.metadata.is_empty() {
            self.out.push_str(if first {
                "\"metadata\":{"
            } else {
                ",\"metadata\":{"
            });
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

    fn version(&mut self, version: Version, field: FieldId) {
        if version.field == field {
            push_int(self.out, version.seq);
        } else {
            self.out.push('[');
            push_int(self.out, version.seq);
            self.out.push(',');
            push_int(self.out, i64::from(version.field.0));
            self.out.push(']');
        }
    }

    fn op(&mut self, op: &Op) -> Result<(), StoreError> {
        self.out.push('{');
        self.payload(op.name(), op.operand())?;
        self.out.push('}');
        Ok(())
    }

    /// The member `name`, or `name_body` when the value is long.
    fn payload(&mut self, name: &str, value: &Json) -> Result<(), StoreError> {
        self.out.push('"');
        self.out.push_str(name);
        if value.as_str().len() < BODY_FROM {
            self.out.push_str("\":");
            self.out.push_str(value.as_str());
        } else {
            self.out.push_str("_body\":");
            let id = self.bodies.keep(value.as_str())?;
            push_int(self.out, id);
        }
        Ok(())
    }

    fn task(&mut self, task: &TaskRecord, changes: &[Change], used: &mut [usize]) -> Result<(), StoreError> {
        self.out.push_str("{\"node\":");
        push_text(self.out, task.node.as_str());
        let mut first = false;
        self.list("writes", &mut first, &task.writes, |encoder, write| {
            encoder.write(write, changes, used)
        })?;
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
        self.out.push('}');
        Ok(())
    }

    /// A write that is an operation of `changes` is stored there only. Operations are in task order, so the
    /// search goes on from where the last one was found.
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

/// One change as stored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredChange {
    pub(crate) field: FieldId,
    #[serde(default)]
    prev: Option<StoredVersion>,
    pub(crate) ops: Vec<StoredOp>,
}

impl StoredChange {
    pub(crate) fn prev(&self) -> Option<Version> {
        self.prev.map(|prev| prev.of(self.field))
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum StoredVersion {
    Same(i64),
    Other(i64, FieldId),
}

impl StoredVersion {
    fn of(self, field: FieldId) -> Version {
        match self {
            Self::Same(seq) => Version { seq, field },
            Self::Other(seq, field) => Version { seq, field },
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredOp {
    Set(Json),
    SetBody(i64),
    Extend(Json),
    ExtendBody(i64),
    MapPut(Json),
    MapPutBody(i64),
    MapRemove(Json),
    MapRemoveBody(i64),
    SetAdd(Json),
    SetAddBody(i64),
    SetRemove(Json),
    SetRemoveBody(i64),
    Keyed(Json),
    KeyedBody(i64),
}

impl StoredOp {
    pub(crate) fn resolve(&self, bodies: &impl Bodies) -> Result<Op, StoreError> {
        Ok(match self {
            Self::Set(json) => Op::Set(json.clone()),
            Self::SetBody(id) => Op::Set(bodies.find(*id)?),
            Self::Extend(json) => Op::Extend(json.clone()),
            Self::ExtendBody(id) => Op::Extend(bodies.find(*id)?),
            Self::MapPut(json) => Op::MapPut(json.clone()),
            Self::MapPutBody(id) => Op::MapPut(bodies.find(*id)?),
            Self::MapRemove(json) => Op::MapRemove(json.clone()),
            Self::MapRemoveBody(id) => Op::MapRemove(bodies.find(*id)?),
            Self::SetAdd(json) => Op::SetAdd(json.clone()),
            Self::SetAddBody(id) => Op::SetAdd(bodies.find(*id)?),
            Self::SetRemove(json) => Op::SetRemove(json.clone()),
            Self::SetRemoveBody(id) => Op::SetRemove(bodies.find(*id)?),
            Self::Keyed(json) => Op::Keyed(json.clone()),
            Self::KeyedBody(id) => Op::Keyed(bodies.find(*id)?),
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredManifest {
    #[serde(default)]
    tasks: Vec<StoredTask>,
    #[serde(default)]
    next: Vec<StoredNext>,
    #[serde(default)]
    joins: Vec<JoinProgress>,
    #[serde(default)]
    metadata: BTreeMap<String, Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTask {
    node: NodeName,
    #[serde(default)]
    writes: Vec<StoredWrite>,
    #[serde(default)]
    route: Option<StoredRoute>,
    #[serde(default)]
    targets: Vec<NodeName>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredWrite {
    #[serde(default)]
    op: Option<(usize, usize)>,
    #[serde(default)]
    field: Option<FieldId>,
    #[serde(default)]
    did: Option<StoredOp>,
    #[serde(default, deserialize_with = "present")]
    reduce: Option<Json>,
    #[serde(default)]
    reduce_body: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRoute {
    case: String,
    #[serde(default, deserialize_with = "present")]
    value: Option<Json>,
    #[serde(default)]
    value_body: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredNext {
    node: NodeName,
    cause: Cause,
    #[serde(default, deserialize_with = "present")]
    input: Option<Json>,
    #[serde(default)]
    input_body: Option<i64>,
}

/// A member that is there is a value, also when it is JSON's `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

fn either(inline: Option<Json>, body: Option<i64>, bodies: &impl Bodies) -> Result<Option<Json>, StoreError> {
    match (inline, body) {
        (Some(json), _) => Ok(Some(json)),
        (None, Some(id)) => bodies.find(id).map(Some),
        (None, None) => Ok(None),
    }
}

fn bad(reason: impl core::fmt::Display) -> StoreError {
    corrupt("a checkpoint's manifest", reason)
}

pub(crate) fn parse_changes(text: &str) -> Result<Vec<StoredChange>, StoreError> {
    serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's changes", error))
}

/// The versions that changes at `seq` made.
pub(crate) fn changed_fields(text: &str, seq: i64) -> Result<Fields, StoreError> {
    #[derive(Deserialize)]
    struct Outline {
        field: FieldId,
    }
    let changes: Vec<Outline> =
        serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's changes", error))?;
    let mut fields = Fields::new();
    for Outline { field } in changes {
        fields.resize(fields.len().max(field.index() + 1), None);
        fields[field.index()] = Some(Version { seq, field });
    }
    Ok(fields)
}

pub(crate) fn parse_fields(text: &str) -> Result<Fields, StoreError> {
    let stored: Vec<Option<StoredVersion>> =
        serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's field map", error))?;
    let ids = (0..=u16::MAX).map(FieldId);
    Ok(stored
        .into_iter()
        .zip(ids)
        .map(|(stored, field)| stored.map(|stored| stored.of(field)))
        .collect())
}

/// The parts of a checkpoint that are in its texts.
pub(crate) struct Decoded {
    pub(crate) changes: Vec<Change>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) frontier: Frontier,
    pub(crate) metadata: BTreeMap<String, Json>,
}

pub(crate) fn decode(
    changes: &[StoredChange],
    manifest: &str,
    bodies: &impl Bodies,
) -> Result<Decoded, StoreError> {
    let changes = changes
        .iter()
        .map(|change| {
            let ops = change
                .ops
                .iter()
                .map(|op| op.resolve(bodies))
                .collect::<Result<_, _>>()?;
            Ok(Change {
                field: change.field,
                ops,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    let stored: StoredManifest = serde_json::from_str(manifest).map_err(bad)?;
    let tasks = stored
        .tasks
        .into_iter()
        .map(|task| task.resolve(&changes, bodies));
    let tasks = tasks.collect::<Result<_, _>>()?;
    let next = stored.next.into_iter().map(|task| {
        Ok(NextTask {
            node: task.node,
            cause: task.cause,
            input: either(task.input, task.input_body, bodies)?,
        })
    });
    let frontier = Frontier {
        tasks: next.collect::<Result<_, StoreError>>()?,
        joins: stored.joins,
    };
    Ok(Decoded {
        changes,
        tasks,
        frontier,
        metadata: stored.metadata,
    })
}

impl StoredTask {
    fn resolve(self, changes: &[Change], bodies: &impl Bodies) -> Result<TaskRecord, StoreError> {
        let writes = self
            .writes
            .into_iter()
            .map(|write| write.resolve(changes, bodies));
        let writes = writes.collect::<Result<_, _>>()?;
        let route = match self.route {
            None => None,
            Some(route) => Some(RouteRecord {
                case: route.case,
                value: either(route.value, route.value_body, bodies)?
                    .ok_or_else(|| bad("a route without a value"))?,
            }),
        };
        Ok(TaskRecord {
            node: self.node,
            writes,
            route,
            targets: self.targets,
        })
    }
}

impl StoredWrite {
    fn resolve(self, changes: &[Change], bodies: &impl Bodies) -> Result<LoggedWrite, StoreError> {
        if let Some((change, op)) = self.op {
            let change = changes
                .get(change)
                .ok_or_else(|| bad("a write refers to no change"))?;
            let op = change
                .ops
                .get(op)
                .ok_or_else(|| bad("a write refers to no operation"))?;
            return Ok(LoggedWrite {
                field: change.field,
                write: Logged::Op(op.clone()),
            });
        }
        let field = self.field.ok_or_else(|| bad("a write without a field"))?;
        let write = match self.did {
            Some(op) => Logged::Op(op.resolve(bodies)?),
            None => Logged::Reduce(
                either(self.reduce, self.reduce_body, bodies)?
                    .ok_or_else(|| bad("a write without an operation"))?,
            ),
        };
        Ok(LoggedWrite { field, write })
    }
}

/// What a line of history shows of a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Outline {
    #[serde(default)]
    tasks: Vec<OutlineNode>,
    #[serde(default)]
    next: Vec<OutlineNode>,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, Json>,
}

#[derive(Debug, Deserialize)]
struct OutlineNode {
    node: NodeName,
}

impl Outline {
    pub(crate) fn parse(manifest: &str) -> Result<Self, StoreError> {
        serde_json::from_str(manifest).map_err(bad)
    }

    pub(crate) fn is_next(&self, node: &NodeName) -> bool {
        self.next.iter().any(|next| next.node == *node)
    }

    pub(crate) fn ran(&self) -> Vec<NodeName> {
        self.tasks.iter().map(|task| task.node.clone()).collect()
    }

    pub(crate) fn next(&self) -> Vec<NodeName> {
        self.next.iter().map(|task| task.node.clone()).collect()
    }
}
