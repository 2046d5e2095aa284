//! Edits as a node, compared with the same edits by the program.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep::cli::{Exit, Look};
use superstep::driver::checkpoint::Loaded;
use superstep::driver::node::IntoOutcome;
use superstep::id::{RunId, TaskId};
use superstep::prelude::*;

use crate::program::written;
use crate::{golden_writing, said};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Work {
    #[reducer(Append)]
    log: Vec<String>,
    last: String,
    #[reducer(Sum)]
    hours: u64,
}

#[derive(Route, Serialize, Deserialize)]
enum Choice {
    Again,
    Done,
    Each(Vec<u8>),
}

async fn quiet() {}

async fn asks(log: Snapshot<Work>, boss: Ask<String, String>) -> Update<Work> {
    let answer = boss.ask(format!("{} entries?", log.log.len())).await;
    Work::update().log([answer]).hours(1)
}

async fn item(_: Input<u8>) {}

async fn choose() -> Choice {
    Choice::Done
}

/// ```text
/// START ─► split ─► left ──► join ─► both ─► choose ─► split, END or each item
///               └─► right ──┘  left ─► extra ─► sum (deferred)
/// ```
async fn work(path: &Path) -> Graph<Work> {
    let mut g = StateGraph::<Work>::new("work");
    let [split, both, extra, sum] = ["split", "both", "extra", "sum"].map(|name| g.node(name, quiet));
    let [left, right] = ["left", "right"].map(|name| g.node(name, asks));
    let (item, choose) = (g.node("item", item), g.node("choose", choose));
    g.policy(sum).defer();
    g.edge(START, split);
    g.edge(split, left);
    g.edge(split, right);
    g.edge(left, extra);
    g.edge(extra, sum);
    g.join([left, right], both);
    g.edge(both, choose);
    g.edge(sum, END);
    g.edge(item, END);
    g.route(choose, move |choice| match choice {
        Choice::Again => to(split),
        Choice::Done => END,
        Choice::Each(items) => each(item, items),
    });
    g.compile().unwrap().checkpointer(SqliteSaver::open(path).await.unwrap())
}

/// A checkpoint with its pending work, without random ids and values derived from them.
fn comparable(mut loaded: Loaded) -> Loaded {
    let task = TaskId::from_bytes([0; 16]);
    let next = loaded.checkpoint.frontier.tasks.clone();
    let place = |id: TaskId| {
        let (base, step) = (loaded.checkpoint.id, loaded.checkpoint.step);
        let position = next.iter().position(|next| next.id(base, step) == id);
        TaskId::from_bytes([u8::try_from(position.unwrap()).unwrap(); 16])
    };
    loaded.results.iter_mut().for_each(|result| result.task = place(result.task));
    for ask in &mut loaded.asks {
        ask.task = place(ask.task);
        ask.id = superstep::id::InterruptId::from_bytes(*task.as_bytes());
    }
    loaded.effects.iter_mut().for_each(|effect| effect.id.task = place(effect.id.task));
    loaded.checkpoint.id = loaded.checkpoint.parent.unwrap();
    loaded.checkpoint.run = RunId(loaded.checkpoint.id.0);
    loaded
}

/// Edits `file` as a node with the program of the tests and a copy of it with the verb, and compares them. Returns
/// `true` if the edit was made.
async fn same<O: IntoOutcome<Work>>(file: &Path, node: &str, outcome: O, line: &str) -> bool {
    let copy = file.with_extension("copy.db");
    fs::copy(file, &copy).unwrap();
    let told = said(&copy, Look::PIPED, &format!("edit FILE t --as {node} {line} --json"));
    let by_code = work(file).await.thread("t").edit_as_named(node, outcome).await;
    assert_eq!(told.exit == Exit::Fine, by_code.is_ok(), "{node} {line}: {told:?}, {by_code:?}");
    if told.exit == Exit::Fine {
        let loaded =
            |graph: Graph<Work>| async move { graph.thread("t").head().await.unwrap().loaded().clone() };
        let (a, b) = (loaded(work(&copy).await).await, loaded(work(file).await).await);
        assert_eq!(a.checkpoint.id.to_string(), told.out.split('"').nth(7).unwrap(), "{}", told.out);
        assert_eq!(comparable(a), comparable(b), "{node} {line}");
    }
    fs::remove_file(&copy).unwrap();
    told.exit == Exit::Fine
}

async fn waiting(path: &Path) {
    work(path).await.thread("t").run(Work::update().last("begun")).await.unwrap().interrupted().unwrap();
}

#[tokio::test]
async fn an_edit_as_a_node_is_the_one_that_code_makes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work.db");
    waiting(&path).await;
    let path = &*path;
    // First neither is finished, then one, then both: a join fires, and a deferred node waits.
    assert!(!same(path, "both", (), "").await);
    assert!(same(path, "left", Work::update().last("by hand"), "--set 'last=\"by hand\"'").await);
    assert!(!same(path, "extra", (), "").await);
    assert!(same(path, "right", Work::update().set_log(["new"]), "--set 'log=[\"new\"]'").await);
    // After the barrier `both` and `extra` are next.
    assert!(same(path, "both", Work::update().last("x"), "--set 'last=\"x\"'").await);
    assert!(same(path, "extra", (), "").await);
    assert!(same(path, "choose", Choice::Again, "--case Again").await);
    // A node that is not next: its targets are planned again.
    assert!(
        same(path, "choose", (Work::update().last("y"), Choice::Done), "--set 'last=\"y\"' --case Done")
            .await
    );
    assert!(same(path, "sum", (), "").await);
    assert!(same(path, "left", Work::update().last("z"), "--set 'last=\"z\"'").await);
    assert!(!same(path, "right", Work::update().last("w"), "--set 'last=\"w\"'").await);
    let done = work(path).await.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!((&*done.log, &*done.last), (&["new".to_owned()][..], "z"));
}

#[tokio::test]
async fn an_edit_that_needs_the_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work.db");
    waiting(&path).await;
    let error = |line: &str| {
        let told = said(&path, Look::PIPED, &format!("edit FILE t {line}"));
        (told.exit as u8, told.err.trim_end().to_owned())
    };
    let is = |line: &str, code: u8, text: &str| assert_eq!(error(line), (code, format!("error: {text}")));
    let nodes = "split, both, extra, sum, left, right, item, choose";
    is("--as lft", 1, &format!("the graph has no node lft; its nodes are {nodes}"));
    is("--as both --case Done", 1, "node both has no case Done: it decides nothing");
    is("--as choose", 2, "node choose decides: name one of its cases, Again, Done, Each, with --case");
    is("--as choose --case done", 1, "node choose has no case done; its cases are Again, Done, Each");
    let each = "where case Each of node choose leads depends on what it decides: this needs the program's code; \
                `thread.edit_as` does it from there";
    is("--as choose --case Each", 2, each);
    is("--as both", 2, "an edit as both would drop next nodes that do not follow from it: left, right");
    // One of the two has answered with hours, which are added at the barrier.
    let thread = work(&path).await.thread("t");
    let first = thread.head().await.unwrap().interrupts().remove(0);
    thread.answer_to(first.id, "yes").await.unwrap().interrupted().unwrap();
    let open = thread.head().await.unwrap().interrupts().remove(0).node;
    let reducer = "what the superstep wrote to hours is merged by Sum: this needs the program's code; `thread.edit_as` \
                   does it from there";
    is(&format!("--as {open} --set 'log=[]'"), 2, reducer);
    assert!(error("--case Done").1.contains("--as <NODE>"));
}

#[tokio::test]
async fn edits_as_a_node_say_what_they_are_known_to_say() {
    golden_writing("edit_as", "edit FILE zig --set rounds=3 --as review --case Accept").await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work.db");
    waiting(&path).await;
    let told = said(&path, Look::PIPED, "edit FILE t --as left --set 'last=\"x\"'");
    assert!(
        told.out.ends_with("this waits for the other tasks of the superstep\nnext left, right\n"),
        "{told:?}"
    );
    let again = said(&path, Look::PIPED, "edit FILE t@0 --as split --name other");
    assert!(again.out.ends_with("next left, right\n"), "{again:?}");
    let file = written().await;
    let none = said(&file.path, Look::PIPED, "edit FILE zig");
    assert!(none.exit == Exit::Unusable && none.err.contains("--set <PATH=JSON>"), "{none:?}");
}
