//! The output of the program at the end.

use std::fmt::Display;
use std::io;
use std::path::Path;

use serde::Serialize;
use superstep::nodes::graphs::AgentState;
use superstep::nodes::message::Message;
use superstep::nodes::model::Purpose;
use superstep::nodes::model::extractive::{Source, is_refusal, nearest, sources};
use superstep::nodes::node::{LlmCalls, is_complete};
use superstep::run::Run;
use superstep_examples::print;
use superstep_examples::progress::Shown;

use crate::arguments::Arguments;

/// The answer, with data about the turn.
#[derive(Serialize)]
pub(crate) struct Answer {
    response: String,
    sources: Vec<Source>,
    /// The closest places in the documents, if nothing could be quoted.
    nearest: Vec<Source>,
    answered: bool,
    complete: bool,
    /// The judgements that the judge failed to give, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unjudged: Vec<String>,
    iterations: u32,
    llm_calls: Calls,
    thread_id: String,
    checkpoint_id: Option<String>,
    checkpoints: usize,
    db: String,
}

/// The model calls by purpose, and their total.
#[derive(Serialize)]
struct Calls {
    agent: u32,
    evaluator: u32,
    ranker: u32,
    decider: u32,
    total: u32,
}

impl Calls {
    fn of(calls: &LlmCalls) -> Self {
        let LlmCalls { agent, evaluator, ranker, decider, .. } = *calls;
        Self { agent, evaluator, ranker, decider, total: calls.total() }
    }
}

impl Answer {
    pub(crate) fn of(run: &Run<AgentState>, checkpoints: usize, db: &Path) -> Self {
        let state = &run.state;
        let response = state.response.clone().unwrap_or_default();
        Self {
            sources: sources(&response),
            nearest: nearest(&response),
            answered: !is_refusal(&response),
            complete: is_complete_turn(state),
            unjudged: unjudged(state),
            iterations: state.iteration,
            llm_calls: Calls::of(&state.llm_calls),
            thread_id: run.thread.to_string(),
            checkpoint_id: run.checkpoint.map(|id| id.to_string()),
            checkpoints,
            db: db.display().to_string(),
            response,
        }
    }

    /// Returns `true` if the response answers the question, and does not just say that the documents have no answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Prints the answer, without a response that the terminal already shows.
    pub(crate) fn print(&self, arguments: &Arguments, shown: &Shown) -> io::Result<()> {
        if arguments.answering.json {
            return print(serde_json::to_string(self)?);
        }
        if !shown.is(&self.response) {
            print(format_args!("{}\n", self.response))?;
        }
        for missing in &self.unjudged {
            print(missing)?;
        }
        print(format_args!(
            "{} in {}; {} of thread {} in {}",
            counted(self.llm_calls.total, "model call"),
            counted(self.iterations, "iteration"),
            counted(self.checkpoints, "checkpoint"),
            self.thread_id,
            self.db
        ))
    }
}

/// Returns `true` if the turn had a complete response before the limit. Without one, the decider makes a last call.
fn is_complete_turn(state: &AgentState) -> bool {
    let said = state.messages.iter().rev().find_map(|message| match message {
        Message::Ai(said) => Some(said),
        _ => None,
    });
    state.llm_calls.decider == 0 && said.is_some_and(is_complete)
}

/// Returns the judgements of the turn that the judge failed to give.
fn unjudged(state: &AgentState) -> Vec<String> {
    let missing = state.unjudged.iter().filter(|missing| missing.turn == state.turn);
    let said = missing.map(|missing| match missing.judge {
        Purpose::Ranker => format!("not ranked: {}", missing.reason),
        _ => format!("not evaluated: {}", missing.reason),
    });
    said.collect()
}

fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{plural}")
}
