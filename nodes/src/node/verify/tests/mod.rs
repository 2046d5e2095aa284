//! The nodes `Verify` and `Refine` in a graph.

use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::Retry;
use superstep_core::reducer::{Append, KeyedLog, Sum};
use superstep_core::run::{EventKind, Graph, RunEvent};

use super::*;
use crate::message::{Content, Image, Message, MessageLog, Part, ToolCall};
use crate::model::{Ledger, ModelError, ModelReply, ModelRequest, Purpose, Scripted, Turn, Usage};
use crate::node::{Agent, AgentNext, Refine, Refinement};
use crate::verification::{PredicateRule, Score, Verdict, VerificationCriterion, WhyUnverified};

mod judging;
mod refining;

#[derive(State, Clone, Debug, Default)]
struct Chat {
    question: Option<String>,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    turn: u32,
    visits: u32,
    attempts: Option<u32>,
    #[reducer(Append)]
    verifications: Vec<Verification>,
    passed: Option<bool>,
    score: Option<f64>,
    feedback: Option<String>,
    #[reducer(Sum)]
    ledger: Ledger,
}

/// The input that begins a turn.
fn ask(turn: u32, question: &str) -> ChatUpdate {
    let begun = Chat::update().question(Some(question.to_owned())).turn(turn).visits(0).attempts(Some(0));
    begun.messages(Message::human(format!("q{turn}"), question))
}

fn verify(model: Arc<dyn ChatModel>, verifier: OutputVerifier, max: u32) -> Verify<Chat> {
    Verify::new(model, verifier, Chat::MESSAGES, Chat::VERIFICATIONS)
        .request(Chat::QUESTION)
        .attempts(Chat::ATTEMPTS, max)
        .turn(Chat::TURN)
        .passed(Chat::PASSED)
        .score(Chat::SCORE)
        .feedback(Chat::FEEDBACK)
        .count(Chat::LEDGER)
}

/// `respond → verify → [END | refine → respond]`.
fn graph_of(model: Arc<dyn ChatModel>, verify: Verify<Chat>, retry: Option<Retry>) -> Graph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS)
        .corrections(Chat::VERIFICATIONS)
        .turn(Chat::TURN)
        .count(Chat::LEDGER);
    let respond = graph.node("respond", agent);
    let verify = graph.node("verify", verify);
    let refine = graph.node("refine", Refine::new(Chat::MESSAGES, Chat::VERIFICATIONS, Chat::ATTEMPTS));
    if let Some(retry) = retry {
        graph.policy(verify).retry(retry);
    }
    graph.edge(START, respond);
    graph.route(respond, move |next| match next {
        AgentNext::RunTools | AgentNext::Respond => to(verify),
    });
    graph.route(verify, move |next| match next {
        VerifyNext::Finish => END,
        VerifyNext::Refine => to(refine),
    });
    graph.edge(refine, respond);
    graph.compile().unwrap().checkpointer(MemorySaver::new())
}

fn graph(model: &Arc<Scripted>, verifier: OutputVerifier, max: u32) -> Graph<Chat> {
    let model = Arc::clone(model) as Arc<dyn ChatModel>;
    graph_of(Arc::clone(&model), verify(model, verifier, max), None)
}

/// Returns the reply of a judge that gives each criterion this score.
fn judgement(score: f64) -> Value {
    let finding = |criterion: VerificationCriterion| json!({ "criterion": criterion, "finding": "So it is.", "score": score });
    json!({
        "findings": VerificationCriterion::ALL.map(finding),
        "critical_issues": [],
        "suggestions": [format!("Get better than {score}.")],
        "feedback": format!("Feedback at {score}."),
    })
}

fn judge_says(scores: &[f64]) -> Vec<Turn> {
    scores.iter().map(|score| Turn::Json(judgement(*score))).collect()
}

/// A model that says `r1`, `r2`, …, and judges with these scores.
fn model(scores: &[f64]) -> Arc<Scripted> {
    judged_by(judge_says(scores))
}

fn judged_by(judge: Vec<Turn>) -> Arc<Scripted> {
    let model = Scripted::new().on(Purpose::Verifier, judge).on(Purpose::Agent, ["r1"]);
    Arc::new(model.on(Purpose::Refiner, (2..9).map(|number| format!("r{number}"))))
}

async fn run(graph: &Graph<Chat>) -> Chat {
    graph.thread("t").run(ask(1, "What does a fork copy?")).await.unwrap().finished().unwrap()
}

/// The events of a run.
#[derive(Clone, Default)]
struct EventLog(Arc<Mutex<Vec<Heard>>>);

#[derive(Clone)]
enum Heard {
    Node(String),
    Custom(String, Value),
}

impl EventLog {
    fn observe(&self, graph: Graph<Chat>) -> Graph<Chat> {
        let told = Arc::clone(&self.0);
        graph.observe(move |event: &RunEvent| {
            let heard = match &event.kind {
                EventKind::TaskStarted { node, .. } if node.as_str() != "__start__" => {
                    Heard::Node(node.to_string())
                }
                EventKind::Custom { name, data, .. } => {
                    Heard::Custom(name.to_string(), data.decode().unwrap())
                }
                _ => return,
            };
            told.lock().unwrap().push(heard);
        })
    }

    /// The nodes, in the order in which they ran.
    fn nodes(&self) -> Vec<String> {
        let told = self.0.lock().unwrap().clone().into_iter();
        told.filter_map(|heard| if let Heard::Node(node) = heard { Some(node) } else { None }).collect()
    }

    /// The names of the custom events, and what they say.
    fn events(&self) -> Vec<(String, Value)> {
        let told = self.0.lock().unwrap().clone().into_iter();
        told.filter_map(|heard| if let Heard::Custom(name, data) = heard { Some((name, data)) } else { None })
            .collect()
    }
}

fn asked(model: &Scripted, purpose: Purpose) -> Vec<ModelRequest> {
    model.requests().into_iter().filter(|request| request.purpose == purpose).collect()
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

fn passing() -> OutputVerifier {
    OutputVerifier::new()
}

fn down() -> ModelError {
    ModelError::Unauthorized { reason: "no such key".into() }
}

fn busy() -> ModelError {
    ModelError::Overloaded { reason: "come back".into(), retry_after: None }
}
