//! Subgraphs in the store, in the log, and from a checkpoint.

use superstep::checkpoint::CheckpointerExt;
use superstep::driver::graph::Topology;
use superstep::graph::{BuildError, Problem};
use superstep::run::{EventKind, RunEvent};

use super::*;

#[tokio::test]
async fn threads_below_are_not_listed_and_not_run() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver.clone());
        drop(open(graph.thread("t").run(Outer::update()).await));
        let names: Vec<_> = saver.threads().await.expect("it lists").into_iter().map(|t| t.thread).collect();
        assert_eq!(names, ["t".into()]);
        let task = superstep::id::TaskId::from_bytes([7; 16]);
        let below = superstep::id::ThreadId::from("t").below(task);
        let refused = graph.thread(below).run(Outer::update()).await.expect_err("it is a subgraph's");
        assert!(matches!(refused, RunError::Subgraph { .. }), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn events_inside_have_a_path_in_one_log() {
    let graph = around(inner_graph(), &Stage::default());
    let mut stream = graph.run(Outer::update().topic("rust")).stream();
    let mut events: Vec<RunEvent> = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert!(events.iter().zip(0..).all(|(event, seq)| event.seq == seq), "one log without a gap");
    assert!(events.iter().all(|event| event.run == events[0].run), "of one run");
    let finished = events.iter().filter_map(|event| match &event.kind {
        EventKind::TaskFinished { node, .. } => {
            let path: Vec<_> = event.path.iter().map(|above| above.node.to_string()).collect();
            Some(format!("{}/{node}", path.join("/")))
        }
        _ => None,
    });
    assert_eq!(
        finished.collect::<Vec<_>>(),
        ["/__start__", "/begin", "sub/__start__", "sub/read", "sub/conclude", "/sub", "/end"]
    );
}

#[tokio::test]
async fn b49_the_state_of_every_level_is_visible_from_one_checkpoint() {
    on_both_savers(|saver| async move {
        let graph = around(nested(1), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("deep")).await));
        let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
        let seen: Vec<_> = levels
            .iter()
            .map(|level| (level.path.len(), level.view.values["query"].clone(), level.view.next.clone()))
            .collect();
        assert_eq!(
            seen,
            [(1, "deep".into(), vec!["below".to_owned()]), (2, "deep".into(), vec!["ask".to_owned()])]
        );
        let config = &levels[1].view.config;
        assert_eq!(config.thread_id, "t");
        assert_eq!(config.checkpoint_ns, format!("{}|{}", levels[0].task, levels[1].task));
        assert_eq!(levels[1].view.tasks[0].interrupts[0].value, "first?");
    })
    .await;
}

#[tokio::test]
async fn the_thread_below_is_read_and_edited_with_its_own_graph() {
    on_both_savers(|saver| async move {
        let inner = asking_graph();
        let graph = around(inner.clone(), &Stage::default()).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("rust")).await));
        let levels = thread.head().await.expect("it ran").subgraphs().await.expect("the store reads");
        let inner = inner.with_context(Stage::default()).shared_checkpointer(saver);
        let below = inner.thread(levels[0].thread.clone());
        assert_eq!(below.history().expect("it has a store").collect().await.expect("it reads").len(), 3);
        below.edit(inner_said("edited")).await.expect("it is edited");

        drop(open(thread.resume().await));
        drop(open(thread.answer("one").await));
        let state = thread.answer("two").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "edited", "one two", "ended"]);
    })
    .await;
}

/// A graph whose only node is a subgraph, and so on, down to one that writes.
fn nested_levels(count: usize) -> Result<Graph<Inner>, BuildError> {
    let mut g = StateGraph::<Inner>::new("g");
    let node = match count {
        0 => g.node("work", async || Inner::update().query("deep")),
        _ => {
            let lens = Lens::new().take(Inner::QUERY, Inner::QUERY);
            g.subgraph("below", nested_levels(count - 1)?, lens)
        }
    };
    g.edge(START, node);
    g.edge(node, END);
    g.compile()
}

/// With 37 levels `compile` used to panic, because the description of the graph was nested too deeply to be stored.
#[tokio::test]
async fn as_many_levels_run_as_can_be_stored_and_more_are_a_problem() {
    on_both_savers(|saver| async move {
        let limit = Topology::MOST_LEVELS;
        let graph = nested_levels(limit).expect("as many as can be stored").shared_checkpointer(saver);
        let run = graph.thread("t").run(Inner::update()).await.expect("every level runs");
        assert_eq!(run.state.query, "deep");
        let error = nested_levels(limit + 1).map(drop).expect_err("one more");
        let [Problem::TooManyLevels { node, levels, limit: told }] = &error.problems[..] else {
            panic!("{error}");
        };
        assert_eq!((node.as_str(), *levels, *told), ("below", limit + 1, limit));
    })
    .await;
}
