//! New threads with a given past, and threads that keep only their latest checkpoint.

use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::node::JsonOutcome;
use superstep_core::records::{ThreadChange, ThreadRow};

use super::{Service, new_id};
use crate::wire::state_request::{StateUpdate, Superstep};
use crate::wire::{Failure, values};

impl Service {
    /// Stores the supersteps of a request on a new thread.
    pub(super) async fn store_supersteps(
        &self,
        row: &ThreadRow,
        supersteps: &[Superstep],
    ) -> Result<(), Failure> {
        let without =
            || Failure::bad_request("supersteps need the entry \"graph_id\" in the metadata of the thread");
        let graph = self.graph_of(row)?.ok_or_else(without)?;
        let thread = graph.thread(row.id.clone());
        for Superstep(updates) in supersteps {
            match updates.as_slice() {
                [] => {}
                [single] => drop(self.apply(graph, &thread, single).await?),
                [first, rest @ ..] => {
                    let seed = new_id();
                    let schema = &graph.description().schema;
                    let outcome = |update: &StateUpdate| {
                        let unnamed =
                            || Failure::bad_request("each update of a superstep names its node in as_node");
                        let node = update.as_node.clone().ok_or_else(unnamed)?;
                        let values: Map<String, Value> = update
                            .values
                            .iter()
                            .flatten()
                            .map(|(name, value)| (name.clone(), value.clone()))
                            .collect();
                        let update = values::incoming(&values.into(), schema, &seed);
                        Ok::<_, Failure>((node, JsonOutcome::update(update)))
                    };
                    let (node, first) = outcome(first)?;
                    let mut edit = thread.edit_as_named(node, first);
                    for update in rest {
                        let (node, outcome) = outcome(update)?;
                        edit = edit.and_as_named(node, outcome);
                    }
                    edit.await?;
                }
            }
        }
        let change = ThreadChange { graph: Some(graph.name().clone()), ..ThreadChange::default() };
        self.0.records.change_thread(&row.id, change, self.now_ms()).await?;
        self.rested(&thread).await
    }

    /// Deletes the checkpoints of threads but their latest ones.
    pub(super) async fn keep_latest(&self, rows: &[ThreadRow]) -> Result<(), Failure> {
        let Some(saver) = self.0.graphs.iter().find_map(|graph| graph.saver()) else { return Ok(()) };
        let threads: Vec<_> = rows.iter().map(|row| row.id.clone()).collect();
        saver.keep_latest(&threads).await.map_err(|error| match error {
            StoreError::NoPruning => Failure::invalid(format!("keep_latest is not supported: {error}")),
            error => error.into(),
        })
    }
}
