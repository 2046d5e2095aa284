//! Graphs as tools, called by this crate's own client and by clients that write lines.

use std::sync::{Arc, Mutex};

use crate::{GraphTool, McpServer, McpService, McpStream, ServeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::checkpoint::{Checkpointer, MemorySaver};
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::{Ask, Snapshot};
use superstep_core::route::Route;
use superstep_core::run::{CancellationToken, Graph};
use superstep_core::state::{State, Update};
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{
    ToolContext, ToolEffect, ToolEvent, ToolEventKind, ToolOutcome, ToolResult, ToolSession,
};

use super::scripted::{HANGS, allowed, make, names, registry};

#[derive(State, Clone, Debug, Default)]
pub(crate) struct Article {
    title: String,
    drafts: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Topic {
    /// The topic.
    title: String,
}

#[derive(Serialize, JsonSchema)]
struct Published {
    text: Text,
    drafts: u32,
}

/// A type with a name of its own, so that the schema has definitions.
#[derive(Serialize, JsonSchema)]
struct Text {
    heading: String,
}

#[derive(Route, Serialize, Deserialize, JsonSchema)]
enum Verdict {
    Accept,
    Revise,
}

async fn write(article: Snapshot<Article>) -> Update<Article> {
    Article::update().drafts(article.drafts + 1)
}

async fn review(article: Snapshot<Article>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(format!("{}, draft {}", article.title, article.drafts)).await
}

/// Writes drafts until an editor accepts one.
pub(crate) fn reviewed() -> Graph<Article> {
    let mut g = StateGraph::<Article>::new("reviewed");
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    g.compile().unwrap()
}

/// Writes one draft.
fn plain() -> Graph<Article> {
    let mut g = StateGraph::<Article>::new("plain");
    let write = g.node("write", write);
    g.edge(START, write);
    g.edge(write, END);
    g.compile().unwrap()
}

pub(crate) fn tool(name: &str, graph: Graph<Article>) -> GraphTool {
    let published =
        |article: Article| Published { text: Text { heading: article.title }, drafts: article.drafts };
    GraphTool::new(
        name,
        "Writes an article.",
        graph,
        |topic: Topic| Article::update().title(topic.title),
        published,
    )
}

pub(crate) fn service(tool: GraphTool) -> McpService {
    McpService::new("articles", "1.0").with(tool).unwrap()
}

/// A client of a service, in this program.
async fn client(service: McpService) -> McpServer {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(service.serve(read, write));
    let (read, write) = tokio::io::split(near);
    McpServer::connect("s", McpStream::new(read, write), allowed()).await.unwrap()
}

async fn ask(server: &McpServer, tool: &str, input: Value) -> ToolResult {
    make(&registry(server), &ToolCall::new("c", tool, input)).await
}

/// Returns the structured result of a call.
pub(crate) async fn data(server: &McpServer, tool: &str, input: Value) -> Value {
    let result = ask(server, tool, input).await;
    assert_eq!(result.outcome(), ToolOutcome::Ok, "{}", result.content.to_text());
    result.data.unwrap()
}

async fn refusal(server: &McpServer, tool: &str, input: Value) -> String {
    let result = ask(server, tool, input).await;
    assert_eq!(result.outcome(), ToolOutcome::Error);
    result.content.to_text().into_owned()
}

#[tokio::test]
async fn a_graph_is_a_tool_whose_output_is_the_graphs() {
    let server = client(service(tool("write", plain()))).await;
    assert_eq!(names(server.tools().tools()), ["s__write"]);
    let spec = &registry(&server).specs()[0];
    assert_eq!(spec.description, "Writes an article.");
    assert_eq!(spec.input_schema["properties"]["title"]["description"], "The topic.");
    assert_eq!(spec.input_schema["required"], json!(["title"]));
    assert_eq!(spec.input_schema["properties"].get("thread"), None);

    let result = ask(&server, "s__write", json!({ "title": "Graphs" })).await;
    let output = json!({ "text": { "heading": "Graphs" }, "drafts": 1 });
    assert_eq!(result.content.to_text(), output.to_string());
    assert_eq!(result.data.unwrap(), json!({ "status": "finished", "output": output }));
}

#[tokio::test]
async fn results_fit_the_schema_that_clients_get() {
    let mut lines = Lines::of(service(tool("write", reviewed().checkpointer(MemorySaver::new())))).await;
    let listed = lines.ask("tools/list", json!({})).await;
    let schema = &listed["tools"][0]["outputSchema"];
    let fits = jsonschema::validator_for(schema).unwrap();
    let begun = lines.ask("tools/call", json!({ "name": "write", "arguments": { "title": "Graphs" } })).await;
    let asked = &begun["structuredContent"];
    assert!(fits.is_valid(asked), "{schema:#} {asked:#}");
    assert_eq!(asked["status"], "interrupted");
    let answer = json!({ "thread": asked["thread"], "answer": "Accept" });
    let ended = lines.ask("tools/call", json!({ "name": "write_resume", "arguments": answer })).await;
    let output = &ended["structuredContent"];
    assert!(fits.is_valid(output), "{schema:#} {output:#}");
    assert_eq!(output["output"]["drafts"], 1);
    assert!(!fits.is_valid(&json!({ "status": "finished", "output": { "drafts": 1 } })));
}

#[tokio::test]
async fn what_a_graph_does_to_the_world_is_said_as_hints() {
    for (effect, hints) in [
        (ToolEffect::ReadOnly, json!({ "readOnlyHint": true })),
        (ToolEffect::Idempotent, json!({ "readOnlyHint": false, "idempotentHint": true })),
        (ToolEffect::Changes, json!({ "readOnlyHint": false })),
    ] {
        let mut lines = Lines::of(service(tool("write", plain()).with_effect(effect))).await;
        assert_eq!(lines.ask("tools/list", json!({})).await["tools"][0]["annotations"], hints);
    }
}

#[tokio::test]
async fn a_run_that_asks_is_answered_by_a_second_tool() {
    let server = client(service(tool("write", reviewed().checkpointer(MemorySaver::new())))).await;
    assert_eq!(names(server.tools().tools()), ["s__write", "s__write_resume"]);

    let result = ask(&server, "s__write", json!({ "title": "Graphs" })).await;
    let asked = result.data.unwrap();
    let (thread, question) = (asked["thread"].as_str().unwrap(), &asked["questions"][0]);
    assert_eq!((&asked["status"], &question["question"]), (&json!("interrupted"), &json!("Graphs, draft 1")));
    assert_eq!(question["answer_schema"]["enum"], json!(["Accept", "Revise"]));
    let read = result.content.to_text().into_owned();
    for part in ["The run waits for an answer", "node `review`", "Graphs, draft 1", "`write_resume`", thread]
    {
        assert!(read.contains(part), "{part}: {read}");
    }

    let again = data(&server, "s__write_resume", json!({ "thread": thread, "answer": "Revise" })).await;
    assert_eq!(again["questions"][0]["question"], "Graphs, draft 2");
    let wrong = refusal(&server, "s__write_resume", json!({ "thread": thread, "answer": "Perhaps" })).await;
    assert!(wrong.contains("does not fit"), "{wrong}");
    let id = again["questions"][0]["id"].as_str().unwrap();
    let answers = json!({ "thread": thread, "answers": { id: "Accept" } });
    let ended = data(&server, "s__write_resume", answers).await;
    assert_eq!((&ended["status"], &ended["output"]["drafts"]), (&json!("finished"), &json!(2)));
    assert_eq!(ended["thread"], thread);
}

#[tokio::test]
async fn a_client_may_name_the_thread() {
    let server = client(service(tool("write", plain().checkpointer(MemorySaver::new())))).await;
    let input = json!({ "title": "Graphs", "thread": "mine" });
    assert_eq!(data(&server, "s__write", input.clone()).await["thread"], "mine");
    assert_eq!(data(&server, "s__write", input).await["output"]["drafts"], 2);
    let own = data(&server, "s__write", json!({ "title": "Graphs" })).await;
    assert_eq!(own["output"]["drafts"], 1);
    assert_ne!(own["thread"], "mine");
}

#[tokio::test]
async fn inputs_that_do_not_fit_are_refused_in_words() {
    let server = client(service(tool("write", reviewed().checkpointer(MemorySaver::new())))).await;
    let mut lines = Lines::of(service(tool("write", reviewed().checkpointer(MemorySaver::new())))).await;
    let said = |result: &Value| {
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    for (tool, input, why) in [
        ("write", json!({}), "title"),
        ("write", json!({ "title": 7 }), "string"),
        ("write", json!({ "title": "t", "tone": "dry" }), "tone"),
        ("write", json!({ "title": "t", "thread": 7 }), "\"thread\" is no text"),
        ("write", json!({ "title": "t", "thread": "" }), "\"thread\" is no text"),
        ("write_resume", json!({}), "\"thread\" is missing"),
        ("write_resume", json!({ "thread": "x" }), "has never run"),
        ("write_resume", json!({ "thread": "x", "answer": 1, "answers": {} }), "both"),
        ("write_resume", json!({ "thread": "x", "answers": { "?": 1 } }), "no id of a question"),
        ("write_resume", json!({ "thread": "x", "answers": 1 }), "no object"),
        ("write_resume", json!({ "thread": "x", "more": 1 }), "nothing called \"more\""),
    ] {
        let result = lines.ask("tools/call", json!({ "name": tool, "arguments": input })).await;
        let text = said(&result);
        assert!(text.contains(why), "{input}: {text}");
    }
    let error = lines.send("tools/call", json!({ "name": "nothing", "arguments": {} })).await;
    assert_eq!(error["error"]["message"], "there is no tool named `nothing`");
    let said = refusal(&server, "s__write_resume", json!({ "thread": "x" })).await;
    assert!(said.contains("has never run"), "{said}");
}

#[tokio::test]
async fn a_node_that_fails_is_a_call_that_fails_and_may_be_tried_once_more() {
    let fails = Arc::new(Mutex::new(true));
    let node = {
        let fails = Arc::clone(&fails);
        move |article: Snapshot<Article>| {
            let fails = *fails.lock().unwrap();
            async move {
                match fails {
                    true => Err(NodeError::from(std::io::Error::other("the printer is on fire"))),
                    false => Ok(Article::update().drafts(article.drafts + 1)),
                }
            }
        }
    };
    let mut g = StateGraph::<Article>::new("printing");
    let print = g.node("print", node);
    g.edge(START, print);
    g.edge(print, END);
    let graph = g.compile().unwrap().checkpointer(MemorySaver::new());
    let server = client(service(tool("print", graph))).await;
    let said = refusal(&server, "s__print", json!({ "title": "t", "thread": "one" })).await;
    assert!(
        said.contains("the printer is on fire") && said.contains("[thread: one; the tool `print_resume`"),
        "{said}"
    );
    *fails.lock().unwrap() = false;
    assert_eq!(data(&server, "s__print_resume", json!({ "thread": "one" })).await["output"]["drafts"], 1);
}

#[tokio::test]
async fn a_question_without_a_store_is_an_error_and_so_there_is_nothing_to_resume() {
    let server = client(service(tool("write", reviewed()))).await;
    assert_eq!(names(server.tools().tools()), ["s__write"]);
    let said = refusal(&server, "s__write", json!({ "title": "Graphs" })).await;
    assert!(said.contains("the graph has no checkpointer") && !said.contains("[thread"), "{said}");
}

#[tokio::test]
async fn a_run_that_reaches_its_limit_continues_if_it_is_kept() {
    let limited = || plain().recursion_limit(0);
    let server = client(service(tool("write", limited()))).await;
    let result = ask(&server, "s__write", json!({ "title": "t" })).await;
    let text = "The run has reached its limit of 0 supersteps. It cannot be continued.";
    assert_eq!(result.content.to_text(), text);
    assert_eq!(result.data.unwrap(), json!({ "status": "limit_reached" }));
    let kept = client(service(tool("write", limited().checkpointer(MemorySaver::new())))).await;
    let result = ask(&kept, "s__write", json!({ "title": "t", "thread": "one" })).await;
    let text = result.content.to_text().into_owned();
    assert!(text.ends_with("To continue it, call the tool `write_resume` with the thread `one`."), "{text}");
}

#[tokio::test]
async fn clients_can_request_the_progress_of_a_run() {
    let server = client(service(tool("write", plain()))).await;
    let (tools, call) = (registry(&server), ToolCall::new("c", "s__write", json!({ "title": "t" })));
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&told);
    let context = ToolContext::new(&call, ToolSession::new()).observe(move |event: ToolEvent| {
        if let ToolEventKind::Progress { data } = event.kind {
            seen.lock().unwrap().push(format!("{} {}", data["progress"], data["message"]));
        }
    });
    assert_eq!(tools.call(&call, &context).await.outcome(), ToolOutcome::Ok);
    // What is told of is told before the result; the client hears it on a task of its own.
    let told = told.lock().unwrap().clone();
    assert!(
        told.iter()
            .all(|line| ["1.0 \"`write` begins\"", "2.0 \"`write` is done\""].contains(&line.as_str())),
        "{told:?}"
    );

    let mut lines = Lines::of(service(tool("write", plain()))).await;
    let meta = json!({ "progressToken": "p" });
    let call = json!({ "name": "write", "arguments": { "title": "t" }, "_meta": meta });
    assert_eq!(lines.ask("tools/call", call).await["isError"], false);
    let messages: Vec<&Value> = lines.said.iter().map(|said| &said["params"]).collect();
    assert_eq!(messages[0], &json!({ "progressToken": "p", "progress": 1.0, "message": "`write` begins" }));
    assert_eq!(messages[1]["message"], "`write` is done");
    assert_eq!(messages.len(), 2);
}

/// A graph whose node waits until it is dropped, which it tells.
fn waiting(saver: impl Checkpointer) -> (Graph<Article>, Arc<tokio::sync::Notify>, CancellationToken) {
    let (begun, dropped) = (Arc::new(tokio::sync::Notify::new()), CancellationToken::new());
    let (begins, drops) = (Arc::clone(&begun), dropped.clone());
    let mut g = StateGraph::<Article>::new("waiting");
    let wait = g.node("wait", move || {
        let guard = drops.clone().drop_guard();
        begins.notify_one();
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Article::update()
        }
    });
    g.edge(START, wait);
    g.edge(wait, END);
    (g.compile().unwrap().checkpointer(saver), begun, dropped)
}

#[tokio::test]
async fn a_call_that_is_cancelled_cancels_its_run_which_can_be_resumed() {
    let (graph, begun, dropped) = waiting(MemorySaver::new());
    let threads = graph.clone();
    let server = client(service(tool("wait", graph))).await;
    let (tools, stop) = (registry(&server), CancellationToken::new());
    let call = ToolCall::new("c", "s__wait", json!({ "title": "t", "thread": "one" }));
    let context = ToolContext::new(&call, ToolSession::new()).cancel_on(&stop);
    let (result, ()) = tokio::join!(tools.call(&call, &context), async {
        begun.notified().await;
        stop.cancel();
    });
    assert_eq!(result.outcome(), ToolOutcome::Cancelled);
    tokio::time::timeout(HANGS, dropped.cancelled()).await.expect("the run is cancelled");
    let head = threads.thread("one").head().await.unwrap();
    assert_eq!(head.next().len(), 1);
}

// Before it is cancelled a run has some seconds to end by itself.
#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_cancels_its_runs() {
    let (graph, begun, dropped) = waiting(MemorySaver::new());
    let server = client(service(tool("wait", graph))).await;
    let tools = registry(&server);
    let call = ToolCall::new("c", "s__wait", json!({ "title": "t" }));
    let context = ToolContext::new(&call, ToolSession::new());
    tokio::select! {
        _ = tools.call(&call, &context) => panic!("nothing ends it"),
        () = begun.notified() => {}
    }
    server.close().await;
    tokio::time::timeout(HANGS, dropped.cancelled()).await.expect("the run is cancelled");
}

#[test]
fn what_cannot_be_served_is_refused() {
    let with = |tool: GraphTool| McpService::new("s", "1").with(tool).unwrap_err();
    for name in ["", "a b", "ä", &"a".repeat(58)] {
        assert_eq!(with(tool(name, plain())), ServeError::Name { name: name.to_owned() });
    }
    let twice =
        McpService::new("s", "1").with(tool("a", plain())).unwrap().with(tool("a", plain())).unwrap_err();
    assert_eq!(twice, ServeError::Duplicate { name: "a".to_owned() });
    let kept = || plain().checkpointer(MemorySaver::new());
    let service = McpService::new("s", "1").with(tool("a_resume", plain())).unwrap();
    assert_eq!(
        service.with(tool("a", kept())).unwrap_err(),
        ServeError::Duplicate { name: "a_resume".to_owned() }
    );

    #[derive(Deserialize, JsonSchema)]
    struct Threaded {
        thread: String,
    }
    let input = |input: Threaded| Article::update().title(input.thread);
    let threaded = GraphTool::new("a", "", kept(), input, |article: Article| article.title);
    assert_eq!(with(threaded), ServeError::ThreadField { name: "a".to_owned() });
    let of_texts = GraphTool::new(
        "a",
        "",
        plain(),
        |title: String| Article::update().title(title),
        |article: Article| article.title,
    );
    assert!(matches!(with(of_texts), ServeError::Schema { .. }));
}

/// A client that writes lines, and keeps what it was told beside its answers.
struct Lines {
    read: tokio::io::Lines<tokio::io::BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
    write: tokio::io::WriteHalf<tokio::io::DuplexStream>,
    next: u64,
    said: Vec<Value>,
}

impl Lines {
    async fn of(service: McpService) -> Self {
        use tokio::io::AsyncBufReadExt;

        let (near, far) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(service.serve(read, write));
        let (read, write) = tokio::io::split(near);
        let mut lines =
            Self { read: tokio::io::BufReader::new(read).lines(), write, next: 0, said: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "lines", "version": "1" },
        });
        let hello = lines.ask("initialize", hello).await;
        assert_eq!(hello["serverInfo"]["name"], "articles");
        assert_eq!(hello["protocolVersion"], "2025-06-18");
        lines.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        lines
    }

    async fn write(&mut self, message: &Value) {
        use tokio::io::AsyncWriteExt;

        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Makes a request and returns the answer.
    async fn send(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let line = self.read.next_line().await.unwrap().expect("the server goes on");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
            self.said.push(message);
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await["result"].clone()
    }
}

#[tokio::test]
async fn functions_that_panic_leave_an_error_and_no_client_without_an_answer() {
    let input = |topic: Topic| match topic.title.as_str() {
        "input" => panic!("the input is not fine"),
        _ => Article::update().title(topic.title),
    };
    let output = |article: Article| match article.title.as_str() {
        "output" => panic!("the output is not fine"),
        _ => article.drafts,
    };
    let server = client(service(GraphTool::new("write", "Writes.", plain(), input, output))).await;
    for (title, why) in [("input", "reads the input"), ("output", "makes the output")] {
        let result = ask(&server, "s__write", json!({ "title": title })).await;
        assert_eq!(result.outcome(), ToolOutcome::Error);
        let said = result.content.to_text().into_owned();
        assert!(said.contains(&format!("the function that {why} has panicked")), "{said}");
    }
    assert_eq!(data(&server, "s__write", json!({ "title": "fine" })).await["output"], 1);
}
