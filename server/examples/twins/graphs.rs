//! Three small graphs without a model: one that asks and fails on request, one with subgraphs in parallel, and one
//! that calls a tool.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::error::NodeError;
use superstep_core::graph::{BuildError, END, START, StateGraph, each, to};
use superstep_core::node::{Ask, Emit, Snapshot, TaskInfo};
use superstep_core::reducer::{Append, Keyed, KeyedLog};
use superstep_core::run::{AnyGraph, Graph, Lens};
use superstep_core::state::Update;
use superstep_core::store::Store;
use superstep_macros::{Route, State};
use superstep_nodes::model::{ModelEvent, Purpose, StopReason, Usage};
use superstep_nodes::node::ModelChunk;
use superstep_nodes::tool::{ToolEvent, ToolEventKind, ToolOutcome};
use uuid::Uuid;

/// A message as JSON, which keeps members that the messages of this framework do not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Line(Map<String, Value>);

impl Line {
    fn of(message: Value) -> Self {
        Self(message.as_object().cloned().unwrap_or_default())
    }
}

impl Keyed for Line {
    fn id(&self) -> &str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Talk {
    #[reducer(KeyedLog)]
    messages: Vec<Line>,
    #[reducer(Append)]
    log: Vec<String>,
    count: Option<i64>,
    ask: Option<bool>,
    fail: Option<bool>,
    sleep: Option<f64>,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum AfterTalk {
    Boom,
    Approve,
    Finish,
}

/// Returns the graph `agent`.
pub(crate) fn agent(saver: Arc<dyn Checkpointer>, store: Store) -> Result<AnyGraph, BuildError> {
    let mut g = StateGraph::<Talk>::new("agent");
    let plan = g.node("plan", plan);
    let talk = g.node("talk", talk);
    let boom = g.node("boom", boom);
    let approve = g.node("approve", approve);
    let finish = g.node("finish", finish);
    g.edge(START, plan);
    g.edge(plan, talk);
    g.route(talk, move |next| match next {
        AfterTalk::Boom => to(boom),
        AfterTalk::Approve => to(approve),
        AfterTalk::Finish => to(finish),
    });
    g.edge(approve, finish);
    g.edge(boom, END);
    g.edge(finish, END);
    Ok(g.compile()?.shared_checkpointer(saver).store(store).erased())
}

async fn plan(state: Snapshot<Talk>, emit: Emit) -> Update<Talk> {
    emit.emit("progress", &json!({ "progress": "planning" }));
    Talk::update().log(["plan".to_owned()]).count(Some(state.count.unwrap_or(0) + 1))
}

async fn talk(state: Snapshot<Talk>, task: TaskInfo, emit: Emit) -> (Update<Talk>, AfterTalk) {
    let id = reply_id(&task);
    for text in ["hello", " ", "from", " ", "fake", " ", "model"] {
        say(&emit, &id, ModelEvent::TextDelta { text: text.to_owned() });
    }
    let reply = Line::of(json!({ "type": "ai", "id": id, "content": "hello from fake model" }));
    let next = match (state.fail, state.ask) {
        (Some(true), _) => AfterTalk::Boom,
        (_, Some(true)) => AfterTalk::Approve,
        _ => AfterTalk::Finish,
    };
    (Talk::update().messages([reply]).log(["talk".to_owned()]), next)
}

/// Returns an id of a message that is the same when the task is repeated.
fn reply_id(task: &TaskInfo) -> String {
    format!("lc_run--{}-0", Uuid::new_v5(&Uuid::NAMESPACE_OID, task.place().as_bytes()))
}

fn say(emit: &Emit, id: &str, event: ModelEvent) {
    emit.message(&ModelChunk { message: id.into(), purpose: Purpose::Agent, event });
}

async fn boom(_: Snapshot<Talk>) -> Result<Update<Talk>, NodeError> {
    Err(NodeError::terminal("boom: deliberate failure"))
}

async fn approve(state: Snapshot<Talk>, human: Ask<Value, Value>) -> Update<Talk> {
    let answer = human.ask(json!({ "question": "approve?", "count": state.count })).await;
    Talk::update().log([format!("approved:{}", shown(&answer))])
}

/// Returns a text without quotation marks, and other values as JSON.
fn shown(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}

async fn finish(state: Snapshot<Talk>) -> Update<Talk> {
    if let Some(seconds) = state.sleep {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    }
    Talk::update().log(["finish".to_owned()])
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Piece {
    item: String,
    #[reducer(Append)]
    out: Vec<String>,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Whole {
    items: Vec<String>,
    #[reducer(Append)]
    out: Vec<String>,
}

/// The item of a subgraph's task.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
struct Item {
    item: String,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum Fan {
    Worker(Vec<Item>),
}

/// Returns the graph `fanout`.
pub(crate) fn fanout(saver: Arc<dyn Checkpointer>, store: Store) -> Result<AnyGraph, BuildError> {
    let lens =
        Lens::new().item(|item: &Item| Piece::update().item(item.item.clone())).take(Piece::OUT, Whole::OUT);
    let mut g = StateGraph::<Whole>::new("fanout");
    let start = g.node("start_node", start);
    let worker = g.subgraph("worker", piece()?, lens);
    let gather = g.node("gather", async || Whole::update().out(["gather".to_owned()]));
    g.edge(START, start);
    g.route(start, move |Fan::Worker(items)| each(worker, items));
    g.edge(worker, gather);
    g.edge(gather, END);
    Ok(g.compile()?.shared_checkpointer(saver).store(store).erased())
}

async fn start(state: Snapshot<Whole>) -> (Update<Whole>, Fan) {
    let items = state.items.iter().map(|item| Item { item: item.clone() }).collect();
    (Whole::update().out(["start".to_owned()]), Fan::Worker(items))
}

fn piece() -> Result<Graph<Piece>, BuildError> {
    let mut g = StateGraph::<Piece>::new("sub");
    let w1 = g.node("w1", async |piece: Snapshot<Piece>| Piece::update().out([format!("w1:{}", piece.item)]));
    let w2 = g.node("w2", w2);
    g.edge(START, w1);
    g.edge(w1, w2);
    g.edge(w2, END);
    g.compile()
}

async fn w2(piece: Snapshot<Piece>, human: Ask<String, Value>) -> Update<Piece> {
    let item = &piece.item;
    if item != "b" {
        return Piece::update().out([format!("w2:{item}")]);
    }
    let answer = human.ask(format!("check {item}")).await;
    Piece::update().out([format!("w2:{item}:{}", shown(&answer))])
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Calls {
    #[reducer(KeyedLog)]
    messages: Vec<Line>,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum AfterModel {
    Tools,
    End,
}

/// Returns the graph `tooly`.
pub(crate) fn tooly(saver: Arc<dyn Checkpointer>, store: Store) -> Result<AnyGraph, BuildError> {
    let mut g = StateGraph::<Calls>::new("tooly");
    let model = g.node("model", model);
    let tools = g.node("tools", tools);
    g.edge(START, model);
    g.route(model, move |next| match next {
        AfterModel::Tools => to(tools),
        AfterModel::End => END,
    });
    g.edge(tools, model);
    Ok(g.compile()?.shared_checkpointer(saver).store(store).erased())
}

async fn model(state: Snapshot<Calls>, task: TaskInfo, emit: Emit) -> (Update<Calls>, AfterModel) {
    let id = reply_id(&task);
    let has_result =
        state.messages.iter().any(|message| message.0.get("type").is_some_and(|kind| kind == "tool"));
    let (events, usage, reason, next) = match has_result {
        true => {
            let texts = ["the sum ", "is 5"].map(|text| ModelEvent::TextDelta { text: text.to_owned() });
            (texts.to_vec(), Usage::of(20, 4), StopReason::EndTurn, AfterModel::End)
        }
        false => {
            let start =
                ModelEvent::ToolCallStart { index: 0, id: "call_1".to_owned(), name: "add".to_owned() };
            let input = |json: &str| ModelEvent::ToolCallInput { index: 0, json: json.to_owned() };
            let events =
                vec![start, input("{\"a\": 2,"), input(" \"b\": 3}"), ModelEvent::ToolCallEnd { index: 0 }];
            (events, Usage::of(10, 6), StopReason::ToolUse, AfterModel::Tools)
        }
    };
    say(&emit, &id, ModelEvent::Start { model: "script-1".to_owned(), request_id: None });
    for event in events {
        say(&emit, &id, event);
    }
    say(&emit, &id, ModelEvent::Usage(usage));
    say(&emit, &id, ModelEvent::Stop { reason });
    let mut reply = json!({
        "type": "ai", "id": id, "content": if has_result { "the sum is 5" } else { "" },
        "response_metadata": {
            "finish_reason": if has_result { "stop" } else { "tool_calls" }, "model_name": "script-1" },
        "usage_metadata": {
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": usage.total() },
    });
    if !has_result {
        reply["tool_calls"] = json!([{ "id": "call_1", "name": "add", "input": { "a": 2, "b": 3 } }]);
    }
    (Calls::update().messages([Line::of(reply)]), next)
}

async fn tools(_: Snapshot<Calls>, task: TaskInfo, emit: Emit) -> Update<Calls> {
    let tell =
        |kind| emit.emit("tool", &ToolEvent { call: "call_1".to_owned(), tool: "add".to_owned(), kind });
    tell(ToolEventKind::Started { input: json!({ "a": 2, "b": 3 }) });
    tell(ToolEventKind::Ended { outcome: ToolOutcome::Ok, text: "5".to_owned() });
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, task.place().as_bytes()).to_string();
    Calls::update().messages([Line::of(json!({
        "type": "tool", "id": id, "tool_call_id": "call_1", "name": "add", "status": "ok", "content": "5",
    }))])
}
