//! Subgraphs on the command line: their threads have names, and every verb can read them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::cli::{Exit, Look};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::program::Counting;
use crate::{golden, said};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    notes: String,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Search {
    query: String,
    #[reducer(Append)]
    facts: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
}

fn fetch() -> Graph<Search> {
    let mut g = StateGraph::<Search>::new("fetch");
    let load = g.node("load", async |search: Snapshot<Search>| {
        Search::update().facts([format!("page about {}", search.query)])
    });
    g.edge(START, load);
    g.edge(load, END);
    g.compile().unwrap()
}

/// Asks whether to continue if the topic is `asked`.
fn search() -> Graph<Search> {
    let mut g = StateGraph::<Search>::new("search");
    let lens = Lens::new().give(Search::QUERY, Search::QUERY).share(Search::FACTS, Search::FACTS);
    let fetch = g.subgraph("fetch", fetch(), lens);
    let sift = g.node("sift", async |search: Snapshot<Search>, ask: Ask<String, String>| {
        let sifted = format!("sifted {}", search.query);
        if search.query == "asked" {
            ask.ask("Go on?".into()).await;
        }
        Search::update().facts([sifted])
    });
    g.edge(START, fetch);
    g.edge(fetch, sift);
    g.edge(sift, END);
    g.compile().unwrap()
}

fn remember() -> Graph<Search> {
    let mut g = StateGraph::<Search>::new("remember");
    let note = g.node("note", async |search: Snapshot<Search>| {
        Search::update().facts([format!("note {} on {}", search.facts.len() + 1, search.query)])
    });
    g.edge(START, note);
    g.edge(note, END);
    g.compile().unwrap()
}

/// A graph that researches two queries in subgraphs, each of which fetches in one of its own, and keeps its notes.
fn books(saver: SqliteSaver, first: u64) -> Graph<Book> {
    let mut g = StateGraph::<Book>::new("book");
    let plan = g.node("plan", async |book: Snapshot<Book>| match &*book.topic {
        "asked" => Plan::Research(vec!["asked".into()]),
        topic => Plan::Research(vec![format!("{topic} past"), format!("{topic} now")]),
    });
    let lens = Lens::new()
        .item(|query: &String| Search::update().query(query.clone()))
        .share(Book::FACTS, Search::FACTS);
    let research = g.subgraph("research", search(), lens);
    let lens = Lens::new()
        .keep("notes")
        .give(Book::TOPIC, Search::QUERY)
        .take_with(|kept: &Search| Book::update().notes(kept.facts.join("; ")));
    let remember = g.subgraph("remember", remember(), lens);
    g.edge(START, plan);
    g.route(plan, move |Plan::Research(queries)| each(research, queries));
    g.edge(research, remember);
    g.edge(remember, END);
    let graph = g.compile().unwrap().checkpointer(saver).max_concurrency(1);
    graph.ambient(Counting(AtomicU64::new(first)))
}

/// A file with the thread `rust`, of two turns.
async fn written() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("books.db");
    let rust = books(SqliteSaver::open(&path).await.unwrap(), 1).thread("rust");
    for topic in ["Rust", "Zig"] {
        rust.run(Book::update().topic(topic)).await.unwrap().finished().unwrap();
    }
    (folder, path)
}

fn fine(path: &Path, line: &str) -> String {
    let told = said(path, Look::PIPED, line);
    assert_eq!((told.exit as u8, &*told.err), (0, ""), "{line}: {}", told.out);
    told.out
}

fn json(path: &Path, line: &str) -> Value {
    serde_json::from_str(&said(path, Look::PIPED, &format!("{line} --json")).out).unwrap()
}

/// `log` used to show the line of a task that ran a subgraph, but not the steps of the subgraph.
#[tokio::test]
async fn the_log_shows_what_subgraphs_did_under_what_ran_them() {
    let (_folder, path) = written().await;
    golden(&path, "log_depth", "log FILE rust --depth 2");
    golden(&path, "log_depth_inner", "log FILE rust/research#3 --depth 1");
    golden(&path, "threads_depth", "threads FILE --depth 2");
    golden(&path, "du_subgraphs", "du FILE rust");

    let short = fine(&path, "log FILE rust");
    assert!(short.ends_with("6 subgraphs ran, too: --depth 1 shows what they did\n"), "{short}");
    assert!(
        fine(&path, "threads FILE")
            .ends_with("10 threads of subgraphs are not listed: --depth 1 lists them\n")
    );
    let shown = fine(&path, "show FILE rust@2");
    assert!(shown.contains("  research  as rust/research#2\n"), "{shown}");
}

/// The name of a subgraph's thread works for any checkpoint or thread, and so does its id, as users copy it.
#[tokio::test]
async fn a_subgraphs_thread_is_named_like_any_other() {
    let (_folder, path) = written().await;
    let head = json(&path, "show FILE rust/research#2");
    assert_eq!(head["state"]["query"], "Rust now");
    assert_eq!(head["name"], "rust/research#2");
    let id = head["thread"].as_str().unwrap().to_owned();
    let task = id.strip_prefix("rust\u{1f}").unwrap().to_owned();
    for name in [
        id.clone(),
        id.replace('\u{1f}', "\\u{1f}"),
        id.replace('\u{1f}', "\\u001f"),
        id.replace('\u{1f}', "/"),
        task.clone(),
        task[..8].to_owned(),
        "rust/research#2@2".to_owned(),
        "rust/research#2~0".to_owned(),
        head["id"].as_str().unwrap().to_owned(),
    ] {
        assert_eq!(json(&path, &format!("show FILE {name}")), head, "{name:?}");
    }
    let inner = json(&path, "show FILE rust/research#4/fetch#1");
    let facts = inner["state"]["facts"].as_array().unwrap();
    assert_eq!((facts.last().unwrap(), &inner["graph"]), (&"page about Zig now".into(), &"fetch".into()));
    for line in [
        "log FILE rust/research#1 --graph",
        "diff FILE rust/research#1@2",
        "blame FILE rust/research#1 facts[1]",
        "why FILE rust/research#1 sift",
        "bisect FILE rust/research#1 --path facts --is '>= 2'",
        "compare FILE rust/research#1 rust/research#2",
        "graph FILE rust/research#1",
        "du FILE rust/research#1",
        "du FILE rust/research#1/fetch#1",
        "grep FILE page --thread rust/research#1",
        "name FILE rust/research#1@1 fetched",
        "show FILE rust/research#1@fetched",
        "test FILE rust/research#1",
        "fork FILE rust/research#1@1 --name apart",
    ] {
        let told = said(&path, Look::PIPED, line);
        assert!(told.exit != Exit::Unusable && told.err.is_empty(), "{line}: {}", told.err);
        assert!(!told.out.contains('\u{1f}') && !told.out.contains("\\u{1f}"), "{line}: {}", told.out);
    }
    let bisected = fine(&path, "bisect FILE rust/research#1 --path facts --is '>= 2'");
    assert!(bisected.starts_with("it first holds at rust/research#1@2\n"), "{bisected}");
}

#[tokio::test]
async fn a_subgraph_that_keeps_its_state_is_named_by_its_key_as_well() {
    let (_folder, path) = written().await;
    let latest = json(&path, "show FILE rust/remember[notes]");
    assert_eq!(latest, json(&path, "show FILE rust/remember#2"));
    assert_eq!(latest["state"]["facts"], serde_json::json!(["note 1 on Rust", "note 2 on Zig"]));
    let log = fine(&path, "log FILE rust/remember[notes]");
    assert!(log.contains("of rust/remember#1"), "{log}");
}

/// A text that only a subgraph had used to be found nowhere.
#[tokio::test]
async fn a_search_looks_into_subgraphs() {
    let (_folder, path) = written().await;
    let found = fine(&path, "grep FILE '^Zig past$'");
    let places: Vec<&str> = found.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(places, ["rust/research#3@0", "rust/research#3/fetch#1@0"], "{found}");
    let only = fine(&path, "grep FILE '^Zig past$' --thread rust/research#3/fetch#1");
    assert_eq!(only.lines().count(), 1, "{only}");
}

#[tokio::test]
async fn what_is_done_with_whole_threads_says_which_one_to_name() {
    let (_folder, path) = written().await;
    let error = |line: &str| said(&path, Look::PIPED, line).err;
    for verb in ["export", "delete", "release"] {
        assert_eq!(
            error(&format!("{verb} FILE rust/research#1/fetch#1")),
            "error: rust/research#1/fetch#1 is the thread of a subgraph, which belongs to thread rust: name that one\n"
        );
    }
    let unknown = "there is no thread or checkpoint rust/research#9; the subgraphs of rust are rust/research#1, \
                   rust/research#2, rust/remember#1, rust/research#3, rust/research#4, rust/remember#2";
    assert_eq!(error("show FILE rust/research#9"), format!("error: {unknown}\n"));
    assert_eq!(
        error("show FILE rust/research#1@7"),
        "error: thread rust/research#1 has no step 7; its steps are -1 to 2\n"
    );
}

/// An edit of the outer thread plans the task of a subgraph again, with another id: it is the same run of the subgraph.
#[tokio::test]
async fn a_subgraph_that_an_edit_took_along_is_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("books.db");
    let thread = books(SqliteSaver::open(&path).await.unwrap(), 1).thread("t");
    thread.run(Book::update().topic("asked")).await.unwrap().interrupted().unwrap();
    let waiting = json(&path, "log FILE t --depth 1");
    assert_eq!(waiting["next_subgraphs"][0]["name"], "t/research#1");
    thread.edit(Book::update().notes("by hand")).await.unwrap();
    thread.answer("yes").await.unwrap().finished().unwrap();
    let log = json(&path, "log FILE t --depth 1");
    let ran = log["checkpoints"].as_array().unwrap().iter().flat_map(|line| {
        let below = line["subgraphs"].as_array().into_iter().flatten();
        below.map(|below| format!("{} {}", line["ran"][0].as_str().unwrap(), below["name"].as_str().unwrap()))
    });
    assert_eq!(ran.collect::<Vec<_>>(), ["remember t/remember#1", "research t/research#1"]);
}

/// A finding in a subgraph used to name its thread with a control character and the id of a task.
#[tokio::test]
async fn what_is_wrong_with_a_subgraph_is_said_by_its_name() {
    let (_folder, path) = written().await;
    let file = rusqlite::Connection::open(&path).unwrap();
    let below =
        "SELECT id FROM thread WHERE name LIKE 'rust' || char(31) || '%' AND graph = 'remember' LIMIT 1";
    file.execute(&format!("UPDATE checkpoint SET changes_sum = 7 WHERE thread = ({below})"), []).unwrap();
    drop(file);
    let verified = said(&path, Look::PIPED, "verify FILE");
    assert_eq!(verified.exit, Exit::No);
    assert!(verified.out.contains("thread rust/remember#"), "{}", verified.out);
}
