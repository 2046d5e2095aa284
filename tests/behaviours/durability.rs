//! Runs that are saved once, when they end: what another user of the file then finds.

use std::path::Path;

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

/// What another program sees of the thread, in the order of its history.
async fn seen(path: &Path, graph: &Graph<Log, Stage>) -> Vec<String> {
    let saver = SqliteSaver::open(path).await.expect("nobody holds the file");
    let thread = graph.clone().with_context(Stage::default()).checkpointer(saver).thread("t");
    let history = thread.history().expect("a store").collect().await.expect("it reads");
    history.iter().map(|line| format!("{:?} {} {:?}", line.source, line.step, line.next)).collect()
}

/// In LangGraph only the last checkpoint of a run is saved; here it is saved with those before it.
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
    // Another program goes on with it.
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
