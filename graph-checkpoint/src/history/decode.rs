//! Decodes a checkpoint's texts; [`manifest`](crate::history::manifest) describes their form.

use std::collections::BTreeMap;

use foldhash::HashMap;
use serde::{Deserialize, Deserializer};
use superstep_core::checkpoint::{
    Cause, DeferredNode, Frontier, Handled, JoinProgress, Kept, NextTask, RouteRecord, StoreError, TaskRecord,
};
use superstep_core::id::NodeName;
use superstep_core::state::{Change, FieldId, Json, Logged, LoggedWrite, Op};

use crate::error::corrupt;
use crate::history::manifest::Bodies;

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
    deferred: Vec<DeferredNode>,
    #[serde(default)]
    kept: Vec<Kept>,
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
    #[serde(default)]
    handled: Option<Box<Handled>>,
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

/// Reads a member that exists as a value, even if it is JSON's `null`.
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

/// Returns the positions at which the subgraphs continue whose state a checkpoint keeps.
pub(crate) fn kept(manifest: &str) -> Result<Vec<Kept>, StoreError> {
    #[derive(Deserialize)]
    struct Keeping {
        #[serde(default)]
        kept: Vec<Kept>,
    }
    let keeping: Keeping = serde_json::from_str(manifest).map_err(bad)?;
    Ok(keeping.kept)
}

/// The tasks that are planned on a checkpoint, without their inputs, and the positions at which the subgraphs continue
/// whose state it keeps.
pub(crate) struct Planned {
    pub(crate) tasks: Vec<NextTask>,
    pub(crate) kept: Vec<Kept>,
}

pub(crate) fn planned(manifest: &str) -> Result<Planned, StoreError> {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(default)]
        next: Vec<Task>,
        #[serde(default)]
        kept: Vec<Kept>,
    }
    #[derive(Deserialize)]
    struct Task {
        node: NodeName,
        cause: Cause,
    }
    let Stored { next, kept } = serde_json::from_str(manifest).map_err(bad)?;
    let task = |Task { node, cause }| NextTask { node, cause, input: None };
    Ok(Planned { tasks: next.into_iter().map(task).collect(), kept })
}

/// The parts of a checkpoint that are in its texts.
pub(crate) struct Decoded {
    pub(crate) changes: Vec<Change>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) frontier: Frontier,
    pub(crate) metadata: BTreeMap<String, Json>,
}

pub(crate) fn decode(
    changes: Vec<Change>,
    manifest: &str,
    bodies: &impl Bodies,
) -> Result<Decoded, StoreError> {
    let stored: StoredManifest = serde_json::from_str(manifest).map_err(bad)?;
    let tasks = stored.tasks.into_iter().map(|task| task.resolve(&changes, bodies));
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
        deferred: stored.deferred,
        kept: stored.kept,
    };
    Ok(Decoded { changes, tasks, frontier, metadata: stored.metadata })
}

impl StoredTask {
    fn resolve(self, changes: &[Change], bodies: &impl Bodies) -> Result<TaskRecord, StoreError> {
        let writes = self.writes.into_iter().map(|write| write.resolve(changes, bodies));
        let writes = writes.collect::<Result<_, _>>()?;
        let route = match self.route {
            None => None,
            Some(route) => Some(RouteRecord {
                case: route.case,
                value: either(route.value, route.value_body, bodies)?
                    .ok_or_else(|| bad("a route without a value"))?,
            }),
        };
        Ok(TaskRecord { node: self.node, writes, route, targets: self.targets, handled: self.handled })
    }
}

impl StoredWrite {
    fn resolve(self, changes: &[Change], bodies: &impl Bodies) -> Result<LoggedWrite, StoreError> {
        if let Some((change, op)) = self.op {
            let change = changes.get(change).ok_or_else(|| bad("a write refers to no change"))?;
            let op = change.ops.get(op).ok_or_else(|| bad("a write refers to no operation"))?;
            return Ok(LoggedWrite { field: change.field, write: Logged::Op(op.clone()) });
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

/// The part of a manifest that a history entry shows.
#[derive(Debug, Deserialize)]
pub(crate) struct Outline {
    #[serde(default)]
    tasks: Vec<OutlineNode>,
    #[serde(default)]
    next: Vec<OutlineNode>,
    #[serde(default)]
    metadata: BTreeMap<String, Json>,
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

    /// Returns `true` if the checkpoint has next nodes.
    #[cfg(feature = "sqlite")]
    pub(crate) fn leads_on(&self) -> bool {
        self.next.iter().any(|next| !next.node.is_end())
    }

    /// Returns the nodes that ran, the next nodes, and the metadata.
    pub(crate) fn parts(&self) -> (Vec<NodeName>, Vec<NodeName>, BTreeMap<String, Json>) {
        let next = self.next.iter().filter(|next| !next.node.is_end());
        let name = |named: &OutlineNode| named.node.clone();
        (self.tasks.iter().map(name).collect(), next.map(name).collect(), self.metadata.clone())
    }
}

/// The outlines of a listing, by manifest. The steps of a loop have the same manifest, which is parsed once.
#[derive(Default)]
pub(crate) struct Outlines(HashMap<String, Outline>);

/// The maximum number of outlines that are kept.
const OUTLINES: usize = 64;

impl Outlines {
    pub(crate) fn of(&mut self, manifest: &str) -> Result<&Outline, StoreError> {
        if !self.0.contains_key(manifest) {
            if self.0.len() == OUTLINES {
                self.0.clear();
            }
            self.0.insert(manifest.to_owned(), Outline::parse(manifest)?);
        }
        Ok(&self.0[manifest])
    }
}
