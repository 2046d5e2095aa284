//! Commands of the thread protocol.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use superstep_core::records::ThreadStatus;

use super::state::checkpoint_id;
use super::{Scope, Service, new_id};
use crate::protocol::{Code, Command, CommandRequest, Respond, failed, succeeded};
use crate::wire::Failure;
use crate::wire::ids::hexadecimal;
use crate::wire::request::{Command as RunCommand, RunCreate};
use crate::wire::state_request::StateAt;
use crate::work::branched;

impl Service {
    /// Carries out a command. Returns the status and the body of the response.
    pub(crate) async fn command(&self, scope: &Scope, thread: &str, body: &Value) -> (u16, Value) {
        let CommandRequest { id, command } = match CommandRequest::read(body) {
            Ok(request) => request,
            Err(response) => return response,
        };
        // This is read first: clients take events with higher numbers for those of the run that the command starts.
        let last = match self.last_message(&super::state::thread_id(thread)).await {
            Ok(last) => last,
            Err(failure) => return (200, failed(id, Code::UnknownError, &failure.detail)),
        };
        match self.carried_out(scope, thread, command).await {
            Ok(result) => (200, succeeded(id, result, last)),
            Err((code, message)) => (200, failed(id, code, &message)),
        }
    }

    async fn carried_out(
        &self,
        scope: &Scope,
        thread: &str,
        command: Command,
    ) -> Result<Value, (Code, String)> {
        let wrong = |failure: Failure| (Code::of(&failure), failure.detail);
        self.present_or_future(scope, thread).await.map_err(wrong)?;
        match command {
            Command::RunStart(run) => self.run_start(scope, thread, *run).await.map_err(wrong),
            Command::Respond(respond) => self.respond(scope, thread, respond).await,
            Command::Subscribe(_) => Ok(json!({ "subscription_id": new_id(), "replayed_events": 0 })),
            Command::Unsubscribe => Ok(json!({})),
            Command::GetTree => {
                let idle = "No active run is bound to this thread.";
                let row = self.thread_row(scope, thread).await;
                let row = row.map_err(|failure| wrong(failure.if_missing(idle)))?;
                if row.status != ThreadStatus::Busy {
                    return Err((Code::NoSuchRun, idle.to_owned()));
                }
                let at = StateAt { subgraphs: true, ..StateAt::default() };
                let state = self.state(scope, thread, at).await.map_err(wrong)?;
                Ok(json!({ "tasks": state["tasks"] }))
            }
            Command::StateGet(at) => self.state(scope, thread, at).await.map_err(wrong),
            Command::ListCheckpoints(request) => {
                let states = self.history(scope, thread, request).await.map_err(wrong)?;
                Ok(json!({ "checkpoints": states }))
            }
            Command::Fork(checkpoint) => self.fork(scope, thread, &checkpoint).await.map_err(wrong),
        }
    }

    /// Starts a run. On a thread with open questions, the input is the answer.
    async fn run_start(&self, scope: &Scope, thread: &str, mut run: RunCreate) -> Result<Value, Failure> {
        if run.kwargs.command.is_none() && run.kwargs.checkpoint.is_none() && run.kwargs.input.is_some() {
            let state = match self.state(scope, thread, StateAt::default()).await {
                Err(failure) if failure.status == 404 => Value::Null,
                state => state?,
            };
            let asks = state["interrupts"].as_array().is_some_and(|open| !open.is_empty());
            if asks {
                run.kwargs.command =
                    Some(RunCommand { resume: run.kwargs.input.take(), ..RunCommand::default() });
            }
        }
        let run = self.create_run(scope, Some(thread), run).await?;
        Ok(json!({ "run_id": run.id }))
    }

    async fn respond(&self, scope: &Scope, thread: &str, respond: Respond) -> Result<Value, (Code, String)> {
        let wrong = |failure: Failure| (Code::of(&failure), failure.detail);
        let row = self.thread_row(scope, thread).await.map_err(wrong)?;
        let state = self.state(scope, thread, StateAt::default()).await.map_err(wrong)?;
        let open: Vec<&str> = state["interrupts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|ask| ask["id"].as_str())
            .collect();
        for (id, _) in &respond.answers {
            if !open.contains(&hexadecimal(id).as_str()) {
                return Err((Code::NoSuchInterrupt, format!("question {id} is not open")));
            }
        }
        let mut body = respond.run;
        let assistant = ["assistant_id", "graph_id"].iter().find_map(|name| row.metadata.get(*name));
        if let Some(assistant) = assistant {
            body.entry("assistant_id").or_insert_with(|| assistant.clone());
        }
        let run = RunCreate::read(&body.into()).map_err(wrong)?;
        self.create_run(scope, Some(thread), run).await.map_err(wrong)?;
        Ok(json!({}))
    }

    /// Begins a branch at a checkpoint.
    async fn fork(&self, scope: &Scope, thread: &str, checkpoint: &str) -> Result<Value, Failure> {
        let row = self.thread_row(scope, thread).await?;
        if row.status == ThreadStatus::Busy {
            return Err(Failure::conflict("Thread is already running a task. Wait for it to finish."));
        }
        let unknown = || Failure::not_found(format!("Checkpoint {checkpoint} not found"));
        let graph = self.graph_of(&row)?.ok_or_else(unknown)?;
        let thread = graph.thread(row.id.clone());
        let copy = branched(
            &thread.at(checkpoint_id(checkpoint)?).await?,
            thread.head().await?.id(),
            BTreeMap::new(),
        )
        .await?;
        self.rested(&thread).await?;
        Ok(json!({ "checkpoint_id": copy.to_string() }))
    }
}
