//! Error handlers and caches in the description of a node, and edits as its nodes.

use superstep::node::Failed;
use superstep::run::ThreadError;

use super::*;

/// Nodes that fail while they are broken, and handlers of them.
fn failing() -> Registry<Stage> {
    Registry::new()
        .node("work", async |task: TaskInfo, broken: Dep<Broken>, calls: Dep<Calls>| {
            calls.note(task.node().as_str());
            broken.check(task.node().as_str())?;
            Ok::<_, Smashed>(JsonOutcome::update(json!({ "v": [task.node().as_str()] })))
        })
        .node("choose", async |broken: Dep<Broken>| {
            broken.check("choose")?;
            Ok::<_, Smashed>(JsonOutcome::routed("on"))
        })
        .node("tell", async |failed: Failed| json!({ "v": [format!("handled: {}", failed.error())] }))
        .node("lead", async |failed: Failed| {
            JsonOutcome::update(json!({ "v": [failed.node().as_str()] })).route("back")
        })
        .node("item", async |_: Input<u32>, broken: Dep<Broken>| broken.check("item"))
        .node("of item", async |item: Input<u32>| json!({ "v": [format!("item {}", *item)] }))
        .node("of text", async |_: Input<String>| json!({}))
}

fn staged(stage: &Stage, nodes: Value, start: Value) -> Graph<JsonState> {
    let description = json!({ "graph": "g", "state": v(), "start": start, "nodes": nodes });
    let graph = failing().build(&Description::from_value(description)).compile().expect("sound");
    graph.with_context(stage.clone())
}

fn smashed(nodes: &[&str]) -> Stage {
    let stage = Stage::default();
    nodes.iter().for_each(|node| stage.broken.smash(node));
    stage
}

#[tokio::test]
async fn a_described_handler_leads_on_as_its_node_would() {
    let plain = json!({
        "a": { "run": "work", "on_error": "tell", "to": "b" },
        "b": { "run": "work", "to": "END" },
    });
    let graph = staged(&smashed(&["a"]), plain, json!("a"));
    assert_eq!(ran(&graph).await, ["handled: a is broken", "b"]);

    // The handler of a node with cases chooses one of them.
    let deciding = json!({
        "choose": { "cases": { "on": "b", "back": "c" }, "on_error": { "run": "lead" } },
        "b": { "run": "work", "to": "END" },
        "c": { "run": "work", "to": "END" },
    });
    let graph = staged(&smashed(&["choose"]), deciding.clone(), json!("choose"));
    assert_eq!(ran(&graph).await, ["choose", "c"]);
    let graph = staged(&Stage::default(), deciding, json!("choose"));
    assert_eq!(ran(&graph).await, ["b"]);
}

#[tokio::test]
async fn a_described_handler_may_lead_elsewhere_by_cases_of_its_own() {
    on_both_savers(|saver| async move {
        let nodes = json!({
            "a": { "run": "work", "to": "b", "on_error": { "run": "lead", "cases": { "back": "c", "end": "END" } } },
            "b": { "run": "work", "to": "END" },
            "c": { "run": "work", "to": "END" },
        });
        let stage = smashed(&["a", "c"]);
        let graph = staged(&stage, nodes.clone(), json!("a")).shared_checkpointer(saver.clone());
        assert!(graph.mermaid().contains("-.->|on error: back| n4"), "{}", graph.mermaid());
        graph.thread("t").run(JsonUpdate::default()).await.expect_err("c is broken");
        stage.broken.mend("c");
        // Its targets are stored, also for another program.
        let graph = staged(&stage, nodes, json!("a")).shared_checkpointer(saver);
        let done = graph.thread("t").resume().await.expect("c is mended").finished().expect("it ends");
        assert_eq!(done.to_json()["v"], json!(["a", "c"]));
        assert_eq!(stage.calls.take(), ["a", "c", "c"]);
    })
    .await;
}

#[tokio::test]
async fn a_described_handler_gets_the_item_of_its_node_and_its_outcome_is_checked() {
    let fan = json!({ "branches": [{ "on": "v", "cases": { "x": "END" }, "else": { "each": "item", "items": "n" } }] });
    let described = |handler: &str| {
        let description = json!({
            "graph": "g", "start": fan,
            "state": { "v": v()["v"], "n": { "type": "array", "default": [1, 2] } },
            "nodes": { "item": { "to": "END", "on_error": handler } },
        });
        failing().node("wrong", async || json!({ "w": 1 })).build(&Description::from_value(description))
    };
    let stage = smashed(&["item"]);
    let graph = described("of item").compile().expect("sound").with_context(stage.clone());
    assert_eq!(ran(&graph).await, ["item 1", "item 2"]);
    let graph = described("wrong").compile().expect("sound").with_context(stage);
    assert!(
        failure(&graph).await.to_string().contains(r#"no field "w""#),
        "what a handler writes is checked"
    );
}

#[test]
fn mistakes_with_described_handlers_and_caches_are_said_at_compile() {
    let description = json!({
        "graph": "g", "state": v(), "start": ["a", "b", "c", "d", "tell"],
        "nodes": {
            "a": { "run": "work", "to": "END", "on_error": "tel", "cache": { "time_to_live": 1 } },
            "b": { "run": "work", "to": "END", "on_error": { "cases": { "x": "e" } }, "cache": 3 },
            "c": { "run": "work", "to": "END", "on_error": "of item" },
            "d": { "run": "work", "to": "END", "on_error": { "run": "tell", "to": "a" }, "cache": { "time_to_live_ms": "x" } },
            "e": { "run": "item", "to": "END", "on_error": { "run": "of text" } },
            "tell": { "to": "END" },
        },
    });
    let error = failing().build(&Description::from_value(description)).compile().unwrap_err();
    let said: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    let expected = [
        r#"nodes.a.on_error: no function "tel" is registered; did you mean "tell"?"#,
        r#"nodes.a.cache.time_to_live: no such member; did you mean "time_to_live_ms"? (there are time_to_live_ms)"#,
        r#"nodes.b.on_error: the member "run" is missing"#,
        r#"nodes.b.on_error.cases.x: the function of this node takes an `Input`; reach it with {"each": "e"}"#,
        r#"nodes.b.cache: expected true or false, found 3"#,
        r#"nodes.c.on_error: the function takes an `Input<u32>`, but that of its node takes no `Input`"#,
        r#"nodes.d.on_error.to: no such member (there are run, cases)"#,
        r#"nodes.d.cache.time_to_live_ms: expected a whole number, found "x""#,
        r#"nodes.e.on_error.run: the function takes an `Input<String>`, but that of its node takes an `Input<u32>`"#,
        r#"node "tell" takes `Failed`, which only error handlers receive; wire it with on_error(..)"#,
    ];
    for line in expected {
        assert!(said.iter().any(|said| said == line), "missing: {line}\nin:\n{}", said.join("\n"));
    }
}

#[tokio::test]
async fn a_described_cache_is_by_the_whole_state_and_for_its_time() {
    let calls = Calls::default();
    let registry = |calls: Calls| {
        Registry::<()>::new().node("a", move |state: Snapshot<JsonState>| {
            calls.note(state["topic"].as_str().unwrap_or_default());
            async { JsonOutcome::update(json!({ "v": ["a"] })).route("on") }
        })
    };
    let compiled = |cache: Value| {
        let node = json!({ "cases": { "on": "END", "off": "END" }, "cache": cache });
        let state = json!({ "v": v()["v"], "topic": { "type": "string" } });
        let description = json!({ "graph": "g", "state": state, "start": "a", "nodes": { "a": node } });
        compiled(&registry(calls.clone()), description)
    };
    let run = async |graph: &Graph<JsonState>, topic: &str| {
        let input = graph.update(&json!({ "topic": topic })).expect("it fits");
        let done = graph.run(input).await.expect("no node fails").finished().expect("it ends");
        assert_eq!(done.to_json()["v"], json!(["a"]));
    };
    for (cache, expected) in [
        (json!(true), vec!["rust", "zig"]),
        (json!({ "time_to_live_ms": 60_000 }), vec!["rust", "zig"]),
        (json!({ "time_to_live_ms": 0 }), vec!["rust", "zig", "rust"]),
        (json!(false), vec!["rust", "zig", "rust"]),
    ] {
        let graph = compiled(cache.clone());
        for topic in ["rust", "zig", "rust"] {
            run(&graph, topic).await;
        }
        assert_eq!(calls.take(), expected, "with {cache}");
    }
}

/// A node that chooses a case, and the targets of its cases.
fn choosing() -> Graph<JsonState> {
    let registry = marks().node("plan", async || JsonOutcome::routed("write"));
    let description = json!({
        "graph": "g", "start": "plan",
        "state": { "v": v()["v"], "n": { "type": "array", "reducer": "append" } },
        "nodes": {
            "plan": { "cases": {
                "write": "write",
                "work": [{ "each": "w", "items": "n" }, { "each": "w" }],
            } },
            "w": { "run": "work", "to": "write" },
            "write": { "run": "mark", "to": "END" },
        },
    });
    compiled(&registry, description)
}

/// Runs a new thread up to a node.
async fn stopped_before(thread: &Thread<JsonState>, node: &str) {
    let run = thread.run(JsonUpdate::default()).interrupt_before(node).await.expect("no node fails");
    assert!(matches!(run.status, Status::Breakpoint { .. }), "{run:?}");
}

#[tokio::test]
async fn an_edit_plays_a_deciding_node_of_a_description_by_the_name_of_its_case() {
    on_both_savers(|saver| async move {
        let graph = choosing().shared_checkpointer(saver);
        let thread = graph.thread("t");
        stopped_before(&thread, "plan").await;
        let outcome = JsonOutcome::update(json!({ "n": [1], "v": ["played"] })).route("work").items([2, 3]);
        thread.edit_as_named("plan", outcome).await.expect("the node has this case");
        let done = thread.resume().await.expect("no node fails").finished().expect("it ends");
        assert_eq!(done.to_json()["v"], json!(["played", "w1", "w2", "w3", "write"]));

        // An edit as a node without decisions also takes anything that the node may return.
        let marked = graph.thread("marked");
        stopped_before(&marked, "write").await;
        marked.edit_as_named("write", json!({ "v": ["by hand"] })).await.expect("it only writes");
        assert_eq!(marked.head().await.expect("it ran").state().to_json()["v"], json!(["by hand"]));
    })
    .await;
}

#[tokio::test]
async fn an_edit_as_a_described_node_is_checked_as_what_the_node_returns() {
    let graph = choosing().checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    stopped_before(&thread, "plan").await;
    let before = thread.head().await.expect("it ran").id();
    let played = async |node: &'static str, outcome: JsonOutcome| {
        let error = thread.edit_as_named(node, outcome).await.expect_err("the check refuses it");
        let RunError::Node(NodeFailure { node: named, error, .. }) = error else { panic!("{error:?}") };
        assert_eq!(named.as_str(), node);
        error.to_string()
    };
    assert_eq!(
        played("plan", JsonOutcome::routed("wirte")).await,
        r#"there is no case "wirte"; there are work, write; did you mean "write"?"#
    );
    let nothing = JsonOutcome::update(json!({}));
    assert_eq!(played("plan", nothing).await, "the node chose no case; there are work, write");
    let chosen = played("write", JsonOutcome::routed("work")).await;
    assert_eq!(chosen, r#"the node chose the case "work", and its description has no cases"#);
    let unknown = played("plan", JsonOutcome::update(json!({ "w": 1 })).route("write")).await;
    assert!(unknown.contains(r#"no field "w""#), "{unknown}");

    #[derive(Route, serde::Serialize, serde::Deserialize)]
    enum Typed {
        Write,
    }
    let typed = thread.edit_as_named("plan", Typed::Write).await.expect_err("cases go by their names");
    assert!(matches!(typed, RunError::Thread(ThreadError::WrongDecision { .. })), "{typed:?}");
    assert_eq!(thread.head().await.expect("it ran").id(), before, "nothing was written");
}
