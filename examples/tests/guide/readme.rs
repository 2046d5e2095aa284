//! The program of the README.

use std::convert::Infallible;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default)]
struct Essay {
    topic: String, // one writer a superstep: two are an error
    #[reducer(Append)]
    facts: Vec<String>, // any number of writers, in a fixed order
    draft: String,
}

#[derive(Serialize, Deserialize)]
struct Query(String);

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<Query>),
    Write,
}

#[derive(Route, Serialize, Deserialize, JsonSchema)]
enum Verdict {
    Accept,
    Revise,
}

/// Stands for a language model.
#[derive(Clone)]
struct Llm;

impl Llm {
    async fn complete(&self, prompt: String) -> Result<String, Infallible> {
        Ok(format!("<{prompt}>"))
    }
}

#[derive(Clone, FromRef)]
struct Deps {
    llm: Llm,
}

async fn plan(essay: Snapshot<Essay>) -> Plan {
    match essay.facts.len() {
        0 => Plan::Research(vec![Query("history".into()), Query("uses".into())]),
        _ => Plan::Write,
    }
}

async fn research(llm: Dep<Llm>, query: Input<Query>, fx: Effects) -> Result<Update<Essay>, Infallible> {
    // An effect is recorded: after a crash it is not repeated.
    Ok(Essay::update().facts([fx.run("search", || llm.complete(query.0.clone())).await?]))
}

async fn write(essay: Snapshot<Essay>, llm: Dep<Llm>, fx: Effects) -> Result<Update<Essay>, Infallible> {
    let prompt = format!("{}: {}", essay.topic, essay.facts.join(", "));
    Ok(Essay::update().draft(fx.run("draft", || llm.complete(prompt)).await?))
}

async fn review(essay: Snapshot<Essay>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(essay.draft.clone()).await // pauses the thread until it is answered
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let plan = g.node("plan", plan);
    let research = g.node("research", research);
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.policy(research).retry(Retry::exponential(3));
    g.edge(START, plan);
    g.route(plan, move |next| match next {
        Plan::Research(queries) => each(research, queries), // one parallel task per query
        Plan::Write => to(write),
    });
    g.edge(research, write); // once, after all of them
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    let saver = SqliteSaver::in_memory().await?; // or SqliteSaver::open("essays.db").await?
    let essays = g.compile()?.with_context(Deps { llm: Llm }).checkpointer(saver);

    let thread = essays.thread("rust");
    let input = Essay { topic: "Rust".into(), ..Essay::default() };
    let asked = thread.run(input).await?.interrupted()?;
    println!("{}", asked[0].question::<String>()?); // <Rust: <history>, <uses>>
    let essay = thread.answer(&Verdict::Accept).await?.finished()?;
    assert_eq!(essay.facts, ["<history>", "<uses>"]);

    // The same facts, another topic: a thread that shares the past of the first and copies nothing.
    let zig = thread.before(write).await?.fork("zig").await?;
    zig.edit(Essay::update().topic("Zig")).await?;
    let asked = zig.resume().await?.interrupted()?;
    println!("{}", asked[0].question::<String>()?); // <Zig: <history>, <uses>>
    assert_eq!(thread.head().await?.state().topic, "Rust");
    Ok(())
}

#[test]
fn the_program_runs() -> super::Result {
    main()
}
