//! Questions of subgraphs, and their answers.

use superstep::run::{EventKind, RunEvent};

use super::*;

#[tokio::test]
async fn b50_b66_a_question_inside_pauses_the_graph_around_and_is_answered_there() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(asking_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("rust")).await);
        assert_eq!(question(&asked), "first?");
        assert_eq!((asked[0].node.as_str(), asked[0].path.len()), ("ask", 1));
        assert_eq!(asked[0].path[0].as_str(), "sub");
        assert_eq!(thread.head().await.expect("it ran").interrupts(), asked, "the state shows it");
        assert_eq!(graph.interrupts().await.expect("it has a store").len(), 1, "and so does the list, once");

        let asked = open(thread.answer("one").await);
        assert_eq!(question(&asked), "second?");
        let state = thread.answer("two").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "one two", "ended"]);
        assert_eq!(state.result, "two");
        assert_eq!(stage.calls.of("read"), 1);
        assert_eq!(stage.calls.of("ask_twice"), 3, "it starts over for each answer");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_answer_is_refused_before_the_subgraph_sees_it() {
    on_both_savers(|saver| async move {
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update()).await);
        let refused = thread.answer(&7).await.expect_err("a text is asked for");
        assert!(matches!(refused, RunError::WrongAnswer { .. }), "{refused}");
        assert_eq!(open(thread.resume().await), asked, "it is still open");
    })
    .await;
}

#[tokio::test]
async fn b43_each_item_has_a_subgraph_of_its_own_and_all_may_ask() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let fan = g.node("fan", async || Fan::Out(vec!["a".into(), "b".into()]));
        let lens = Lens::new()
            .item(|item: &String| Inner::update().query(item.clone()))
            .share(Outer::SAID, Inner::SAID);
        let sub = g.subgraph("sub", asking_graph(), lens);
        g.edge(START, fan);
        g.route(fan, move |Fan::Out(items)| each(sub, items));
        g.edge(sub, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");

        let asked = open(thread.run(Outer::update()).await);
        assert_eq!(asked.len(), 2);
        let asked = open(thread.answer_to(asked[1].id, "b1").await);
        assert_eq!(asked.len(), 2, "a's first question and b's second");
        let [first, second] = [0, 1].map(|at| asked[at].question::<String>().expect("a text"));
        assert_eq!([first.as_str(), second.as_str()], ["first?", "second?"]);
        let asked = open(thread.answer_to(asked[1].id, "b2").await);
        let asked = open(thread.answer_to(asked[0].id, "a1").await);
        let state = thread.answer_to(asked[0].id, "a2").await.expect("it goes on").finished();
        let state = state.expect("it finishes");
        assert_eq!(state.said, ["read a", "a1 a2", "read b", "b1 b2"], "in the order of the items");
        assert_eq!(stage.calls.of("read"), 2);
    })
    .await;
}

#[tokio::test]
async fn five_levels_bubble_questions_up_and_pass_answers_down() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(nested(4), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("deep")).await);
        assert_eq!(asked[0].path.len(), 5);
        let asked = open(thread.answer_to(asked[0].id, "one").await);
        let state = thread.answer_to(asked[0].id, "two").await.expect("it goes on").finished();
        let state = state.expect("it finishes");
        assert_eq!(state.said, ["begun", "read deep", "one two", "ended"]);
        assert_eq!(state.result, "two");
        assert_eq!(stage.calls.of("read"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_fork_runs_its_subgraph_again_and_leaves_the_other_alone() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(asking_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update().topic("rust")).await));
        let fork = thread.head().await.expect("it ran").fork("f").await.expect("a new name");
        let asked = open(fork.resume().await);
        assert_eq!(question(&asked), "first?");
        assert_eq!(stage.calls.of("read"), 2, "the fork shares no unfinished work");
        drop(open(fork.answer("f1").await));
        let state = fork.answer("f2").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.result, "f2");
        let asked = open(thread.resume().await);
        assert_eq!(question(&asked), "first?", "the answer was the fork's");
    })
    .await;
}

#[tokio::test]
async fn an_edit_around_a_paused_subgraph_leaves_it_where_it_is() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(asking_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = open(thread.run(Outer::update().topic("rust")).await);
        let asked = open(thread.answer_to(asked[0].id, "one").await);
        for text in ["edited", "twice"] {
            thread.edit(outer_said(text)).await.expect("it is edited");
        }
        assert_eq!(thread.head().await.expect("it ran").interrupts(), asked, "the question is still open");
        let level =
            thread.head().await.expect("it ran").subgraphs().await.expect("the store reads").remove(0);
        assert_eq!(level.view.next, ["ask"]);
        let state = thread.answer_to(asked[0].id, "two").await.expect("it goes on").finished();
        let state = state.expect("it finishes");
        assert_eq!(state.said, ["begun", "edited", "twice", "read rust", "one two", "ended"]);
        assert_eq!(stage.calls.of("read"), 1, "what the subgraph had done is done");
    })
    .await;
}

#[tokio::test]
async fn b55_a_pause_of_a_subgraph_is_reported_at_every_level_and_so_is_each_resume() {
    on_both_savers(|saver| async move {
        let told = Calls::default();
        let noting = told.clone();
        let graph = around(asking_graph(), &Stage::default()).shared_checkpointer(saver);
        let graph = graph.observe(move |event: &RunEvent| {
            let level = event.path.len();
            match &event.kind {
                EventKind::Interrupted { interrupts } => {
                    noting.note(format!("{level}: {} asked", interrupts.len()));
                }
                EventKind::RunStarted { resumes: Some(_), .. } => noting.note(format!("{level}: resumed")),
                _ => {}
            }
        });
        let thread = graph.thread("t");
        drop(open(thread.run(Outer::update()).await));
        let asked = ["1: 1 asked", "0: 1 asked"];
        assert_eq!(told.take(), asked);
        drop(open(thread.answer("one").await));
        let resumed = ["0: resumed", "1: resumed"];
        assert_eq!(told.take(), [resumed, asked].concat());
        thread.answer("two").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(told.take(), resumed);
    })
    .await;
}
