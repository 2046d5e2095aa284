//! The time at which a superstep is saved, and runs that cannot be saved.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use superstep::prelude::*;

use crate::support::{Broken, Calls, Smashed, Stage};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

async fn mark(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    calls.note(task.node().as_str());
    Log::update().v([task.node().as_str()])
}

async fn saver(path: &Path) -> SqliteSaver {
    let saver = SqliteSaver::options().durability(Durability::Exit).open(path).await;
    saver.expect("the file opens")
}

/// The checkpoints of the thread that another program sees, in the order of its history.
async fn seen(path: &Path, graph: &Graph<Log, Stage>) -> Vec<String> {
    let saver = SqliteSaver::open(path).await.expect("no program holds the file");
    let thread = graph.clone().with_context(Stage::default()).checkpointer(saver).thread("t");
    let history = thread.history().expect("a store").collect().await.expect("it reads");
    history.iter().map(|line| format!("{:?} {} {:?}", line.source, line.step, line.next)).collect()
}

/// In LangGraph only the last checkpoint of a run is saved; here the earlier ones are saved, too.
#[tokio::test]
async fn f15_a_failure_is_saved_at_the_exit_with_what_siblings_finished() {
    let stage = Stage::default();
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [p, ok] = ["p", "ok"].map(|name| g.node(name, mark));
    let bad = g.node("bad", async |calls: Dep<Calls>, broken: Dep<Broken>| {
        while calls.of("ok") == 0 {
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await;
        broken.check("bad")?;
        Ok::<_, Smashed>(Log::update().v(["bad"]))
    });
    g.edge(START, p);
    g.edge(p, ok);
    g.edge(p, bad);
    g.edge(ok, END);
    g.edge(bad, END);
    let graph = g.compile().expect("sound");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.db");
    let open =
        async || graph.clone().with_context(stage.clone()).checkpointer(saver(&path).await).thread("t");

    stage.broken.smash("bad");
    let thread = open().await;
    thread.run(Log::update()).await.expect_err("it is broken");
    assert_eq!(
        seen(&path, &graph).await,
        [r#"Loop 1 ["bad", "ok"]"#, r#"Loop 0 ["p"]"#, r#"Input -1 ["__start__"]"#]
    );
    drop(thread);
    // Another program continues it.
    let thread = open().await;
    let live = thread.state().await.expect("it was saved");
    assert_eq!((live.values.v, live.next), (vec!["p".to_owned(), "ok".into()], vec!["bad".into()]));
    stage.broken.mend("bad");
    let log = thread.resume().await.expect("it is mended").finished().expect("it finishes");
    assert_eq!(log.v, ["p", "bad", "ok"]);
    assert_eq!(stage.calls.take(), ["p", "ok"], "what was done is done");
    assert_eq!(seen(&path, &graph).await[0], "Loop 2 []");
}

/// In LangGraph a run saves one checkpoint, here all of them.
#[tokio::test]
async fn f18_a_question_is_saved_at_the_exit_and_answered_by_another_program() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", mark);
    let q = g.node("q", async |ask: Ask<String, String>| Log::update().v([ask.ask("?".into()).await]));
    g.edge(START, a);
    g.edge(a, q);
    g.edge(q, END);
    let graph = g.compile().expect("sound");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.db");
    let open =
        async || graph.clone().with_context(Stage::default()).checkpointer(saver(&path).await).thread("t");
    open().await.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
    let asked = [r#"Loop 1 ["q"]"#, r#"Loop 0 ["a"]"#, r#"Input -1 ["__start__"]"#];
    assert_eq!(seen(&path, &graph).await, asked);
    let log = open().await.answer("R").await.expect("it fits").finished().expect("it finishes");
    assert_eq!(log.v, ["a", "R"]);
    let [before @ .., _, _, _] = &seen(&path, &graph).await[..] else { panic!("the past stays") };
    assert_eq!(before, ["Loop 2 []"]);
}

/// Another program that can hold the file's write lock, and reads the journal.
#[derive(Clone, FromRef)]
struct Other {
    path: PathBuf,
    held: Arc<Mutex<Option<rusqlite::Connection>>>,
}

impl Other {
    fn hold(&self) {
        let file = rusqlite::Connection::open(&self.path).expect("a file opens");
        file.execute_batch("BEGIN IMMEDIATE").expect("nothing is being written");
        *self.held.lock().expect("no panic") = Some(file);
    }

    fn is_holding(&self) -> bool {
        self.held.lock().expect("no panic").is_some()
    }

    fn release(&self) {
        self.held.lock().expect("no panic").take();
    }

    /// The recorded outcome of the only effect.
    fn outcome(&self) -> Option<String> {
        let file = rusqlite::Connection::open(&self.path).expect("a file opens");
        file.query_row("SELECT outcome FROM effect", [], |row| row.get(0)).expect("it has begun")
    }
}

/// The outcome was only queued when `fx.run` returned: a kill while another program held the lock made the effect
/// happen twice.
#[tokio::test]
async fn an_effect_returns_when_its_outcome_is_stored() {
    for durability in [Durability::Power, Durability::Process] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = Other { path: folder.path().join("t.db"), held: Arc::default() };
        let mut g = StateGraph::<Log, Other>::new("g");
        let pay = g.node("pay", async |fx: Effects, other: Dep<Other>| {
            let charge = async || {
                other.hold();
                Ok::<_, Infallible>(7)
            };
            let Ok(_) = fx.run("charge", charge).await;
            Log::update().v(Vec::from_iter(other.outcome()))
        });
        g.edge(START, pay);
        g.edge(pay, END);
        let saver = SqliteSaver::options().durability(durability).open(&other.path).await.expect("it opens");
        let graph = g.compile().expect("sound").with_context(other.clone()).checkpointer(saver);
        let run = tokio::spawn(graph.thread("t").run(Log::update()).into_future());
        while !other.is_holding() {
            tokio::task::yield_now().await;
        }
        // Enough for a node that does not wait to finish.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        other.release();
        let run = run.await.expect("no panic").expect("the lock was released");
        assert_eq!(run.state.v, [r#"{"ok":7}"#], "{durability:?}");
    }
}

/// The number of checkpoints that another program sees; none before the file exists.
fn saved(path: &Path) -> u32 {
    let file = rusqlite::Connection::open(path).expect("a file opens");
    file.query_row("SELECT count(*) FROM checkpoint", [], |row| row.get(0)).unwrap_or_default()
}

/// In LangGraph `async` saves at any time, even after the run.
#[tokio::test]
async fn k13_a_superstep_is_saved_before_the_next_or_at_the_exit() {
    for (durability, seen) in
        [(Durability::Power, [2_u32, 3]), (Durability::Process, [2, 3]), (Durability::Exit, [0, 0])]
    {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("t.db");
        let mut g = StateGraph::<Log>::new("g");
        let [a, b] = ["a", "b"].map(|name| {
            let path = path.clone();
            g.node(name, move || {
                let seen = saved(&path);
                async move { Log::update().v([seen.to_string()]) }
            })
        });
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let saver = SqliteSaver::options().durability(durability).open(&path).await.expect("it opens");
        let graph = g.compile().expect("sound").checkpointer(saver);
        let run = graph.thread("t").run(Log::update()).await.expect("no node fails");
        assert_eq!(run.state.v, seen.map(|count| count.to_string()), "{durability:?}");
        assert_eq!(saved(&path), 4, "{durability:?}");
    }
}

/// In LangGraph `async` reports the error when all nodes have run.
#[tokio::test]
async fn k14_what_cannot_be_saved_ends_the_run_before_the_next_superstep() {
    for durability in [Durability::Power, Durability::Process] {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("g");
        let a = g.node("a", async |calls: Dep<Calls>| {
            calls.note("a");
            // More than the disk has room for.
            Log::update().v(["x".repeat(1 << 20)])
        });
        let [b, c] = ["b", "c"].map(|name| g.node(name, mark));
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, c);
        g.edge(c, END);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = SqliteSaver::options().durability(durability).max_pages(80);
        let saver = options.open(folder.path().join("t.db")).await.expect("it opens");
        let graph = g.compile().expect("sound").with_context(stage.clone()).checkpointer(saver);
        let thread = graph.thread("t");
        let error = thread.run(Log::update()).await.expect_err("the disk is full");
        assert_eq!(error.to_string(), "the store failed: database or disk is full");
        assert_eq!(stage.calls.take(), ["a"], "{durability:?}");
        let history = thread.history().expect("a store").collect().await.expect("it reads");
        assert_eq!(history.iter().map(|line| line.step).collect::<Vec<_>>(), [0, -1], "{durability:?}");
    }
}
