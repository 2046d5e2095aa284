//! The program under test: it plans, searches in parallel, asks a model to write, and asks a person for a review.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Essay {
    pub(crate) topic: String,
    #[reducer(Append)]
    pub(crate) facts: Vec<String>,
    pub(crate) draft: String,
    pub(crate) rounds: u32,
    #[state(secret)]
    pub(crate) token: String,
}

#[derive(Route, Serialize, Deserialize)]
pub(crate) enum Plan {
    Research(Vec<String>),
    Write,
}

#[derive(Route, Serialize, Deserialize)]
pub(crate) enum Verdict {
    Accept,
    Revise,
}

/// The outside world.
#[derive(Clone)]
pub(crate) struct World {
    /// The text before the query for the search engine.
    pub(crate) prompt: &'static str,
    /// The number of calls, by request.
    pub(crate) asked: Arc<Mutex<BTreeMap<String, u32>>>,
    pub(crate) is_there: bool,
}

/// The context of the graph's nodes.
#[derive(Clone, FromRef)]
pub(crate) struct Deps {
    pub(crate) world: World,
}

impl World {
    pub(crate) fn there() -> Self {
        Self { prompt: "", asked: Arc::default(), is_there: true }
    }

    /// A world that must not be called.
    pub(crate) fn absent() -> Self {
        Self { is_there: false, ..Self::there() }
    }

    pub(crate) fn calls(&self) -> u32 {
        self.asked.lock().unwrap().values().sum()
    }

    pub(crate) async fn ask(&self, what: &str) -> Result<String, std::io::Error> {
        assert!(self.is_there, "a live call: {what}");
        let mut asked = self.asked.lock().unwrap();
        let call = asked.entry(what.to_owned()).or_default();
        *call += 1;
        Ok(format!("{what} ({call})"))
    }
}

async fn plan(essay: Snapshot<Essay>) -> Plan {
    match essay.topic.as_str() {
        "nothing" => Plan::Write,
        _ => Plan::Research(vec!["history".into(), "people".into()]),
    }
}

async fn research(
    world: Dep<World>,
    query: Input<String>,
    fx: Effects,
) -> Result<Update<Essay>, std::io::Error> {
    let query = format!("{}{}", world.prompt, *query);
    let found = fx.run_keyed("search", &query, || world.ask(&query)).await?;
    Ok(Essay::update().facts([found]))
}

async fn write(
    essay: Snapshot<Essay>,
    world: Dep<World>,
    fx: Effects,
) -> Result<Update<Essay>, std::io::Error> {
    let number = fx.uuid().await;
    let text = fx.run("draft", || world.ask(&essay.topic)).await?;
    Ok(Essay::update().draft(format!("{text}: {} {number}", essay.facts.join(", "))).rounds(essay.rounds + 1))
}

async fn review(essay: Snapshot<Essay>, editor: Ask<String, String>, emit: Emit) -> Verdict {
    emit.emit("reviewed", &essay.rounds);
    match editor.ask(essay.draft.clone()).await.as_str() {
        "good" => Verdict::Accept,
        _ => Verdict::Revise,
    }
}

pub(crate) fn essays(world: &World) -> Graph<Essay> {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let plan = g.node("plan", plan);
    let research = g.node("research", research);
    let write = g.node("write", write);
    let review = g.node("review", review);
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
    g.compile().unwrap().with_context(Deps { world: world.clone() })
}

pub(crate) fn essay(topic: &str) -> Essay {
    Essay { topic: topic.into(), token: "sesame".into(), ..Essay::default() }
}
