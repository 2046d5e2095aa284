//! The graphs of the tests. Their threads and effects are in one folder.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::error::NodeError;
use superstep::graph::{END, START, StateGraph, each, to};
use superstep::id::IdempotencyKey;
use superstep::node::{Ask, Effects, Input, OnUnknown, Snapshot};
use superstep::reducer::Append;
use superstep::route::Route;
use superstep::run::Graph;
use superstep::state::State;
use superstep_checkpoint::{PostgresSaver, SqliteSaver};

/// The file with the address of a database.
pub(crate) const POSTGRES: &str = "postgres";

/// A draft, which a person accepts or sends back: the graph of the example `review`.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Article {
    pub(crate) title: String,
    #[reducer(Append)]
    pub(crate) drafts: Vec<String>,
}

#[derive(Route, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Verdict {
    Accept,
    Revise,
}

/// Before draft 2, it waits for a file if the title says so.
pub(crate) async fn review(folder: &Path) -> Graph<Article> {
    let own = folder.to_owned();
    let mut g = StateGraph::<Article>::new("review");
    let write = g.node("write", move |article: Snapshot<Article>| {
        let folder = own.clone();
        async move {
            let draft = article.drafts.len() + 1;
            if article.title == "Patience" && draft == 2 {
                append(&folder, "waiting", draft)?;
                until(|| folder.join(format!("open-{draft}")).exists()).await;
            }
            Ok::<_, NodeError>(Article::update().drafts([format!("{}: draft {draft}", article.title)]))
        }
    });
    let review = g.node("review", |article: Snapshot<Article>, editor: Ask<String, Verdict>| async move {
        editor.ask(article.drafts.last().cloned().unwrap_or_default()).await
    });
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    g.compile().expect("it is complete").shared_checkpointer(saver(folder).await)
}

/// A chain of supersteps, each of which may have an effect: a line in the file `paid`.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    to: u64,
    pays: bool,
    /// At these numbers, the node waits for the file `open`, after the effect.
    waits_at: Vec<u64>,
    count: u64,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

pub(crate) async fn count(folder: &Path) -> Graph<Count> {
    let own = folder.to_owned();
    let mut g = StateGraph::<Count>::new("count");
    let node = g.node("count", move |state: Snapshot<Count>, fx: Effects| {
        let folder = own.clone();
        async move {
            let count = state.count + 1;
            if state.pays {
                fx.run("pay", || async { append(&folder, "paid", count) }).await?;
            }
            if state.waits_at.contains(&count) {
                append(&folder, "waiting", count)?;
                until(|| folder.join(format!("open-{count}")).exists()).await;
            }
            let next = if count < state.to { Next::Again } else { Next::Done };
            Ok::<_, NodeError>((Count::update().count(count), next))
        }
    });
    g.edge(START, node);
    g.route(node, move |next| match next {
        Next::Again => to(node),
        Next::Done => END,
    });
    g.compile().expect("it is complete").shared_checkpointer(saver(folder).await).recursion_limit(10_000)
}

/// A chain of payments: lines in a file with the name of the account.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Account {
    name: String,
    to: u64,
    paid: u64,
}

/// Of each payment, there is a line with its number and its idempotency key.
pub(crate) async fn pays(folder: &Path) -> Graph<Account> {
    let own = folder.to_owned();
    let mut g = StateGraph::<Account>::new("pays");
    let pay = g.node("pay", move |account: Snapshot<Account>, fx: Effects| {
        let folder = own.clone();
        async move {
            let (paid, folder, name) = (account.paid + 1, &folder, &account.name);
            let pay = |key: IdempotencyKey| async move { append(folder, name, format!("{paid} {key}")) };
            fx.effect("pay").run(pay).await?;
            let next = if paid < account.to { Next::Again } else { Next::Done };
            Ok::<_, NodeError>((Account::update().paid(paid), next))
        }
    });
    g.policy(pay).on_unknown(OnUnknown::Retry);
    g.edge(START, pay);
    g.route(pay, move |next| match next {
        Next::Again => to(pay),
        Next::Done => END,
    });
    g.compile().expect("it is complete").shared_checkpointer(saver(folder).await)
}

/// A superstep with a task per item, each of which waits until this many have begun.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fan {
    items: u32,
    together: usize,
    #[reducer(Append)]
    processes: Vec<u32>,
}

#[derive(Route, Serialize, Deserialize)]
enum Spread {
    Items(Vec<u32>),
}

pub(crate) async fn fan(folder: &Path) -> Graph<Fan> {
    let own = folder.to_owned();
    let mut g = StateGraph::<Fan>::new("fan");
    let split = g.node("split", |fan: Snapshot<Fan>| async move { Spread::Items((0..fan.items).collect()) });
    let work = g.node("work", move |fan: Snapshot<Fan>, item: Input<u32>, fx: Effects| {
        let folder = own.clone();
        async move {
            fx.run("work", || async { append(&folder, "worked", *item) }).await?;
            until(|| lines(&folder, "worked").len() >= fan.together).await;
            Ok::<_, NodeError>(Fan::update().processes([std::process::id()]))
        }
    });
    g.edge(START, split);
    g.route(split, move |Spread::Items(items)| each(work, items));
    g.edge(work, END);
    g.compile().expect("it is complete").shared_checkpointer(saver(folder).await)
}

/// A later version of [`review`], with a further node.
pub(crate) async fn reviews_again(folder: &Path) -> Graph<Article> {
    let mut g = StateGraph::<Article>::new("review");
    let write = g.node("write", || async {});
    let review = g.node("review", |editor: Ask<String, Verdict>| async move {
        editor.ask("again?".to_owned()).await;
    });
    let publish = g.node("publish", || async {});
    g.edge(START, write);
    g.edge(write, review);
    g.edge(review, publish);
    g.edge(publish, END);
    g.compile().expect("it is complete").shared_checkpointer(saver(folder).await)
}

/// Returns the history of a thread, without what differs between runs.
pub(crate) async fn history(graph: &Graph<impl State>, thread: &str) -> Vec<Value> {
    let history = graph.thread(thread).history().expect("it has a store");
    let all = history.collect().await.expect("it reads");
    all.iter().map(|past| json!([past.step, past.source, past.ran, past.next])).collect()
}

/// Returns the saver of a folder: a database of Postgres, if the folder has the address of one, or a file.
async fn saver(folder: &Path) -> Arc<dyn Checkpointer> {
    match std::fs::read_to_string(folder.join(POSTGRES)) {
        Ok(url) => Arc::new(PostgresSaver::open(&url).await.expect("an address of Postgres")),
        Err(_) => Arc::new(SqliteSaver::open(folder.join("threads.db")).await.expect("a file of its own")),
    }
}

/// Adds a line to a file of the folder.
fn append(folder: &Path, name: &str, line: impl Display) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).open(folder.join(name))?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Returns the lines of a file of the folder.
pub(crate) fn lines(folder: &Path, name: &str) -> Vec<String> {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Asserts that each number up to `to` was paid for once, in order.
pub(crate) fn paid_once_each(folder: &Path, to: u32) {
    let all: Vec<String> = (1..=to).map(|count| count.to_string()).collect();
    assert_eq!(lines(folder, "paid"), all);
}

/// Lets the node of [`count`] go on that waits at this number.
pub(crate) fn open(folder: &Path, count: u32) {
    File::create(folder.join(format!("open-{count}"))).expect("a file");
}

/// Waits until a condition holds that another process makes true.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("it holds in time");
}
