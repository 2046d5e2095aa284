//! The program that the design begins with: a fan-out, a pause, a fork and an edit.

use std::convert::Infallible;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
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
        0 => Plan::Research(vec![Query("a".into()), Query("b".into())]),
        _ => Plan::Write,
    }
}

async fn research(llm: Dep<Llm>, query: Input<Query>, fx: Effects) -> Result<Update<Essay>, Infallible> {
    Ok(Essay::update().facts([fx.run("search", || llm.complete(query.0.clone())).await?]))
}

async fn write(essay: Snapshot<Essay>, llm: Dep<Llm>, fx: Effects) -> Result<Update<Essay>, Infallible> {
    let prompt = format!("{}: {}", essay.topic, essay.facts.join("+"));
    Ok(Essay::update().draft(fx.run("draft", || llm.complete(prompt)).await?))
}

async fn review(essay: Snapshot<Essay>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(essay.draft.clone()).await
}

#[tokio::test]
async fn an_essay_is_planned_researched_written_reviewed_and_forked() -> Result<(), Box<dyn std::error::Error>>
{
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let plan = g.node("plan", plan);
    let research = g.node("research", research);
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.policy(research).retry(Retry::exponential(3));
    g.edge(START, plan);
    g.route(plan, move |next| match next {
        Plan::Research(queries) => each(research, queries),
        Plan::Write => to(write),
    });
    g.edge(research, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    let essays = g
        .compile()?
        .with_context(Deps { llm: Llm })
        .checkpointer(MemorySaver::new());
    println!("{}", essays.mermaid());

    let thread = essays.thread("rust");
    let asked = thread
        .run(Essay {
            topic: "Rust".into(),
            ..Essay::default()
        })
        .await?
        .interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "<Rust: <a>+<b>>");
    let essay = thread.answer(&Verdict::Accept).await?.finished()?;
    assert_eq!(essay.facts, ["<a>", "<b>"]);

    let zig = thread.before(write).await?.fork("zig").await?;
    zig.edit(Essay::update().topic("Zig")).await?;
    let asked = zig.resume().await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "<Zig: <a>+<b>>");
    assert_eq!(thread.head().await?.state().topic, "Rust");
    let history = thread.history()?.collect().await?;
    for line in &history {
        println!(
            "{} {:?} ran {:?} next {:?}",
            line.step, line.source, line.ran, line.next
        );
    }
    Ok(())
}
