//! Snippets of `docs/nodes-and-extractors.md`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::graph::BuildError;
use superstep::node::{Cache, node};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default)]
struct Essay {
    topic: String,
    draft: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Stop,
}

#[derive(Clone)]
struct Llm;

impl Llm {
    async fn complete(&self, prompt: &str) -> std::io::Result<String> {
        Ok(format!("<{prompt}>"))
    }
}

#[derive(Clone, FromRef)]
struct Deps {
    llm: Llm,
    names: Arc<Vec<String>>,
}

#[node(context = Deps)]
async fn write(essay: Snapshot<Essay>, llm: Dep<Llm>, fx: Effects) -> Result<Update<Essay>, std::io::Error> {
    let draft = fx.run("draft", || llm.complete(&essay.topic)).await?;
    Ok(Essay::update().draft(draft))
}

async fn check(
    essay: Snapshot<Essay>,
    names: Dep<Arc<Vec<String>>>,
    info: TaskInfo,
    emit: Emit,
) -> (Update<Essay>, Next) {
    emit.emit("checked", &essay.draft.len());
    let known = names.iter().any(|name| essay.draft.contains(name));
    let enough = known || info.remaining_steps() < 2;
    (Essay::update().topic("again"), if enough { Next::Stop } else { Next::Again })
}

fn essays(deps: Deps) -> Result<Graph<Essay>, BuildError> {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let write = g.node("write", write);
    g.edge(START, write);
    g.edge(write, END);
    let needs_context: Graph<Essay, Deps> = g.compile()?;
    Ok(needs_context.with_context(deps))
}

#[tokio::test]
async fn a_context_makes_a_graph_ready() -> super::Result {
    let essays = essays(Deps { llm: Llm, names: Arc::default() })?;
    assert_eq!(essays.run(Essay::update().topic("Rust")).await?.finished()?.draft, "<Rust>");
    Ok(())
}

fn count(essay: Snapshot<Essay>) -> Update<Essay> {
    Essay::update().topic(format!("{} words", essay.draft.split_whitespace().count()))
}

#[tokio::test]
async fn a_plain_function_may_block() -> super::Result {
    let mut g = StateGraph::<Essay>::new("essay");
    let count = g.node("count", blocking(count));
    g.edge(START, count);
    g.edge(count, END);
    let essay = Essay { draft: "a draft".into(), ..Essay::default() };
    assert_eq!(g.compile()?.run(essay).await?.finished()?.topic, "2 words");
    Ok(())
}

#[tokio::test]
async fn nodes_take_extractors() -> super::Result {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let write = g.node("write", write);
    let check = g.node("check", check);
    g.edge(START, write);
    g.edge(write, check);
    g.route(check, move |next| match next {
        Next::Again => to(write),
        Next::Stop => END,
    });
    let essays = g.compile()?.with_context(Deps { llm: Llm, names: Arc::new(vec!["again".into()]) });
    let essay = essays.run(Essay::update().topic("Rust")).await?.finished()?;
    assert_eq!(essay.draft, "<again>");
    Ok(())
}

#[tokio::test]
async fn closures_are_nodes() -> super::Result {
    let mut g = StateGraph::<Essay>::new("essay");
    let prefix = Arc::new(String::from("About "));
    let write = g.node("write", move |essay: Snapshot<Essay>| {
        let prefix = Arc::clone(&prefix);
        async move { Ok::<_, Infallible>(Essay::update().draft(format!("{prefix}{}", essay.topic))) }
    });
    g.edge(START, write);
    g.edge(write, END);
    let essay = g.compile()?.run(Essay::update().topic("Rust")).await?.finished()?;
    assert_eq!(essay.draft, "About Rust");
    Ok(())
}

#[tokio::test]
async fn results_are_used_again() -> super::Result {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let write = g.node("write", write);
    g.policy(write)
        .cache(Cache::new().key(|essay: &Essay| essay.topic.clone()).time_to_live(Duration::from_secs(60)));
    g.edge(START, write);
    g.edge(write, END);
    let essays = g.compile()?.with_context(Deps { llm: Llm, names: Arc::default() });
    for _ in 0..2 {
        let essay = essays.run(Essay::update().topic("Rust")).await?.finished()?;
        assert_eq!(essay.draft, "<Rust>");
    }
    Ok(())
}
