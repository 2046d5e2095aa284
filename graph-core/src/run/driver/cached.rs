//! The node cache: results are looked up before a node runs, and stored afterwards.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::checkpoint::RouteRecord;
use crate::error::{NodeError, NodeErrorKind};
use crate::graph::{NodeId, Program, Router};
use crate::id::Fingerprint;
use crate::node::{CachePolicy, Done, ErasedTask, Record, Running};
use crate::state::{CodecError, ErasedState, LoggedWrite};
use crate::store::Store;

/// The namespace of cached results; the names of the graph and the node follow.
pub(crate) const ROOT: &str = "node cache";

/// The part of a node's result that the cache keeps.
#[derive(Serialize, Deserialize)]
struct CachedResult {
    writes: Vec<LoggedWrite>,
    route: Option<RouteRecord>,
}

/// Starts a node that has a cache policy. If the cache fails, the node runs as without one.
pub(crate) fn start(
    policy: &CachePolicy,
    store: &Store,
    program: &Program,
    node: NodeId,
    task: ErasedTask,
) -> Running {
    let (policy, store) = (policy.clone(), store.clone());
    let code = program.node(node).code.clone().expect("only nodes with code are run");
    let router = program.node(node).router.clone();
    let names =
        [ROOT.to_string(), program.topology.name.to_string(), program.topology.node_name(node).to_string()];
    let schema = program.schema_fingerprint;
    Box::pin(async move {
        let codec = |error| NodeError::new(NodeErrorKind::Codec, error);
        let key = key(&policy, schema, &task).map_err(codec)?;
        let namespace = [names[0].as_str(), &names[1], &names[2]];
        if let Ok(Some(kept)) = store.get::<CachedResult>(&namespace, &key).await
            && let Ok(done) = kept.done(&*task.state, router.as_ref())
        {
            return Ok(done);
        }
        let done = code.start(task).await?;
        if let Some(kept) = CachedResult::of(&done, router.as_ref()).map_err(codec)? {
            let put = match policy.time_to_live {
                Some(time) => store.put_for(&namespace, &key, &kept, time).await,
                None => store.put(&namespace, &key, &kept).await,
            };
            // The node has done its work even if the result cannot be stored.
            drop(put);
        }
        Ok(done)
    })
}

fn key(policy: &CachePolicy, schema: Fingerprint, task: &ErasedTask) -> Result<String, CodecError> {
    let state = (policy.key)(&*task.state)?;
    let item = task.input.as_ref().map(|item| item.encode()).transpose()?;
    let item = item.as_ref().map_or("", |item| item.as_str());
    Ok(Fingerprint::hash(&[schema.as_bytes(), state.as_str().as_bytes(), item.as_bytes()]).to_string())
}

impl CachedResult {
    /// Returns the part of `done` that the cache stores; `None` for a subgraph that keeps its state, because its
    /// runs do not repeat each other.
    fn of(done: &Done, router: Option<&Router>) -> Result<Option<Self>, CodecError> {
        if done.record().kept.is_some() {
            return Ok(None);
        }
        let writes = done.update.as_ref().map(|update| update.encode()).transpose()?.unwrap_or_default();
        let route = match (router, &done.decision) {
            (Some(router), Some(decision)) => Some((router.encode)(&**decision)?),
            _ => None,
        };
        Ok(Some(Self { writes, route }))
    }

    fn done(self, state: &dyn ErasedState, router: Option<&Router>) -> Result<Done, CodecError> {
        let route = match (router, self.route) {
            (Some(router), Some(route)) => Some((router.decode)(&route.value)?),
            (Some(_), None) => return Err(CodecError::new("what is kept has no decision")),
            (None, _) => None,
        };
        let record = Record { cached: true, ..Record::default() };
        Ok(Done { decision: route, ..Done::stored(state.decode_update(&self.writes)?, Vec::new(), record) })
    }
}
