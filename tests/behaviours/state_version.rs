//! Threads written under an older version of the state are migrated.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, CheckpointerExt};
use superstep::prelude::*;
use superstep::run::{EventKind, ThreadError, View};
use superstep::state::LoadError;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

/// The old and the new states: the type of `tags` changed twice, and `cost` changed its unit.
mod versions {
    use super::*;

    #[derive(State, Clone, Debug, Default, PartialEq)]
    pub(super) struct EssayV1 {
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
        pub(super) tags: String,
        #[reducer(Sum)]
        pub(super) cost: u64,
    }

    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(version = 2, migrate = from_v1)]
    pub(super) struct EssayV2 {
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
        pub(super) tags: Vec<String>,
        #[reducer(Sum)]
        pub(super) cost: u64,
    }

    fn from_v1(old: EssayV1) -> EssayV2 {
        let tags = old.tags.split_whitespace().map(String::from).collect();
        EssayV2 { facts: old.facts, tags, cost: old.cost }
    }

    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(version = 3, migrate = from_v2)]
    pub(super) struct Essay {
        #[reducer(Sum)]
        pub(super) cost: f64,
        #[reducer(Union)]
        pub(super) tags: std::collections::BTreeSet<String>,
        #[reducer(Append)]
        pub(super) facts: Vec<String>,
    }

    fn from_v2(old: EssayV2) -> Result<Essay, String> {
        if old.facts.iter().any(|fact| fact == "unreadable") {
            return Err("a fact is unreadable".into());
        }
        assert!(!old.facts.iter().any(|fact| fact == "panics"), "a fact panics");
        let cost = old.cost as f64 / 100.0;
        Ok(Essay { facts: old.facts, tags: old.tags.into_iter().collect(), cost })
    }
}

use versions::{Essay, EssayV1, EssayV2};

/// A graph over a state: `a` and `b` side by side, then `end`. Each node writes the fact with its name.
fn graph<S: State>(stage: &Stage, saver: Arc<dyn Checkpointer>, fact: fn(String) -> S::Update) -> Graph<S> {
    let mut g = StateGraph::<S, Stage>::new("essay");
    let step = move |task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>, fx: Effects| async move {
        let node = task.node().to_string();
        calls.note(node.clone());
        let think = || {
            calls.note("think");
            std::future::ready(Ok::<_, Smashed>(format!("of {node}")))
        };
        let told = fx.run("think", think).await?;
        broken.check(&node)?;
        Ok::<_, NodeError>(fact(if node == "end" { node } else { told }))
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

fn v1(stage: &Stage, saver: &Arc<dyn Checkpointer>) -> Graph<EssayV1> {
    graph(stage, Arc::clone(saver), |fact| EssayV1::update().facts([fact]).cost(1u64))
}

fn v2(stage: &Stage, saver: &Arc<dyn Checkpointer>) -> Graph<EssayV2> {
    graph(stage, Arc::clone(saver), |fact| EssayV2::update().facts([fact]).cost(1u64))
}

fn v3(stage: &Stage, saver: &Arc<dyn Checkpointer>) -> Graph<Essay> {
    graph(stage, Arc::clone(saver), |fact| Essay::update().facts([fact]).cost(0.01))
}

fn ended<S: State>(run: Result<Run<S>, RunError>) -> S {
    run.expect("no node fails").finished().expect("no pause")
}

/// The nodes that ran, without their reasoning.
fn ran(stage: &Stage) -> Vec<String> {
    let mut ran = stage.calls.take_sorted();
    ran.retain(|noted| noted != "think");
    ran
}

fn input() -> Update<EssayV1> {
    EssayV1::update().facts(["in"]).tags("rust graphs").cost(100u64)
}

#[tokio::test]
async fn an_older_state_goes_through_the_chain_of_migrations() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v1(&stage, &saver).thread("t").run(input()).await);
        let thread = v3(&stage, &saver).thread("t");
        let essay = thread.head().await.expect("it loads").into_state();
        let tags = ["graphs", "rust"].map(String::from);
        assert_eq!(essay.facts, ["in", "of a", "of b", "end"]);
        assert_eq!((essay.tags, essay.cost), (tags.into(), 1.03));

        let middle = v2(&stage, &saver).thread("t").head().await.expect("it loads").into_state();
        assert_eq!(middle.tags, ["rust", "graphs"], "in the order of the text");
    })
    .await;
}

#[tokio::test]
async fn every_way_of_looking_back_migrates() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v1(&stage, &saver).thread("t").run(input()).await);
        let thread = v3(&stage, &saver).thread("t");
        let before_end = thread.before_named("end").await.expect("it loads");
        assert_eq!((before_end.state().facts.len(), before_end.state().cost), (3, 1.02));
        assert_eq!(thread.state().await.expect("it loads").values.tags.len(), 2);

        let mut events = thread.events().expect("a store").view(View::Values);
        let mut costs = Vec::new();
        while let Some(event) = events.next().await.expect("they are rebuilt") {
            if let EventKind::Values { values, .. } = &event.event.kind {
                let values: serde_json::Value = values.decode().expect("a state");
                costs.push(values["cost"].to_string());
            }
        }
        assert_eq!(costs.last().map(String::as_str), Some("1.03"), "{costs:?}");

        let fork = before_end.fork("fork").await.expect("free");
        let essay = fork.resume().await.expect("no node fails").state;
        assert_eq!((essay.facts.len(), essay.cost), (4, 1.03));
    })
    .await;
}

#[tokio::test]
async fn what_was_read_is_never_written_over_and_the_next_checkpoint_is_whole() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v1(&stage, &saver).thread("t").run(input()).await);
        let old = saver.read(&"t".into(), superstep::checkpoint::At::Head).await.expect("it reads");
        let old = old.expect("it ran");

        let thread = v3(&stage, &saver).thread("t");
        let essay = thread.run(Essay::update().facts(["again"])).await.expect("no node fails").into_state();
        assert_eq!(essay.facts, ["in", "of a", "of b", "end", "again", "of a", "of b", "end"]);
        assert_eq!(thread.head().await.expect("it loads").into_state(), essay, "it was stored so");

        let at = superstep::checkpoint::At::Id(old.checkpoint.id);
        let again = saver.read(&"t".into(), at).await.expect("it reads").expect("it is there");
        assert_eq!(again, old);
        let old = v1(&stage, &saver).thread("t").at(old.checkpoint.id).await.expect("it loads");
        assert_eq!((old.state().tags.as_str(), old.state().cost), ("rust graphs", 103));
    })
    .await;
}

#[tokio::test]
async fn a_newer_version_is_refused() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v3(&stage, &saver).thread("t").run(Essay::update()).await);
        let thread = v2(&stage, &saver).thread("t");
        let error = thread.run(EssayV2::update()).await.expect_err("it is newer");
        let RunError::Thread(ThreadError::Version { reason, .. }) = &error else { panic!("{error}") };
        assert!(matches!(reason, LoadError::Newer { stored: 3, own: 2, .. }), "{reason}");
        assert!(error.to_string().contains("holds version 3 of EssayV2, and this program knows it up to"));
    })
    .await;
}

#[tokio::test]
async fn a_version_that_no_migration_leads_from_is_an_error_that_says_so() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(version = 7)]
    struct Bare {
        facts: Vec<String>,
    }
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v1(&stage, &saver).thread("t").run(input()).await);
        let bare = graph::<Bare>(&stage, saver, |fact| Bare::update().facts([fact]));
        let error = bare.thread("t").head().await.expect_err("there is no way");
        let text = error.to_string();
        assert!(text.contains("version 1 of Bare, and no migration leads from there to version 7"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_fails_or_panics_is_an_error_that_names_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        for (fact, expected) in [("unreadable", "a fact is unreadable"), ("panics", "a fact panics")] {
            let input = EssayV1::update().facts([fact]);
            ended(v1(&stage, &saver).thread(fact).run(input).await);
            let error = v3(&stage, &saver).thread(fact).head().await.expect_err("it fails");
            let ThreadError::Version { reason: LoadError::Migration { to: 3, .. }, .. } = &error else {
                panic!("{error}")
            };
            assert!(error.to_string().contains(expected), "{error}");
        }
    })
    .await;
}

/// Results are writes to fields of the older version; a migration converts states.
#[tokio::test]
async fn finished_tasks_of_an_older_version_run_again_with_their_effects() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("b");
        v1(&stage, &saver).thread("t").run(input()).await.expect_err("b is broken");
        stage.broken.mend("b");
        assert_eq!(ran(&stage), ["a", "b"]);
        let thread = v3(&stage, &saver).thread("t");
        let stands = thread.state().await.expect("it loads");
        assert_eq!(stands.values.facts, ["in"], "what a wrote counts no more");
        assert_eq!(stands.next, ["a".into(), "b".into()]);
        assert_eq!(stage.calls.of("think"), 0);
        let essay = thread.resume().await.expect("all is mended").state;
        assert_eq!((essay.facts.len(), essay.cost), (4, 1.03));
        assert_eq!(stage.calls.of("think"), 1, "that of `end`");
        assert_eq!(ran(&stage), ["a", "b", "end"]);
    })
    .await;
}

#[tokio::test]
async fn an_edit_leaves_results_of_an_older_version_behind() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("b");
        v1(&stage, &saver).thread("t").run(input()).await.expect_err("b is broken");
        stage.broken.mend("b");
        stage.calls.take();
        let thread = v3(&stage, &saver).thread("t");
        thread.edit(Essay::update().tags(["edited".to_string()])).await.expect("there is no other writer");
        let essay = thread.resume().await.expect("all is mended").state;
        assert_eq!((essay.facts.len(), essay.tags.len(), essay.cost), (4, 3, 1.03));
        assert_eq!(ran(&stage), ["a", "b", "end"]);
    })
    .await;
}

#[tokio::test]
async fn an_input_of_an_older_version_that_waits_is_not_lost() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let older = v1(&stage, &saver).thread("t");
        older.input(input()).await.expect("there is no other writer");
        let thread = v3(&stage, &saver).thread("t");
        for error in [
            thread.resume().await.expect_err("it cannot be mapped"),
            thread.edit(Essay::update().facts(["x"])).await.expect_err("it cannot be mapped").into(),
        ] {
            let RunError::Thread(ThreadError::OtherVersion { stored: 1, own: 3, .. }) = &error else {
                panic!("{error}")
            };
            assert!(error.to_string().starts_with("the input that waits at checkpoint "), "{error}");
        }
        assert!(stage.calls.take().is_empty());
        let state = older.resume().await.expect("the older program finishes it").state;
        assert_eq!(state.facts.len(), 4);
        assert_eq!(thread.head().await.expect("it loads").state().facts.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_new_input_takes_the_place_of_one_that_waits() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        v1(&stage, &saver).thread("t").input(input()).await.expect("there is no other writer");
        let thread = v3(&stage, &saver).thread("t");
        let essay = thread.run(Essay::update().facts(["new"])).await.expect("no node fails").state;
        assert_eq!(essay.facts, ["new", "of a", "of b", "end"]);
    })
    .await;
}

#[tokio::test]
async fn another_version_of_an_embedded_state_asks_for_one_of_the_state_around_it() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    #[state(version = 2)]
    struct Head {
        title: u32,
    }
    mod old {
        use super::*;

        #[derive(State, Clone, Debug, Default, PartialEq)]
        pub(super) struct Head {
            pub(super) title: String,
        }
        #[derive(State, Clone, Debug, Default, PartialEq)]
        pub(super) struct Page {
            #[state(flatten)]
            pub(super) head: Head,
        }
    }
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Page {
        #[state(flatten)]
        head: Head,
    }
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let older = graph::<old::Page>(&stage, Arc::clone(&saver), |_| Update::<old::Page>::default());
        let input = old::Page::update().head(old::Head::update().title("t"));
        ended(older.thread("t").run(input).await);
        let newer = graph::<Page>(&stage, saver, |_| Update::<Page>::default());
        let error = newer.thread("t").head().await.expect_err("nothing migrates the embedded state");
        let ThreadError::Version { reason: LoadError::Embedded { path, stored: 1, own: 2, .. }, .. } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(path, "head");
    })
    .await;
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_reported_with_path_expected_and_found() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Numbers {
        facts: Vec<u32>,
        #[state(secret)]
        tags: u32,
    }
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph_of = || graph::<Numbers>(&stage, Arc::clone(&saver), |_| Numbers::update());
        let of_facts = EssayV1::update().facts(["1"]).tags("5");
        ended(v1(&stage, &saver).thread("facts").run(of_facts).await);
        let error = graph_of().thread("facts").head().await.expect_err("a text is no number");
        let ThreadError::Decode { field, reason, .. } = &error else { panic!("{error}") };
        let mismatch = reason.mismatch().expect("it was read from JSON");
        assert_eq!(field, "facts");
        assert_eq!((mismatch.path.as_str(), mismatch.expected.as_str()), ("[0]", "u32"));
        assert_eq!(mismatch.found, "\"1\"");
        assert!(error.to_string().ends_with("does not decode at [0]: expected u32, found \"1\""), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_secret_that_does_not_fit_stays_secret() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Guarded {
        #[state(secret)]
        tags: u32,
    }
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        ended(v1(&stage, &saver).thread("t").run(input()).await);
        let error = graph::<Guarded>(&stage, saver, |_| Guarded::update()).thread("t").head().await;
        let error = error.expect_err("a text is no number");
        let text = format!("{error} {error:?}");
        assert!(text.contains("expected u32, found <secret>") && !text.contains("rust"), "{text}");
    })
    .await;
}

#[test]
fn the_version_is_part_of_the_fingerprint_and_the_first_one_is_not() {
    let schema = EssayV1::schema();
    assert!(!serde_json::to_string(&schema).expect("plain data").contains("version"));
    let later = superstep::driver::state::Schema { version: 2, ..schema.clone() };
    assert_ne!(schema.fingerprint(), later.fingerprint());
    let older = serde_json::from_str::<superstep::driver::state::Schema>(r#"{"name":"S","fields":[]}"#);
    assert_eq!(older.expect("an older file").version, 1);
}
