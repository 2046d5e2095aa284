//! Requests of the studio of a program, which names threads as the program does.

use serde_json::{Map, Value};
use superstep_core::id::ThreadId;
use superstep_core::records::{CancelAction, ThreadStatus};
use superstep_core::run::{AnyGraph, AnyState, Past};

use super::state::thread_id;
use super::{Scope, Service};
use crate::wire::Failure;
use crate::wire::run::CancelMany;

impl Service {
    /// Returns the graph of a thread; `None` if it is not served here.
    async fn lent_graph(&self, thread: &str) -> Result<Option<&AnyGraph>, Failure> {
        match self.thread_row(&Scope::default(), thread).await {
            Ok(row) => Ok(row.graph.as_ref().and_then(|graph| self.0.graphs.named(graph.as_str()))),
            Err(failure) if failure.status == 404 => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the name of the graph of a thread; `None` if it is not served here.
    pub(crate) async fn graph_name(&self, thread: &str) -> Result<Option<String>, Failure> {
        Ok(self.lent_graph(thread).await?.map(|graph| graph.name().to_string()))
    }

    /// Returns the latest checkpoint of a thread.
    pub(crate) async fn head(&self, thread: &str) -> Result<Past<AnyState>, Failure> {
        let unknown = || Failure::not_found(format!("Thread with ID {thread} not found"));
        let graph = self.lent_graph(thread).await?.ok_or_else(unknown)?;
        Ok(graph.thread(thread_id(thread)).head().await?)
    }

    /// Returns the JSON Schemas of the answers to the open questions of a thread, by the ids of the questions. `null`
    /// if its graph is not served here, or its state does not fit that.
    pub(crate) async fn answer_schemas(&self, thread: &str) -> Result<Value, Failure> {
        let Some(graph) = self.lent_graph(thread).await? else { return Ok(Value::Null) };
        let head = match graph.thread(thread_id(thread)).head().await {
            Ok(head) => head,
            Err(error) => {
                tracing::warn!(%error, thread, "the questions of a thread have no schemas");
                return Ok(Value::Null);
            }
        };
        let schemas = head.interrupts().into_iter().filter_map(|asked| {
            let schema = asked.answer_schema?.decode::<Value>().ok()?;
            Some((asked.id.to_string(), schema))
        });
        Ok(Value::Object(schemas.collect::<Map<_, _>>()))
    }

    /// Returns `true` if a run is working on a thread, or is to.
    pub(crate) async fn is_busy(&self, thread: &ThreadId) -> Result<bool, Failure> {
        let row = self.0.records.thread(thread).await?;
        let is_running = row.is_some_and(|row| row.status == ThreadStatus::Busy);
        Ok(is_running || !self.active(thread).await?.is_empty())
    }

    /// Updates the row of a thread whose latest checkpoint was changed by something else than a run.
    pub(crate) async fn note_change(&self, thread: &ThreadId) -> Result<(), Failure> {
        if let Some(graph) = self.lent_graph(thread.as_str()).await? {
            self.rested(&graph.thread(thread.clone())).await?;
        }
        Ok(())
    }

    /// Asks for the end of the runs of a thread.
    pub(crate) async fn cancel_thread(&self, thread: &str) -> Result<(), Failure> {
        let runs = self.active(&thread_id(thread)).await?;
        let request = CancelMany {
            thread: Some(thread.to_owned()),
            runs: Some(runs.into_iter().map(|run| run.id).collect()),
            statuses: Vec::new(),
            action: CancelAction::Interrupt,
        };
        self.cancel_many(&Scope::default(), request).await
    }
}
