//! Failed merges: nothing of the superstep is stored, and no result of its tasks is lost.

use std::collections::BTreeMap;

use superstep::error::NodeErrorKind;
use superstep::prelude::*;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Meter {
    #[reducer(Sum)]
    small: u8,
    level: f64,
}

/// Two nodes that each add 200 to a field that holds up to 255.
fn overflowing() -> Graph<Meter, Stage> {
    let mut g = StateGraph::<Meter, Stage>::new("meter");
    for name in ["a", "b"] {
        let node = g.node(name, move |calls: Dep<Calls>| async move {
            calls.note(name);
            Meter::update().small(200)
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound")
}

/// It panicked through the caller's task in a debug build, and wrapped silently in a release build.
#[tokio::test]
async fn a_reducer_that_panics_is_an_error_that_names_the_node() {
    let graph = overflowing().with_context(Stage::default());
    let error = graph.run(Meter::update()).await.expect_err("400 does not fit");
    let text = error.to_string();
    assert!(matches!(&error, RunError::Reducer { step: 1, node, .. } if node.as_str() == "b"), "{text}");
    assert!(text.contains("does not fit into `u8`"), "{text}");
}

/// Takes nothing.
struct Boom;

impl superstep::reducer::Reducer<Vec<u32>> for Boom {
    type Write = Vec<u32>;

    fn reduce(_: &mut Vec<u32>, _: Vec<u32>) {
        panic!("reducer boom");
    }
}

#[tokio::test]
async fn l08_a_reducer_that_fails_on_the_input_leaves_the_input_stored() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Bad {
        #[reducer(Boom)]
        v: Vec<u32>,
    }
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Bad>::new("bad");
        let a = g.node("a", async || Bad::update().v([1]));
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let error = thread.run(Bad::update().v([0])).await.expect_err("nothing can be reduced");
        let text = error.to_string();
        assert!(matches!(error, RunError::Reducer { step: 0, .. }), "{text}");
        assert!(text.ends_with("panicked: reducer boom"), "{text}");
        let history = thread.history().expect("a store").collect().await.expect("it reads");
        assert_eq!(history.iter().map(|line| line.step).collect::<Vec<_>>(), [-1]);
        assert_eq!(thread.head().await.expect("it is stored").next(), ["__start__".into()]);
    })
    .await;
}

#[tokio::test]
async fn what_ran_before_a_failed_merge_does_not_run_again() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = overflowing().with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.run(Meter::update()).await.expect_err("400 does not fit");
        assert_eq!(stage.calls.take_sorted(), ["a", "b"]);
        thread.resume().await.expect_err("it still does not fit");
        assert!(stage.calls.take().is_empty(), "both results were kept");
        assert_eq!(thread.head().await.expect("the start is stored").state().small, 0);
    })
    .await;
}

/// It used to be stored as `null`, and the thread could no longer be read.
#[tokio::test]
async fn m06_a_number_that_json_cannot_hold_is_refused_before_it_is_stored() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Meter, Stage>::new("meter");
        let node = g.node("node", || async { Meter::update().level(f64::NAN) });
        let next = g.node("next", async |calls: Dep<Calls>| calls.note("next"));
        g.edge(START, node);
        g.edge(node, next);
        g.edge(next, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        match thread.run(Meter::update()).await {
            Err(RunError::Node(failure)) => {
                assert_eq!(failure.error.kind(), NodeErrorKind::Codec);
                assert!(failure.to_string().contains("field \"level\""), "{failure}");
            }
            other => panic!("the node was to fail: {other:?}"),
        }
        assert_eq!(stage.calls.of("next"), 0);
        assert_eq!(thread.head().await.expect("the thread is readable").step(), 0);
        let input = thread.run(Meter::update().level(f64::INFINITY)).await;
        assert!(matches!(input, Err(RunError::Encode { .. })), "{input:?}");
    })
    .await;
}

/// A conversation and settings with initial values.
#[derive(State, Clone, Debug, PartialEq)]
struct Begun {
    #[reducer(Append)]
    said: Vec<String>,
    #[reducer(Merge)]
    settings: BTreeMap<String, u32>,
}

impl Default for Begun {
    fn default() -> Self {
        Self { said: vec!["be brief".into()], settings: BTreeMap::from([("depth".into(), 1)]) }
    }
}

/// Readers fold operations from an empty collection, so the initial value of a field was lost after a resume.
#[tokio::test]
async fn what_a_collection_begins_with_is_stored_before_it_grows() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Begun>::new("begun");
        let say = g.node("say", async || Begun::update().said(["hello"]).settings([("width", 2)]));
        g.edge(START, say);
        g.edge(say, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("t");
        let done = thread.run(Begun::update().said(["hi"])).await.unwrap().finished().unwrap();
        assert_eq!(done.said, ["be brief", "hi", "hello"]);
        assert_eq!(*thread.head().await.unwrap().state(), done);
        let history = thread.history().unwrap().collect().await.unwrap();
        let first = thread.at(history.last().unwrap().id).await.unwrap();
        assert_eq!(*first.state(), Begun::default());
    })
    .await;
}
