//! Snippets of `docs/supervisor.md`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::error::BoxError;
use superstep::graph::BuildError;
use superstep::nodes::message::{Message, MessageLog};
use superstep::nodes::model::{ChatModel, ModelRequest, OutputFormat, Purpose, Scripted, Turn};
use superstep::nodes::node::Agent;
use superstep::nodes::tool::{ToolRegistry, tool};
use superstep::prelude::*;

#[derive(State, Clone, Default)]
struct Work {
    task: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

impl Work {
    fn result(&self) -> String {
        self.messages.last().map_or_else(String::new, |message| message.text().into_owned())
    }
}

/// A graph of one agent with instructions of its own.
fn sub_agent(name: &str, model: impl ChatModel, instructions: &str) -> Result<Graph<Work>, BuildError> {
    let mut g = StateGraph::<Work>::new(name);
    let agent = Agent::new(Arc::new(model), Work::MESSAGES, Work::VISITS).task(Work::TASK);
    let agent = g.node("agent", agent.system(instructions));
    g.edge(START, agent);
    g.route(agent, |_| END);
    g.compile()
}

#[derive(State, Clone, Default)]
struct Report {
    request: String,
    #[reducer(Append)]
    notes: Vec<String>,
    text: String,
}

/// The next step, as the supervisor's model writes it.
#[derive(Route, Serialize, Deserialize, JsonSchema)]
enum Next {
    Research(Vec<String>),
    Write,
    Finish,
}

#[derive(Clone, FromRef)]
struct Deps {
    model: Arc<dyn ChatModel>,
}

async fn supervise(
    report: Snapshot<Report>,
    model: Dep<Arc<dyn ChatModel>>,
    fx: Effects,
) -> Result<Next, NodeError> {
    let Report { request, notes, text } = &*report;
    let state = format!("Request: {request}\nNotes:\n{}\nReport:\n{text}", notes.join("\n"));
    let question = ModelRequest::new(Purpose::Router, [Message::human("state", state)])
        .with_system("You lead a researcher and a writer. Decide which of them works next, or finish.")
        .with_output(OutputFormat::json::<Next>());
    let reply = fx.run("decide", || model.complete(question)).await?;
    Ok(serde_json::from_str(&reply.text())?)
}

fn reports(
    researcher: Graph<Work>,
    writer: Graph<Work>,
    model: Arc<dyn ChatModel>,
) -> Result<Graph<Report>, BuildError> {
    let mut g = StateGraph::<Report, Deps>::new("report");
    let supervise = g.node("supervise", supervise);
    let lens = Lens::new()
        .item(|question: &String| Work::update().task(question.clone()))
        .take_with(|work: &Work| Report::update().notes([work.result()]));
    let research = g.subgraph("research", researcher.with_own_context(), lens);
    let lens = Lens::new()
        .give_with(|report: &Report| {
            Work::update().task(format!("{}\nNotes:\n{}", report.request, report.notes.join("\n")))
        })
        .take_with(|work: &Work| Report::update().text(work.result()));
    let write = g.subgraph("write", writer.with_own_context(), lens);
    g.edge(START, supervise);
    g.route(supervise, move |next| match next {
        Next::Research(questions) => each(research, questions), // in parallel
        Next::Write => to(write),
        Next::Finish => END,
    });
    g.edge(research, supervise);
    g.edge(write, supervise);
    Ok(g.compile()?.with_context(Deps { model }))
}

#[tokio::test]
async fn a_supervisor_leads_sub_agents() -> super::Result {
    let lead = Scripted::new()
        .then(Turn::Json(json!({ "Research": ["How old is Rust?", "Who uses Rust?"] })))
        .then(Turn::Json(json!("Write")))
        .then(Turn::Json(json!("Finish")));
    let finds = Scripted::new().say("Rust 1.0 is of 2015.").say("Browsers and kernels use Rust.");
    let writes = Scripted::new().say("Since 2015, Rust has come into browsers and kernels.");

    let researcher = sub_agent("researcher", finds, "Answer the question in one sentence.")?;
    let writer = sub_agent("writer", writes, "Write one paragraph from the notes.")?;
    let reports = reports(researcher, writer, Arc::new(lead))?.checkpointer(MemorySaver::new());
    let thread = reports.thread("rust");
    let report = thread.run(Report::update().request("A report about Rust")).await?.finished()?;
    println!("{}", report.text);
    assert_eq!(report.text, "Since 2015, Rust has come into browsers and kernels.");
    assert_eq!(report.notes.len(), 2);
    Ok(())
}

/// Answers a question.
#[tool]
async fn research(#[dep] researcher: &Graph<Work>, question: String) -> Result<String, BoxError> {
    let work = researcher.run(Work::update().task(question)).await?.finished()?;
    Ok(work.result())
}

#[tokio::test]
async fn a_sub_agent_is_a_tool() -> super::Result {
    let finds = Scripted::new().say("Rust 1.0 is of 2015.");
    let researcher = sub_agent("researcher", finds, "Answer the question in one sentence.")?;
    let tools = ToolRegistry::new().with(research(researcher))?;

    let call = superstep::nodes::message::ToolCall::new("c1", "research", json!({ "question": "How old?" }));
    assert_eq!(tools.answer("m1", &call).await.content.to_text(), "Rust 1.0 is of 2015.");
    Ok(())
}
