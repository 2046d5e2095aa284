//! Threads last written by a program with other nodes or another state.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, CheckpointerExt};
use superstep::prelude::*;
use superstep::run::{Changed, OnChange, ThreadError};

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// The same with one more field.
mod wider {
    use super::*;

    #[derive(State, Clone, Debug, Default, PartialEq)]
    pub(super) struct Log {
        #[reducer(Append)]
        pub(super) ran: Vec<String>,
        pub(super) title: String,
    }
}

/// The same with a version that no migration leads to.
mod broken {
    use super::*;

    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(version = 2)]
    pub(super) struct Log {
        #[reducer(Append)]
        pub(super) ran: Vec<String>,
    }
}

/// A chain of nodes; `ask` asks.
fn chain<S: State>(
    saver: &Arc<dyn Checkpointer>,
    nodes: &[&'static str],
    say: fn(String) -> S::Update,
) -> Graph<S> {
    let mut g = StateGraph::<S>::new("chain");
    let mut last = None;
    for &name in nodes {
        let step = move |ask: Ask<String, String>| async move {
            let answer = if name == "ask" { ask.ask("what?".to_string()).await } else { String::new() };
            say(format!("{name}{answer}"))
        };
        let node = g.node(name, step);
        match last {
            None => g.edge(START, node),
            Some(last) => g.edge(last, node),
        };
        last = Some(node);
    }
    g.edge(last.expect("there are nodes"), END);
    g.compile().expect("sound").shared_checkpointer(Arc::clone(saver))
}

fn logs(saver: &Arc<dyn Checkpointer>, nodes: &[&'static str]) -> Graph<Log> {
    chain(saver, nodes, |text| Log::update().ran([text]))
}

/// A thread that has run `a` and asks.
async fn asks(saver: &Arc<dyn Checkpointer>) {
    let run = logs(saver, &["a", "ask", "c"]).thread("t").run(Log::update()).await.expect("no node fails");
    assert!(matches!(run.status, Status::Interrupted { .. }));
}

#[tokio::test]
async fn an_upgrade_continues_with_nodes_added_and_others_removed() {
    on_both_savers(|saver| async move {
        asks(&saver).await;
        let thread = logs(&saver, &["new", "ask", "d"]).thread("t");
        let stands = thread.state().await.expect("it loads");
        assert_eq!(stands.changed, Some(Changed { state: false, graph: true }));
        let run = thread.answer("!").await.expect("what is next is still there");
        assert_eq!(run.state.ran, ["a", "ask!", "d"]);
        assert_eq!(thread.state().await.expect("it loads").changed, None);
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_names_a_node_that_was_renamed() {
    on_both_savers(|saver| async move {
        asks(&saver).await;
        let thread = logs(&saver, &["a", "question", "c"]).thread("t");
        let error = thread.resume().await.expect_err("`ask` is gone");
        assert!(error.to_string().contains("next node \"ask\" does not exist"), "{error}");
        let run = thread.run(Log::update()).await.expect("a new input needs it not");
        assert_eq!(run.state.ran, ["a", "a", "question", "c"]);
    })
    .await;
}

#[tokio::test]
async fn a_pinned_graph_finishes_only_what_it_began() {
    on_both_savers(|saver| async move {
        asks(&saver).await;
        let pinned = logs(&saver, &["a", "ask", "c", "d"]).on_change(OnChange::Pin);
        let thread = pinned.thread("t");
        for error in [
            thread.resume().await.expect_err("another graph began it"),
            thread.answer("!").await.expect_err("another graph began it"),
        ] {
            let RunError::Changed { changed, policy: OnChange::Pin, .. } = &error else { panic!("{error}") };
            assert_eq!(*changed, Changed { state: false, graph: true });
            let text = error.to_string();
            assert!(text.contains("of thread t was written under another graph, and"), "{text}");
            assert!(text.ends_with("or give the thread a new input"), "{text}");
        }
        let still = logs(&saver, &["a", "ask", "c"]).on_change(OnChange::Pin).thread("t");
        let run = still.answer("!").await.expect("the refused answer was not taken");
        assert_eq!(run.state.ran, ["a", "ask!", "c"]);

        let run = thread.run(Log::update()).await.expect("a new input goes on under the new graph");
        assert!(matches!(run.status, Status::Interrupted { .. }));
        let run = thread.answer("?").await.expect("it began this itself");
        assert_eq!(run.state.ran, ["a", "ask!", "c", "a", "ask?", "c", "d"]);
    })
    .await;
}

#[tokio::test]
async fn a_graph_that_refuses_takes_no_input_either() {
    on_both_savers(|saver| async move {
        asks(&saver).await;
        let say = |text| wider::Log::update().ran([text]);
        let graph = chain::<wider::Log>(&saver, &["a", "ask", "c"], say).on_change(OnChange::Refuse);
        let thread = graph.thread("t");
        for error in [
            thread.run(wider::Log::update()).await.expect_err("refused"),
            thread.answer("!").await.expect_err("refused"),
            thread.resume().await.expect_err("refused"),
        ] {
            let changed = Changed { state: true, graph: false };
            assert!(
                matches!(&error, RunError::Changed { changed: found, .. } if *found == changed),
                "{error}"
            );
        }
        assert_eq!(thread.head().await.expect("it can be looked at").state().title, "");
        thread.edit(wider::Log::update().title("mine")).await.expect("an edit is the caller's own");
        let run = thread.answer("!").await.expect("the edit was written under these fingerprints");
        assert_eq!((run.state.title.as_str(), run.state.ran.len()), ("mine", 3));
    })
    .await;
}

/// During a rolling upgrade, the older program may continue a thread of the newer one.
#[tokio::test]
async fn an_older_program_drops_the_fields_that_it_does_not_have() {
    on_both_savers(|saver| async move {
        let newer = chain::<wider::Log>(&saver, &["a"], |text| wider::Log::update().ran([text]).title("new"));
        let thread = newer.thread("t");
        let run = thread.run(wider::Log::update()).await.expect("no node fails");
        assert_eq!(run.state.title, "new");
        let run = logs(&saver, &["a"]).thread("t").run(Log::update()).await.expect("it ignores the field");
        assert_eq!(run.state.ran, ["a", "a"]);
        assert_eq!(thread.head().await.expect("it loads").state().title, "");

        // A state with a version is none of its own.
        let versioned = chain::<broken::Log>(&saver, &["a"], |text| broken::Log::update().ran([text]));
        let run = versioned.thread("u").run(broken::Log::update()).await.expect("no node fails");
        assert_eq!(run.state.ran, ["a"]);
        let error = logs(&saver, &["a"]).thread("u").run(Log::update()).await.expect_err("it is newer");
        assert!(matches!(error, RunError::Thread(ThreadError::Version { .. })), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_policy_counts_for_subgraphs_too() {
    fn outer(saver: &Arc<dyn Checkpointer>, inner: StateGraph<Log>) -> Graph<Log> {
        let mut g = StateGraph::<Log>::new("outer");
        let inner = inner.compile().expect("sound");
        let node = g.subgraph("inner", inner, Lens::new().share(Log::RAN, Log::RAN));
        g.edge(START, node);
        g.edge(node, END);
        g.compile().expect("sound").shared_checkpointer(Arc::clone(saver))
    }
    fn inner(more: bool) -> StateGraph<Log> {
        let mut g = StateGraph::<Log>::new("inner");
        let ask = g.node("ask", async |ask: Ask<String, String>| {
            Log::update().ran([ask.ask("what?".to_string()).await])
        });
        g.edge(START, ask);
        if more {
            let more = g.node("more", async || Log::update().ran(["more"]));
            g.edge(ask, more);
            g.edge(more, END);
        } else {
            g.edge(ask, END);
        }
        g
    }
    on_both_savers(|saver| async move {
        let run = outer(&saver, inner(false)).thread("t").run(Log::update()).await.expect("it asks");
        assert!(matches!(run.status, Status::Interrupted { .. }));
        let pinned = outer(&saver, inner(true)).on_change(OnChange::Pin).thread("t");
        let error = pinned.answer("!").await.expect_err("the subgraph is another one");
        assert!(matches!(error, RunError::Changed { .. }), "{error}");
        let run = outer(&saver, inner(true)).thread("t").answer("!").await.expect("all is there");
        assert_eq!(run.state.ran, ["!", "more"]);
    })
    .await;
}

#[tokio::test]
async fn a_check_tells_which_threads_would_not_continue_and_writes_nothing() {
    on_both_savers(|saver| async move {
        asks(&saver).await;
        logs(&saver, &["a"])
            .thread("done")
            .run(Log::update())
            .await
            .expect("no node fails")
            .finished()
            .expect("done");
        let before = saver.threads().await.expect("it reads");

        let same = logs(&saver, &["a", "ask", "c"]).check_threads().await.expect("a store");
        assert!(same.is_ok() && same.threads.len() == 2, "{same}");

        let renamed = logs(&saver, &["a", "question", "c"]).check_threads().await.expect("a store");
        let failed: Vec<_> = renamed.failures().map(|checked| checked.thread.as_str()).collect();
        assert_eq!(failed, ["t"]);
        let text = renamed.to_string();
        assert!(text.starts_with("2 threads, 1 could not continue\n"), "{text}");
        assert!(text.contains("t: the checkpoint's next node \"ask\" does not exist"), "{text}");
        assert!(text.contains("done: written under another graph, and loads"), "{text}");

        let nodes = ["a", "ask", "c"];
        let broken = chain::<broken::Log>(&saver, &nodes, |text| broken::Log::update().ran([text]));
        let broken = broken.check_threads().await.expect("a store");
        assert_eq!(broken.failures().count(), 2, "{broken}");
        for checked in broken.failures() {
            let problem = checked.problem.as_ref().expect("it failed");
            assert!(matches!(problem, RunError::Thread(ThreadError::Version { .. })), "{problem}");
            assert_eq!(checked.version, Some(1));
        }
        assert_eq!(saver.threads().await.expect("it reads"), before);
    })
    .await;
}
