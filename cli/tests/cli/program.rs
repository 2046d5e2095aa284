//! The program that writes the test file: it plans, searches in parallel, writes, and asks a person for a review.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::node::Ambient;
use superstep::prelude::*;
use tempfile::TempDir;
use uuid::Uuid;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Essay {
    pub(crate) topic: String,
    #[reducer(Append)]
    facts: Vec<Fact>,
    pub(crate) draft: String,
    pub(crate) rounds: u32,
    #[state(secret)]
    token: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fact {
    id: String,
    text: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
    Write,
}

#[derive(Route, Serialize, Deserialize)]
enum Verdict {
    Accept,
    Revise,
}

async fn plan(essay: Snapshot<Essay>) -> Plan {
    match essay.topic.as_str() {
        "nothing" => Plan::Write,
        _ => Plan::Research(vec!["history".into(), "people".into()]),
    }
}

async fn research(query: Input<String>, fx: Effects) -> Result<Update<Essay>, std::io::Error> {
    let query: &str = &query;
    let text = fx.run_keyed("search", query, || async move { found(query) }).await?;
    Ok(Essay::update().facts([Fact { id: query.into(), text }]))
}

fn found(query: &str) -> Result<String, std::io::Error> {
    Ok(format!("all about {query}"))
}

async fn write(essay: Snapshot<Essay>) -> Result<Update<Essay>, std::io::Error> {
    if essay.topic == "trouble" {
        return Err(std::io::Error::other("the pen is broken"));
    }
    let draft = format!("{} in {} facts", essay.topic, essay.facts.len());
    Ok(Essay::update().draft(draft).rounds(essay.rounds + 1))
}

async fn review(essay: Snapshot<Essay>, editor: Ask<String, String>) -> Verdict {
    if essay.topic == "quick" {
        return Verdict::Accept;
    }
    match editor.ask(essay.draft.clone()).await.as_str() {
        "good" => Verdict::Accept,
        _ => Verdict::Revise,
    }
}

/// Ids and times that count: one second per call.
pub(crate) struct Counting(pub(crate) AtomicU64);

impl Ambient for Counting {
    fn id(&self) -> Uuid {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        let ms = u128::from(1_735_689_600_000 + count * 1_000);
        Uuid::from_u128(ms << 80 | 0x7 << 76 | 0x8 << 60 | u128::from(count * 0x0101_0101))
    }

    fn now(&self) -> Duration {
        Duration::from_secs(1_735_689_600)
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

/// The program; its ids count from `first`.
pub(crate) fn essays(saver: SqliteSaver, first: u64) -> Graph<Essay> {
    let mut g = StateGraph::<Essay>::new("essay");
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
    g.compile().unwrap().checkpointer(saver).ambient(Counting(AtomicU64::new(first)))
}

pub(crate) fn essay(topic: &str) -> Essay {
    Essay { topic: topic.into(), token: "sesame".into(), ..Essay::default() }
}

/// A file with: `rust`, revised once and accepted; `zig`, a fork of it with another topic that waits for its review;
/// `trouble`, which has failed. `folder` keeps it.
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) folder: TempDir,
}

pub(crate) async fn written() -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("essays.db");
    write_to(&path).await;
    Written { path, folder }
}

async fn write_to(path: &Path) {
    let essays = essays(SqliteSaver::open(path).await.unwrap(), 1);
    let rust = essays.thread("rust");
    rust.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    rust.answer("bad").await.unwrap().interrupted().unwrap();
    rust.answer("good").await.unwrap().finished().unwrap();
    let zig = rust.before_named("write").await.unwrap().fork("zig").await.unwrap();
    zig.edit(Essay::update().topic("Zig").token("other")).await.unwrap();
    zig.resume().await.unwrap().interrupted().unwrap();
    essays.thread("trouble").run(essay("trouble")).await.unwrap_err();
}
