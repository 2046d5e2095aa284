//! Graphs from data: a description in JSON or TOML over registered functions.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::error::NodeErrorKind;
use superstep::graph::{CaseError, Description, Registry};
use superstep::node::JsonOutcome;
use superstep::prelude::*;
use superstep::run::NodeFailure;
use superstep::state::{JsonError, JsonFields, JsonState, JsonUpdate};

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

mod nodes;

/// Writes the node's name into `v`.
async fn mark(task: TaskInfo) -> Value {
    json!({ "v": [task.node().as_str()] })
}

async fn work(item: Input<u32>) -> Value {
    json!({ "v": [format!("w{}", *item)] })
}

fn marks() -> Registry<()> {
    Registry::new().node("mark", mark).node("work", work)
}

/// The list to which every graph here appends.
fn v() -> Value {
    json!({ "v": { "type": "array", "items": { "type": "string" }, "reducer": "append" } })
}

fn compiled(registry: &Registry<()>, description: Value) -> Graph<JsonState> {
    registry.build(&Description::from_value(description)).compile().expect("a sound description")
}

/// The values that the nodes wrote into `v`, for an empty input.
async fn ran(graph: &Graph<JsonState>) -> Vec<String> {
    let done = graph.run(JsonUpdate::default()).await.expect("no node fails").finished();
    done.expect("nothing stops it").read("v").expect("a list of texts")
}

async fn failure(graph: &Graph<JsonState>) -> NodeFailure {
    match graph.run(JsonUpdate::default()).await {
        Err(RunError::Node(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn edges_and_joins_are_those_of_typed_graphs() {
    let graph = compiled(
        &marks(),
        json!({
            "graph": "join", "state": v(), "start": ["a", "b"],
            "nodes": {
                "a": { "run": "mark", "to": "END" },
                "b": { "run": "mark", "to": "c" },
                "c": { "run": "mark", "to": "END" },
                "d": { "run": "mark", "to": "END" },
            },
            "joins": [{ "of": ["a", "c"], "to": "d" }],
        }),
    );
    assert_eq!(ran(&graph).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_case_leads_to_nodes_and_to_a_task_per_item_of_a_field_or_of_the_node() {
    let registry = marks()
        .node("plan", async || JsonOutcome::update(json!({ "queue": [7, 8] })).route("both").items([1, 2]));
    let graph = compiled(
        &registry,
        json!({
            "graph": "each", "start": "plan",
            "state": {
                "v": v()["v"],
                "queue": { "type": "array", "items": { "type": "integer" } },
            },
            "nodes": {
                "plan": { "cases": {
                    "both": ["z", { "each": "w", "items": "queue" }, { "each": "w" }],
                    "none": "END",
                } },
                "w": { "run": "work", "to": "END" },
                "z": { "run": "mark", "to": "END" },
            },
        }),
    );
    assert_eq!(ran(&graph).await, ["z", "w7", "w8", "w1", "w2"]);
}

#[tokio::test]
async fn branches_decide_on_a_field_or_by_a_function_after_the_nodes_own_writes() {
    let registry = marks()
        .node("count", async |state: Snapshot<JsonState>| {
            let count: u64 = state.read("count")?;
            Ok::<_, JsonError>(json!({ "count": 1, "even": count % 2 == 1, "v": [format!("{count}")] }))
        })
        .branch("enough", |state| if state["count"].as_u64() >= Some(3) { "yes" } else { "no" });
    let graph = compiled(
        &registry,
        json!({
            "graph": "loop", "start": "count",
            "state": {
                "v": v()["v"],
                "count": { "type": "integer", "reducer": "sum" },
                "even": { "type": "boolean" },
            },
            "nodes": {
                "count": { "branches": [
                    { "by": "enough", "cases": { "yes": "END", "no": "count" } },
                    { "on": "even", "cases": { "true": "even" }, "else": "END" },
                ] },
                "even": { "run": "mark", "to": "END" },
            },
        }),
    );
    assert_eq!(ran(&graph).await, ["0", "1", "2", "even"]);
}

#[tokio::test(start_paused = true)]
async fn policies_are_described_with_the_node() {
    let calls = Calls::default();
    let noting = calls.clone();
    let registry = marks().node("flaky", move |task: TaskInfo| {
        noting.note(format!("{}", task.attempt()));
        async move {
            if task.attempt() < 3 {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            json!({ "v": ["done"] })
        }
    });
    let graph = compiled(
        &registry,
        json!({
            "graph": "policies", "state": v(), "start": "flaky",
            "nodes": { "flaky": {
                "to": "END", "timeout_ms": 1000, "retry": { "attempts": 3, "fixed_ms": 10 },
            } },
        }),
    );
    assert_eq!(ran(&graph).await, ["done"]);
    assert_eq!(calls.take(), ["1", "2", "3"]);
}

/// A graph of one node `a` that is wired to END and returns what `outcome` says.
fn returning(outcome: JsonOutcome, cases: Value) -> Graph<JsonState> {
    let registry = Registry::new().node("a", move || {
        let outcome = outcome.clone();
        async move { outcome }
    });
    let mut node = json!({ "to": "END" });
    if !cases.is_null() {
        node = json!({ "cases": cases });
    }
    compiled(&registry, json!({ "graph": "one", "state": v(), "start": "a", "nodes": { "a": node } }))
}

#[tokio::test]
async fn a15_m08_an_unknown_field_is_an_error_that_names_node_field_and_reason() {
    let graph = returning(JsonOutcome::update(json!({ "w": ["x"] })), Value::Null);
    let failure = failure(&graph).await;
    assert_eq!(
        failure.to_string(),
        r#"node "a" failed at step 1: the state has no field "w"; did you mean "v"?"#
    );
    assert!(matches!(failure.error.downcast_ref(), Some(JsonError::NoSuchField { .. })));
}

#[tokio::test]
async fn m07_a_value_that_does_not_fit_is_an_error_that_names_node_field_and_reason() {
    let graph = returning(JsonOutcome::update(json!({ "v": ["x", 1] })), Value::Null);
    let text = failure(&graph).await.to_string();
    assert_eq!(text, r#"node "a" failed at step 1: field "v": at [1]: expected string, found 1"#);
    let graph = returning(JsonOutcome::update(json!("x")), Value::Null);
    let text = failure(&graph).await.to_string();
    let reason = r#"an update is an object with a member per field, not "x""#;
    assert_eq!(text, format!("node \"a\" failed at step 1: {reason}"));
}

#[tokio::test]
async fn c02_an_unknown_case_is_an_error_that_names_the_cases() {
    let cases = json!({ "accept": "END", "revise": "a" });
    let unknown = returning(JsonOutcome::routed("acept"), cases.clone());
    let failed = failure(&unknown).await;
    let text = r#"there is no case "acept"; there are accept, revise; did you mean "accept"?"#;
    assert_eq!(failed.error.to_string(), text);
    assert!(matches!(failed.error.downcast_ref(), Some(CaseError::Unknown { .. })));

    let none = returning(JsonOutcome::update(json!({})), cases);
    assert_eq!(failure(&none).await.error.to_string(), "the node chose no case; there are accept, revise");

    let unasked = returning(JsonOutcome::routed("accept"), Value::Null);
    let text = r#"the node chose the case "accept", and its description has no cases"#;
    assert_eq!(failure(&unasked).await.error.to_string(), text);

    let items = returning(JsonOutcome::routed("go").items([1]), json!({ "go": "END" }));
    let text = r#"the case "go": the node gave items, and no `each` of the case takes them"#;
    assert_eq!(failure(&items).await.error.to_string(), text);
}

#[tokio::test]
async fn an_item_of_another_type_is_a_failed_routing() {
    let registry = marks().node("plan", async || JsonOutcome::routed("go").items(["seven"]));
    let graph = compiled(
        &registry,
        json!({
            "graph": "items", "state": v(), "start": "plan",
            "nodes": {
                "plan": { "cases": { "go": { "each": "w" } } },
                "w": { "run": "work", "to": "END" },
            },
        }),
    );
    let failure = failure(&graph).await;
    assert_eq!(failure.error.kind(), NodeErrorKind::Routing);
    assert!(failure.error.to_string().starts_with("case \"go\", item 0: "), "{failure}");
}

#[test]
fn j02_everything_that_is_wrong_with_a_description_is_said_at_once_with_its_path() {
    let registry = marks().branch("enough", |_| "yes");
    let description = json!({
        "graph": "wrong",
        "colour": "red",
        "state": {
            "topic": { "type": "strin" },
            "facts": { "type": "array", "reducer": "apend" },
            "total": { "type": "string", "reducer": "sum" },
            "mood": { "enum": ["good", "bad"] },
            "size": { "type": "integer", "default": "big" },
            "stage": { "enum": ["open", "shut", 3], "default": "open" },
            "notes": { "type": "array", "reducer": "keyed_log", "items": { "properties": { "key": {} } } },
        },
        "nodes": {
            "a": { "run": "mrak", "to": ["b", "c"], "retry": { "attempts": 0, "fixed_ms": 1, "max_ms": 2 } },
            "b": { "run": "mark", "cases": { "x": "END", "y": { "each": "b", "items": "fact" } }, "to": "END" },
            "w": { "run": "work", "to": "w" },
            "d": { "run": "mark", "branches": [
                { "by": "enuf", "cases": { "yes": "END" } },
                { "on": "topci", "cases": { "x": { "each": "w" } } },
                { "cases": {} },
                { "on": "stage", "cases": { "opne": "END", "3": { "each": "w", "items": "total" } } },
            ], "on_unknown": "guess", "on_mismatch": "ask" },
            "END": {},
        },
        "start": "a",
        "joins": [{ "of": ["a", "b"], "to": "END" }],
    });
    let error = registry.build(&Description::from_value(description)).compile().unwrap_err();
    let said: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    let expected = [
        r#"colour: no such member (there are graph, description, state, nodes, start, joins)"#,
        r#"state.facts.reducer: there is no reducer "apend"; did you mean "append"?"#,
        r#"state.notes.reducer: "keyed_log" finds items by their "id", and those of this field have none"#,
        r#"state.mood: the field needs a default: its empty value does not fit: expected one of "good", "bad", found null"#,
        r#"state.size.default: the default does not fit: expected integer, found "big""#,
        r#"state.topic.type: there is no type "strin"; did you mean "string"?"#,
        r#"state.total.reducer: "sum" is for fields of type integer or number, and this one is string"#,
        r#"nodes.END: a node cannot be called "END""#,
        r#"nodes.a.run: no function "mrak" is registered; did you mean "mark"?"#,
        r#"nodes.a.to.1: there is no node "c"; did you mean "a"?"#,
        r#"nodes.a.retry.attempts: the first attempt counts, so there is at least 1"#,
        r#"nodes.a.retry: "fixed_ms" excludes "initial_ms" and "max_ms""#,
        r#"nodes.b.cases.y.items: the state has no field "fact"; did you mean "facts"?"#,
        r#"nodes.b.to: a node with cases has no plain edges; put the targets into its cases"#,
        r#"nodes.d.branches.0.by: no decision "enuf" is registered"#,
        r#"nodes.d.branches.1.on: the state has no field "topci"; did you mean "topic"?"#,
        r#"nodes.d.branches.1.cases.x: "items" is missing; name the field with the items"#,
        r#"nodes.d.branches.2: a branch decides either "on" a field or "by" a registered decision"#,
        r#"nodes.d.branches.2.cases: there is no case"#,
        r#"nodes.d.branches.3.cases.3.items: the field is of type string; only an array holds items"#,
        r#"nodes.d.branches.3.cases.opne: field "stage" is never "opne"; did you mean "open"?"#,
        r#"nodes.d.branches.3: there is no case, and no "else", for open, shut"#,
        r#"nodes.d.on_unknown: there is no policy "guess" (there are fail, retry, ask)"#,
        r#"nodes.d.on_mismatch: there is no policy "ask" (there are fail, run_again)"#,
        r#"nodes.w.to: the function of this node takes an `Input`; reach it with {"each": "w"}"#,
        r#"joins.0.of.1: a join waits for nodes without cases"#,
        r#"joins.0: a join leads to a node, not to END"#,
    ];
    for line in expected {
        assert!(said.iter().any(|said| said == line), "missing: {line}\nin:\n{}", said.join("\n"));
    }
    // Problems of the wiring are reported with the others.
    assert!(said.iter().any(|said| said.contains("cannot be reached from START")), "{said:#?}");
}

#[test]
fn toml_says_the_same_as_json() {
    let toml = r#"
        graph = "essay"
        start = "plan"

        [state]
        topic = { type = "string" }
        facts = { type = "array", items = { type = "string" }, reducer = "append" }

        [nodes.plan.cases]
        research = { each = "research", items = "facts" }
        write = "write"

        [nodes.research]
        to = "write"
        retry = { attempts = 3 }

        [nodes.write]
        to = "END"
    "#;
    let json = json!({
        "graph": "essay", "start": "plan",
        "state": {
            "topic": { "type": "string" },
            "facts": { "type": "array", "items": { "type": "string" }, "reducer": "append" },
        },
        "nodes": {
            "plan": { "cases": { "research": { "each": "research", "items": "facts" }, "write": "write" } },
            "research": { "to": "write", "retry": { "attempts": 3 } },
            "write": { "to": "END" },
        },
    });
    assert_eq!(Description::from_toml(toml).unwrap(), Description::from_json(&json.to_string()).unwrap());
    let error = Description::from_toml("graph = ").unwrap_err().to_string();
    assert!(error.starts_with("the description is not TOML: "), "{error}");
    let error = Description::from_json("{").unwrap_err().to_string();
    assert!(error.starts_with("the description is not JSON: "), "{error}");
    let twice =
        Description::from_json("{ \"nodes\": {\n  \"a\": [null, true, 1, -1, 1.5],\n  \"a\": {}\n} }");
    let error = twice.unwrap_err().to_string();
    assert_eq!(error, "the description is not JSON: the member \"a\" is given twice at line 3 column 5");
}

/// A graph that asks, fails on demand, and writes with every reducer.
fn everything(stage: &Stage) -> Graph<JsonState> {
    let registry = Registry::<Stage>::new()
        .node("write", async || {
            json!({
                "last": 1, "any": "x", "list": ["b"], "map": { "b": 2 }, "set": [1, 2],
                "log": [{ "id": "1", "text": "new" }, { "id": "2", "text": "added" }],
                "sum": 2, "max": 5, "min": -5, "bell": true, "memory": "kept",
            })
        })
        .node("ask", async |state: Snapshot<JsonState>, ask: Ask<Value, Value>, calls: Dep<Calls>| {
            calls.note(state.read::<String>("memory")?);
            let answer = ask.ask(state["bell"].clone()).await;
            Ok::<_, JsonError>(json!({ "last": answer }))
        })
        .node("check", async |calls: Dep<Calls>, broken: Dep<Broken>| {
            calls.note("check");
            broken.check("check")?;
            Ok::<_, Smashed>(JsonOutcome::update(json!({ "list": ["c"] })).overwrite(json!({ "set": [9] })))
        });
    let description = json!({
        "graph": "everything", "start": "write",
        "state": {
            "last": {},
            "any": { "type": "string", "reducer": "any" },
            "list": { "type": "array", "reducer": "append", "default": ["a"] },
            "map": { "type": "object", "reducer": "merge", "default": { "a": 1 } },
            "set": { "type": "array", "reducer": "union", "default": [1] },
            "log": { "type": "array", "reducer": "keyed_log", "default": [{ "id": "1", "text": "old" }] },
            "sum": { "type": "integer", "reducer": "sum", "default": 40 },
            "max": { "type": "number", "reducer": "max", "default": 1.5 },
            "min": { "type": "integer", "reducer": "min" },
            "bell": { "type": "boolean", "reducer": "ephemeral" },
            "memory": { "type": "string", "reducer": "transient" },
        },
        "nodes": { "write": { "to": "ask" }, "ask": { "to": "check" }, "check": { "to": "END" } },
    });
    let graph = registry.build(&Description::from_value(description)).compile().expect("a sound description");
    graph.with_context(stage.clone())
}

#[tokio::test]
async fn threads_pause_fail_resume_fork_and_are_edited_as_those_of_typed_graphs() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let graph = everything(&stage).shared_checkpointer(saver.clone());
        let thread = graph.thread("t");
        let asked = thread.run(JsonUpdate::default()).await.unwrap().interrupted().unwrap();
        let question: Value = asked[0].question().unwrap();
        assert_eq!(question, true);

        // Another program with the same description finds the stored data, and continues.
        stage.broken.smash("check");
        let graph = everything(&stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        assert!(thread.answer(&json!("answered")).await.is_err());
        thread.edit(graph.update(&json!({ "sum": 100 })).unwrap()).await.unwrap();
        stage.broken.mend("check");
        let done = thread.resume().await.unwrap().finished().unwrap();
        let expected = json!({
            "last": "answered", "any": "x", "list": ["a", "b", "c"], "map": { "a": 1, "b": 2 }, "set": [9],
            "log": [{ "id": "1", "text": "new" }, { "id": "2", "text": "added" }],
            "sum": 142, "max": 5, "min": -5, "bell": false, "memory": "",
        });
        assert_eq!(done.to_json(), expected);
        assert_eq!(thread.head().await.unwrap().state().to_json(), expected);

        assert_eq!(stage.calls.take(), ["kept", "", "check", "check"]);
        let early = thread.before_named("ask").await.unwrap().fork("early").await.unwrap();
        assert_eq!(early.resume().await.unwrap().interrupted().unwrap().len(), 1);
        assert_eq!(early.head().await.unwrap().state()["sum"], 42);
    })
    .await;
}

#[tokio::test]
async fn two_writers_of_one_value_conflict() {
    let registry = Registry::new().node("set", async || json!({ "one": 1 }));
    let description = json!({
        "graph": "conflict", "state": { "one": {} }, "start": ["a", "b"],
        "nodes": { "a": { "run": "set", "to": "END" }, "b": { "run": "set", "to": "END" } },
    });
    let graph = compiled(&registry, description);
    let error = graph.run(JsonUpdate::default()).await.unwrap_err();
    let RunError::Conflict { field, first, second, .. } = error else { panic!("{error}") };
    assert_eq!((field.as_str(), first.as_str(), second.as_str()), ("one", "a", "b"));
}

#[tokio::test]
async fn a_state_without_a_description_is_used_with_any_graph() {
    let fields =
        JsonFields::new("counter", &json!({ "n": { "type": "integer", "reducer": "sum" } })).unwrap();
    let initial = JsonState::new(fields.into());
    let schema = initial.fields().schema().clone();
    let mut g = StateGraph::<JsonState>::with_schema("counter", schema, initial);
    let add = g.node("add", async |state: Snapshot<JsonState>| state.fields().update(&json!({ "n": 2 })));
    g.edge(START, add);
    g.edge(add, END);
    let graph = g.compile().unwrap();
    let done = graph.run(graph.update(&json!({ "n": 1 })).unwrap()).await.unwrap().finished().unwrap();
    assert_eq!(done["n"], 3);
}

#[tokio::test]
async fn a_sum_that_overflows_is_an_error_that_names_the_node() {
    let registry = Registry::new().node("add", async || json!({ "n": u64::MAX }));
    let description = json!({
        "graph": "overflow", "state": { "n": { "type": "integer", "reducer": "sum" } },
        "start": "add", "nodes": { "add": { "to": "END" } },
    });
    let graph = compiled(&registry, description);
    let error = graph.run(graph.update(&json!({ "n": 1 })).unwrap()).await.unwrap_err().to_string();
    assert!(error.contains(r#"field "n": the sum does not fit into a number"#), "{error}");
}

#[test]
fn values_of_secret_fields_are_not_shown() {
    let fields =
        JsonFields::new("s", &json!({ "key": { "default": "hunter2", "secret": true }, "n": {} })).unwrap();
    let shown = format!("{:?}", JsonState::new(fields.into()));
    assert_eq!(shown, r#"{"key": "<secret>", "n": Null}"#);
}
