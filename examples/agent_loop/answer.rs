//! What the program prints at the end.

use std::path::Path;

use serde::Serialize;
use serde_json::json;
use superstep::nodes::graphs::AgentState;
use superstep::nodes::message::Message;
use superstep::nodes::model::extractive::{Source, sources};
use superstep::nodes::node::is_complete;
use superstep::run::Run;

use crate::arguments::Arguments;

/// The answer, and how it came about.
#[derive(Serialize)]
pub(crate) struct Answer {
    response: String,
    sources: Vec<Source>,
    complete: bool,
    iterations: u32,
    llm_calls: serde_json::Value,
    thread_id: String,
    checkpoint_id: Option<String>,
    checkpoints: usize,
    db: String,
}

impl Answer {
    pub(crate) fn of(run: &Run<AgentState>, checkpoints: usize, db: &Path) -> Self {
        let state = &run.state;
        let response = state.response.clone().unwrap_or_default();
        let calls = &state.llm_calls;
        let said = state.messages.iter().rev().find_map(|message| match message {
            Message::Ai(said) => Some(said),
            _ => None,
        });
        Self {
            sources: sources(&response),
            complete: said.is_some_and(is_complete),
            iterations: state.iteration,
            llm_calls: json!({
                "agent": calls.agent,
                "evaluator": calls.evaluator,
                "ranker": calls.ranker,
                "decider": calls.decider,
                "total": calls.total(),
            }),
            thread_id: run.thread.to_string(),
            checkpoint_id: run.checkpoint.map(|id| id.to_string()),
            checkpoints,
            db: db.display().to_string(),
            response,
        }
    }

    pub(crate) fn print(&self, arguments: &Arguments) {
        if arguments.json {
            println!("{}", serde_json::to_string(self).expect("an answer has a JSON form"));
            return;
        }
        println!("{}\n", self.response);
        println!(
            "{} model calls in {} iterations; {} checkpoints of thread {} in {}",
            self.llm_calls["total"], self.iterations, self.checkpoints, self.thread_id, self.db
        );
    }
}
