//! One node is run alone.

use std::time::Duration;

use superstep::prelude::*;
use superstep::testing::{self, Cassette};

use crate::testing::program::{Deps, Essay, World, essay, essays};

#[tokio::test]
async fn a_node_is_run_alone_with_made_up_effects() {
    let essays = essays(&World::absent());
    let ran = testing::node(&essays, "write")
        .state(Essay { topic: "Rust".into(), facts: vec!["old".into()], rounds: 4, ..Essay::default() })
        .effect("$uuid", "00000000-0000-7000-8000-000000000007")
        .effect("draft", "a text")
        .await
        .unwrap()
        .finished();
    let draft = "a text: old 00000000-0000-7000-8000-000000000007";
    assert_eq!((ran.state.draft.as_str(), ran.state.rounds), (draft, 5));
    assert_eq!(ran.writes_json(), serde_json::json!({ "draft": draft, "rounds": 5 }));
    assert_eq!((ran.case.as_deref(), ran.next_nodes()), (None, vec!["review"]));
    let effects: Vec<&str> = ran.effects.iter().map(|effect| effect.id.name.as_str()).collect();
    assert_eq!(effects, ["$uuid", "draft"]);
}

#[tokio::test]
async fn decisions_are_mapped_and_items_shown() {
    let essays = essays(&World::absent());
    let ran = testing::node(&essays, "plan").state(essay("Rust")).await.unwrap().finished();
    assert_eq!(ran.case.as_deref(), Some("Research"));
    let next: Vec<_> =
        ran.next.iter().map(|(node, item)| (node.as_str(), item.as_ref().unwrap().as_str())).collect();
    assert_eq!(next, [("research", "\"history\""), ("research", "\"people\"")]);
    let ran = testing::node(&essays, "plan").state(essay("nothing")).await.unwrap();
    assert_eq!((ran.case.as_deref(), ran.next_nodes()), (Some("Write"), vec!["write"]));
}

#[tokio::test]
async fn a_node_takes_its_item_its_context_and_a_cassette() {
    let live = World::there();
    let ran = testing::node(&essays(&World::absent()), "research")
        .input("history")
        .context(Deps { world: live.clone() })
        .await
        .unwrap();
    assert_eq!((ran.state.facts, live.calls()), (vec!["history (1)".to_owned()], 1));

    let thread = essays(&World::there()).checkpointer(MemorySaver::new()).thread("t");
    let _asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    let cassette = Cassette::of(&thread).await.unwrap();
    let research = || testing::node(&essays(&World::absent()), "research").cassette(&cassette);
    let ran = research().input("people").await.unwrap().finished();
    assert_eq!(ran.state.facts, ["people (1)"]);
    let missed = research().input("tools").await.unwrap().failure.unwrap().error.to_string();
    assert!(
        missed.starts_with("the cassette has no effect \"search\" with key \"tools\" of node research"),
        "{missed}"
    );
    assert_eq!(cassette.unused().len(), 4, "the cassette itself is as it was");
}

#[tokio::test]
async fn questions_are_answered_and_what_is_emitted_is_seen() {
    let essays = essays(&World::absent());
    let state = Essay { draft: "a text".into(), rounds: 3, ..Essay::default() };
    let ran = testing::node(&essays, "review").state(state.clone()).await.unwrap();
    assert_eq!(ran.asked[0].question::<String>().unwrap(), "a text");
    assert_eq!((&ran.state, ran.case.as_deref()), (&state, None));

    let ran = testing::node(&essays, "review").state(state).answer("bad").await.unwrap().finished();
    assert_eq!((ran.case.as_deref(), ran.next_nodes()), (Some("Revise"), vec!["write"]));
    assert_eq!((ran.custom[0].0.as_str(), ran.custom[0].1.as_str()), ("reviewed", "3"));
}

#[tokio::test(start_paused = true)]
async fn a_node_fails_after_its_retries_and_may_be_handled() {
    let graph = |handles: bool| {
        let mut g = StateGraph::<Essay>::new("g");
        let pay = g.node("pay", async |fx: Effects| {
            let paid = fx.run("pay", async || Err::<u32, String>("a live call".into())).await;
            paid.map_err(NodeError::retryable).map(|paid| Essay::update().rounds(paid))
        });
        let policy = g.policy(pay).retry(Retry::fixed(3, Duration::from_secs(60)));
        if handles {
            policy.on_error(async |failed: Failed| Essay::update().draft(failed.error().to_string()));
        }
        g.edge(START, pay);
        g.edge(pay, END);
        (g.compile().unwrap(), pay)
    };
    let (plain, pay) = graph(false);
    let ran = testing::node(&plain, pay).effect_fails("pay", "", "declined").await.unwrap();
    let failure = ran.failure.unwrap();
    assert_eq!((failure.error.to_string().as_str(), failure.attempt), ("declined", 3));

    let (handling, pay) = graph(true);
    let ran = testing::node(&handling, pay).effect_fails("pay", "", "declined").await.unwrap().finished();
    assert_eq!(ran.handled.unwrap().message, "declined");
    assert!(ran.state.draft.contains("declined"));
}

#[tokio::test]
async fn what_does_not_fit_is_named() {
    let essays = essays(&World::absent());
    let error = testing::node(&essays, "wirte").await.unwrap_err().to_string();
    assert!(error.contains("wirte") && error.contains("write"), "{error}");
    let error = testing::node(&essays, "research").input(&7).await.unwrap_err().to_string();
    assert!(error.contains("research"), "{error}");
    let error = testing::node(&essays, "research").effect_keyed("search", "", "a fact").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "node \"research\" takes an item of type alloc::string::String, and the test gives it none; give it one with \
         `.input(..)`"
    );
}

#[tokio::test]
async fn what_is_said_of_effects_has_to_be_used() {
    let essays = essays(&World::absent());
    let review = || testing::node(&essays, "review").answer("good").effect("never", "x");
    let error = review().effect_fails("pay", "7", "declined").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "node \"review\" did not use the test's results of effect \"never\", effect \"pay\" with key \"7\""
    );
    let research = testing::node(&essays, "research").input("tools");
    let error = research.effect_keyed("serach", "tools", "a fact").await.unwrap_err().to_string();
    let begins = "node \"research\" did not use the test's results of effect \"serach\" with key \"tools\"; node \
                  \"research\" failed at step 1: ";
    assert!(
        error.starts_with(begins) && error.contains("no effect \"search\" with key \"tools\""),
        "{error}"
    );
}

#[tokio::test]
#[should_panic(expected = "the graph takes another type of context than u8")]
async fn another_context_is_refused() {
    let _never = testing::node(&essays(&World::absent()), "write").context(7u8);
}
