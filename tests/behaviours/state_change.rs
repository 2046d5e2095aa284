//! A thread written under another schema loads, and continues correctly.

use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::ThreadError;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

/// The old state.
mod old {
    use super::*;

    #[derive(State, Clone, Debug, Default, PartialEq)]
    pub(super) struct Essay {
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
        pub(super) text: String,
        pub(super) gone: u32,
        #[reducer(Sum)]
        pub(super) cost: u64,
        #[reducer(Ephemeral)]
        pub(super) alarm: bool,
    }
}

/// The new state: reordered, `text` renamed, `gone` removed, `title` added.
mod new {
    use super::*;

    #[derive(State, Clone, Debug, Default, PartialEq)]
    pub(super) struct Essay {
        #[reducer(Sum)]
        pub(super) cost: u64,
        pub(super) title: String,
        #[serde(alias = "text")]
        pub(super) draft: String,
        #[reducer(Ephemeral)]
        pub(super) alarm: bool,
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
    }
}

/// The old program: `a` beside `b`, then `end`.
fn before(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<old::Essay> {
    async fn step(
        task: TaskInfo,
        calls: Dep<Calls>,
        broken: Dep<Broken>,
    ) -> Result<Update<old::Essay>, Smashed> {
        let node = task.node().as_str();
        calls.note(node);
        broken.check(node)?;
        let update = old::Essay::update().facts([node]).cost(1u64);
        Ok(if node == "a" { update.text("of a") } else { update })
    }
    let mut g = StateGraph::<old::Essay, Stage>::new("essay");
    let end = g.node("end", step);
    for name in ["a", "b"] {
        let node = g.node(name, step);
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    graph.shared_checkpointer(saver)
}

/// The new program: the same nodes over the new state. `b` writes the new field if `titled` is set.
fn after(stage: &Stage, saver: Arc<dyn Checkpointer>, titled: bool) -> Graph<new::Essay> {
    let mut g = StateGraph::<new::Essay, Stage>::new("essay");
    let step = move |task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>| async move {
        let node = task.node().as_str();
        calls.note(node);
        broken.check(node)?;
        let update = new::Essay::update().facts([node]).cost(1u64);
        Ok::<_, Smashed>(match node {
            "a" => update.draft("of a"),
            "b" if titled => update.title("of b"),
            _ => update,
        })
    };
    let end = g.node("end", step);
    for name in ["a", "b"] {
        let node = g.node(name, step);
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    graph.shared_checkpointer(saver)
}

/// A finished thread of the old program.
async fn written(saver: &Arc<dyn Checkpointer>) {
    let graph = before(&Stage::default(), Arc::clone(saver));
    let input = old::Essay::update().facts(["in"]).gone(7u32).alarm(true).cost(10u64);
    let run = graph.thread("t").run(input).await.expect("no node fails");
    assert_eq!(run.state.cost, 13);
}

#[tokio::test]
async fn fields_are_found_by_name_and_by_former_name() {
    on_both_savers(|saver| async move {
        written(&saver).await;
        let thread = after(&Stage::default(), saver, false).thread("t");
        let essay = thread.head().await.expect("it loads").into_state();
        assert_eq!(
            essay,
            new::Essay {
                cost: 13,
                title: String::new(),
                draft: "of a".into(),
                alarm: false,
                facts: ["in", "a", "b", "end"].map(String::from).to_vec(),
            }
        );
    })
    .await;
}

#[tokio::test]
async fn a_new_turn_continues_from_the_old_state() {
    on_both_savers(|saver| async move {
        written(&saver).await;
        let thread = after(&Stage::default(), Arc::clone(&saver), true).thread("t");
        let run = thread.run(new::Essay::update().facts(["again"])).await;
        let essay = run.expect("no node fails").finished().expect("no pause");
        assert_eq!(essay.facts, ["in", "a", "b", "end", "again", "a", "b", "end"]);
        assert_eq!((essay.cost, essay.title.as_str(), essay.draft.as_str()), (16, "of b", "of a"));
        assert_eq!(thread.head().await.expect("it loads").into_state(), essay, "and it was stored so");

        // The old program still reads its own checkpoints.
        let old = before(&Stage::default(), saver).thread("t");
        let history = old.history().expect("a store").collect().await.expect("it reads");
        let first = old.at(history[history.len() - 2].id).await.expect("it loads");
        assert_eq!((first.state().gone, first.state().alarm), (7, true));
    })
    .await;
}

/// A thread of the old program that stopped half-way: `a` has finished and `b` has not.
async fn half_done(stage: &Stage, saver: &Arc<dyn Checkpointer>) {
    stage.broken.smash("b");
    let graph = before(stage, Arc::clone(saver));
    let input = old::Essay::update().facts(["in"]).alarm(true);
    graph.thread("t").run(input).await.expect_err("b is broken");
    assert_eq!(stage.calls.take_sorted(), ["a", "b"]);
}

#[tokio::test]
async fn finished_tasks_of_the_old_program_stay_finished() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        half_done(&stage, &saver).await;
        stage.broken.mend("b");
        let thread = after(&stage, saver, true).thread("t");
        let essay = thread.resume().await.expect("all is mended").state;
        assert_eq!(essay.facts, ["in", "a", "b", "end"]);
        assert_eq!((essay.draft.as_str(), essay.title.as_str()), ("of a", "of b"));
        assert_eq!(stage.calls.take(), ["b", "end"]);
    })
    .await;
}

/// Results recorded on a checkpoint of the old schema used to name fields by their new numbers, and were read by the
/// old ones: the writes of `b` appeared in other fields.
#[tokio::test]
async fn results_recorded_under_both_schemas_are_read_by_the_right_one() {
    on_both_savers(|saver| async move {
        for titled in [false, true] {
            let stage = Stage::default();
            stage.broken.smash("a");
            stage.broken.smash("b");
            let name = format!("t{titled}");
            let graph = before(&stage, Arc::clone(&saver));
            let input = old::Essay::update().facts(["in"]);
            graph.thread(name.as_str()).run(input).await.expect_err("both are broken");
            // Under the new schema b finishes, and a fails again.
            stage.broken.mend("b");
            stage.calls.take();
            let thread = after(&stage, Arc::clone(&saver), titled).thread(name.as_str());
            thread.resume().await.expect_err("a is broken");
            stage.broken.mend("a");
            let essay = thread.resume().await.expect("all is mended").state;
            assert_eq!(essay.facts, ["in", "a", "b", "end"]);
            assert_eq!((essay.cost, essay.draft.as_str()), (3, "of a"));
            assert_eq!(essay.title, if titled { "of b" } else { "" });
            // Fields of the old schema were kept; others could not be stored.
            assert_eq!(stage.calls.of("b"), if titled { 2 } else { 1 });
        }
    })
    .await;
}

/// An edit writes the new schema; the results and the waiting input that it copied kept the numbers of the old one.
#[tokio::test]
async fn an_edit_takes_unfinished_work_along_into_the_new_schema() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        half_done(&stage, &saver).await;
        let thread = after(&stage, saver, false).thread("t");
        let first = thread.before_named("a").await.expect("a is next");
        let start = first.loaded().checkpoint.parent.expect("an input");
        let fork = thread.at(start).await.expect("it loads").fork("fork").await.expect("free");

        let edit = new::Essay::update().title("edited");
        thread.edit(edit).await.expect("there is no other writer");
        stage.broken.mend("b");
        let essay = thread.resume().await.expect("all is mended").state;
        assert_eq!(essay.facts, ["in", "a", "b", "end"]);
        assert_eq!((essay.cost, essay.draft.as_str(), essay.title.as_str()), (3, "of a", "edited"));
        assert_eq!(stage.calls.take(), ["b", "end"]);

        let edit = new::Essay::update().title("edited");
        fork.edit(edit).await.expect("there is no other writer");
        let essay = fork.resume().await.expect("no node fails").state;
        assert_eq!((essay.facts.len(), essay.cost, essay.title.as_str()), (4, 3, "edited"));
        assert!(!essay.alarm);
    })
    .await;
}

#[tokio::test]
async fn a_value_for_one_superstep_goes_out_under_the_new_schema_too() {
    on_both_savers(|saver| async move {
        let graph = before(&Stage::default(), Arc::clone(&saver));
        let run = graph.thread("t").run(old::Essay::update().alarm(true)).recursion_limit(0).await;
        assert!(run.expect("no node fails").state.alarm);
        let thread = after(&Stage::default(), saver, false).thread("t");
        assert!(thread.head().await.expect("it loads").state().alarm);
        assert!(!thread.resume().await.expect("no node fails").state.alarm);
    })
    .await;
}

#[tokio::test]
async fn a_value_of_another_type_is_an_error_that_names_the_field() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Essay {
        text: Vec<u32>,
    }
    async fn quiet() {}
    on_both_savers(|saver| async move {
        written(&saver).await;
        let mut g = StateGraph::<Essay>::new("essay");
        let node = g.node("a", quiet);
        g.edge(START, node);
        g.edge(node, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let error = thread.resume().await.expect_err("a text is no list");
        let RunError::Thread(ThreadError::Decode { field, .. }) = &error else { panic!("{error}") };
        assert_eq!(field, "text");
        assert!(thread.head().await.is_err());
    })
    .await;
}
