//! Two concurrent runs of one thread and its subgraphs.

use super::*;

async fn settle(runs: Vec<tokio::task::JoinHandle<Result<Run<Outer>, RunError>>>) {
    for run in runs {
        match run.await.expect("no panic") {
            Ok(_) | Err(RunError::Superseded { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_answers_to_subgraphs_at_once_fail_no_node() {
    on_both_savers(async |saver| {
        let asking = |name: &'static str| {
            let mut g = StateGraph::<Inner, Stage>::new(name);
            let ask =
                g.node("ask", async |ask: Ask<String, String>| inner_said(ask.ask("which?".into()).await));
            g.edge(START, ask);
            g.edge(ask, END);
            g.compile().expect("sound")
        };
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        for name in ["left", "right"] {
            let sub = g.subgraph(name, asking(name), Lens::new().share(Outer::SAID, Inner::SAID));
            g.policy(sub).on_error(async |failed: Failed| outer_said(format!("handled {}", failed.error())));
            g.edge(START, sub);
            g.edge(sub, END);
        }
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        for round in 0..20 {
            let thread = graph.thread(format!("t{round}"));
            let asked = open(thread.run(Outer::update()).await);
            let answer =
                |ask: &Interrupt| tokio::spawn(thread.answer_to(ask.id, ask.path[0].as_str()).into_future());
            settle(asked.iter().map(answer).collect()).await;
            let run = thread.resume().await.expect("it goes on, or is finished");
            assert_eq!(run.finished().expect("to the end").said, ["left", "right"]);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_may_continue_with_a_kept_subgraph() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let sub = g.subgraph("sub", inner_graph(), lens().keep("one"));
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        for round in 0..20 {
            let thread = graph.thread(format!("t{round}"));
            thread.run(Outer::update()).await.expect("it runs").finished().expect("to the end");
            thread.input(Outer::update()).await.expect("there is no other writer");
            settle((0..2).map(|_| tokio::spawn(thread.resume().into_future())).collect()).await;
            let state =
                thread.resume().await.expect("it goes on, or is finished").finished().expect("to the end");
            assert_eq!(state.said, ["read ", "concluded", "read ", "concluded"]);
        }
    })
    .await;
}

#[tokio::test]
async fn subgraphs_that_stop_at_breakpoints_are_all_told() {
    on_both_savers(async |saver| {
        let stopping = |name: &'static str| {
            let mut g = StateGraph::<Inner, Stage>::new(name);
            let node = g.node(format!("in {name}"), async || inner_said("on"));
            g.policy(node).interrupt_before();
            g.edge(START, node);
            g.edge(node, END);
            g.compile().expect("sound")
        };
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        for name in ["right", "left"] {
            let sub = g.subgraph(name, stopping(name), Lens::new().share(Outer::SAID, Inner::SAID));
            g.edge(START, sub);
            g.edge(sub, END);
        }
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let run = graph.thread("t").run(Outer::update()).await.expect("it stops");
        let stopped =
            Status::Breakpoint { before: vec!["in left".into(), "in right".into()], after: Vec::new() };
        assert_eq!(run.status, stopped);
        let state = graph.thread("t").resume().await.expect("it goes on").finished().expect("to the end");
        assert_eq!(state.said, ["on", "on"]);
    })
    .await;
}
