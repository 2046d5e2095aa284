//! The four domains in the same loop.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::{Status, Thread};
use superstep_nodes::compaction::ContextManager;
use superstep_nodes::message::Message;
use superstep_nodes::model::{
    ImageModel, ImageRequest, MadeImage, ModelError, ModelRequest, Price, Prices, Purpose, Scripted, Usage,
};
use superstep_nodes::tool::TypedTool;
use superstep_tools::{Bash, HttpRequest, SqlQuery, Workspace};
use tempfile::TempDir;

use super::*;
use crate::agents::AgentKind;
use crate::budget::Limits;
use crate::context::{ContextWindow, ContextWindows};
use crate::exit::{Exit, Resource};
use crate::permission::{PermissionAnswer, Permissions, RuleSource, Verdict};
use crate::{AssistantState, assistant};

mod context;
mod rules;
mod success;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

/// An image model that fails if the prompt asks for it.
struct Painter;

#[async_trait]
impl ImageModel for Painter {
    fn name(&self) -> &str {
        "painter"
    }

    async fn make(&self, request: ImageRequest) -> Result<MadeImage, ModelError> {
        match request.prompt.contains("nothing") {
            true => Err(ModelError::InvalidRequest { reason: "there is nothing to paint".into() }),
            false => Ok(MadeImage { bytes: PNG.to_vec(), usage: Usage::of(5, 272) }),
        }
    }
}

/// Starts a server that answers `GET /ok` with 200, and everything else with 500.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 4_096];
            let read = stream.read(&mut head).unwrap_or(0);
            let status = if head[..read].starts_with(b"GET /ok") { "200 OK" } else { "500 Broken" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 4\r\nconnection: close\r\n\r\nword");
            // The client may have gone.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// A domain in a folder, and the calls of a script.
struct Case {
    domain: Domain,
    /// A call that needs no consent.
    look: (&'static str, Value),
    /// A call that needs consent.
    change: (&'static str, Value),
    /// A call that fails.
    fail: (&'static str, Value),
}

/// Makes a folder with a program, a database, the document of an API, and a picture.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    write("main.sh", b"echo 3\n");
    write("fox.png", PNG);
    let operations = json!({ "/ok": { "get": { "summary": "Says a word" } } });
    write("api.json", json!({ "info": { "title": "Words" }, "paths": operations }).to_string().as_bytes());
    let sql = "CREATE TABLE sales (city, sold); INSERT INTO sales VALUES ('Bern', 3), ('Rome', 4)";
    rusqlite::Connection::open(folder.path().join("sales.db")).unwrap().execute_batch(sql).unwrap();
    folder
}

fn cases(folder: &Path) -> [Case; 4] {
    let address = server();
    let url = |path: &str| format!("http://{address}/{path}");
    let http = HttpRequest::new().allow_internal(&address.to_string()).unwrap();
    let requests = |method: &str, path: &str| json!({ "url": url(path), "method": method });
    let sql = |sql: &str| json!({ "sql": sql });
    let image = |prompt: &str| json!({ "path": "art/cat.png", "prompt": prompt });
    let bash = |command: &str| json!({ "command": command });
    [
        Case {
            domain: Domain::code(Bash::new(Workspace::of_session()), "sh main.sh | grep -q 4"),
            look: ("read_file", json!({ "path": "main.sh" })),
            change: ("bash", bash("echo echo 4 > main.sh")),
            fail: ("bash", bash("false")),
        },
        Case {
            domain: Domain::data(SqlQuery::new(folder.join("sales.db")).writable()),
            look: ("describe_database", json!({})),
            change: ("sql_query", sql("UPDATE sales SET sold = 4")),
            fail: ("sql_query", sql("SELECT sold FROM purchases")),
        },
        Case {
            domain: Domain::api(http, "api.json"),
            look: ("http_request", requests("GET", "ok")),
            change: ("http_request", requests("POST", "ok")),
            fail: ("http_request", requests("GET", "broken")),
        },
        Case {
            domain: Domain::creative(Painter),
            look: ("glob", json!({ "pattern": "*.png" })),
            change: ("generate_image", image("a cat")),
            fail: ("generate_image", image("nothing")),
        },
    ]
}

fn allow(tool: &str) -> RulePlace {
    RulePlace::new(tool.parse().unwrap(), RuleSource::User)
}

fn roles(state: &AssistantState) -> String {
    let role = |message: &Message| match message {
        Message::Human(_) => 'h',
        Message::Ai(_) => 'a',
        Message::Tool(_) => 't',
        Message::System(_) => 's',
    };
    state.messages.iter().map(role).collect()
}

fn config(model: &Arc<Scripted>, folder: &Path) -> AssistantConfig {
    AssistantConfig::new(Arc::clone(model)).workspace(folder)
}

async fn ask(thread: &Thread<AssistantState>, request: &str) -> AssistantState {
    thread.run(AssistantState::ask(request)).await.unwrap().finished().unwrap()
}

fn thread(config: AssistantConfig) -> Thread<AssistantState> {
    assistant(config).unwrap().checkpointer(MemorySaver::new()).thread("session")
}

#[tokio::test]
async fn s2_172_184_the_same_script_takes_the_same_steps_in_four_domains() {
    let folder = folder();
    let mut steps = Vec::new();
    for case in cases(folder.path()) {
        let [(look, seen), (change, changed)] = [case.look, case.change];
        let script = || Scripted::new().call("c1", look, seen.clone()).call("c2", change, changed.clone());
        let delegation = json!({ "kind": "finder", "task": "Find it." });
        let script = || script().call("c3", "agent", delegation.clone());
        let model = Arc::new(script().call("c4", "launch", json!({})).say("Done."));
        let finder =
            AgentKind::reader("finder", "Finds things, and says where.").model(Scripted::new().say("Here."));
        // Without a person, calls that need consent are denied, and the work still ends.
        let base = config(&model, folder.path())
            .small_model(Scripted::new().say("They talked."))
            .permissions(Permissions::new().headless())
            .agents([finder])
            .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(6_000, 500)))
            .compaction(ContextManager::new().target(1_000));
        let earlier = (0..45).map(|n| Message::human(format!("m{n}"), "word ".repeat(100)));
        let input = AssistantState::ask("Do it.").messages(earlier.collect::<Vec<_>>());
        let thread = thread(base.clone().domain(case.domain.clone()));
        let state = thread.run(input).await.unwrap().finished().unwrap();
        let verdicts: Vec<_> = state.decisions.iter().map(|it| (it.layer, it.verdict)).collect();
        let calls = state.ledger.total().calls;
        steps.push((roles(&state), state.exit, verdicts, state.compactions.len(), calls));

        let none = Limits { tokens: Some(300), ..Limits::default() };
        let model = Arc::new(script().say("Done."));
        let poor = config(&model, folder.path()).domain(case.domain).budget(none, Prices::none());
        let state = ask(&self::thread(poor), "Do it.").await;
        assert_eq!(state.exit, Some(Exit::BudgetExceeded(Resource::Tokens)));
        assert_eq!(model.requests().len(), 0, "a call that the budget does not allow is not sent");
    }
    assert!(steps[0].0.ends_with("hhatatatata") && steps[0].1 == Some(Exit::Completed), "{:?}", steps[0]);
    assert_eq!(
        steps[0].2.iter().map(|it| it.1).collect::<Vec<_>>(),
        [Verdict::Allow, Verdict::Deny, Verdict::Allow]
    );
    assert_eq!((steps[0].3, steps[0].4), (1, 7));
    assert!(steps.iter().all(|it| *it == steps[0]), "{steps:#?}");
}

/// An image costs money as a reply does.
#[tokio::test]
async fn s2_179_184_images_are_counted_in_the_budget_and_need_a_price() {
    let folder = folder();
    let image = json!({ "path": "cat.png", "prompt": "a cat" });
    let script = || Arc::new(Scripted::new().call("c1", "generate_image", image.clone()).say("Done."));
    let config = |limits, prices| {
        config(&script(), folder.path()).domain(Domain::creative(Painter)).budget(limits, prices)
    };
    let paint = async |config| {
        let thread = thread(config);
        let mut run = thread.run(AssistantState::ask("Paint.")).await.unwrap();
        while matches!(run.status, Status::Interrupted { .. }) {
            run = thread.answer(&PermissionAnswer::Once).await.unwrap();
        }
        run.finished().unwrap()
    };
    let prices = Prices::none().with(Scripted::NAME, Price::per_million(1.0, 1.0));
    let money = Limits { micro_usd: Some(1_000_000), ..Limits::default() };
    let error = assistant(config(money, prices.clone())).unwrap_err().to_string();
    assert!(error.contains("`painter` has no price"), "{error}");

    let prices = prices.with("painter", Price::per_million(10.0, 40.0));
    let state = paint(config(money, prices.clone())).await;
    assert_eq!(state.exit, Some(Exit::Completed), "{:?}", state.failure);
    let images = state.ledger.purpose(Purpose::Image);
    assert_eq!((images.calls, images.usage), (1, Usage::of(5, 272)), "{:?}", state.ledger);
    let of_images = Prices::none().with("painter", Price::per_million(10.0, 40.0));
    assert_eq!(state.ledger.cost(&of_images).micro_usd, 50 + 272 * 40);

    std::fs::remove_file(folder.path().join("cat.png")).unwrap();
    // The image takes what the next call would need.
    let less = Limits { micro_usd: Some(11_000), ..Limits::default() };
    let state = paint(config(less, prices)).await;
    assert_eq!(
        state.exit,
        Some(Exit::BudgetExceeded(Resource::Money)),
        "{:?} {:?}",
        state.failure,
        state.ledger
    );
    assert!(roles(&state).ends_with("hat"), "{}", roles(&state));
}

#[test]
fn s2_173_174_175_177_180_each_domain_has_five_core_tools() {
    let folder = folder();
    let tools: Vec<_> = cases(folder.path())
        .map(|case| {
            let names = case.domain.tools().specs().into_iter().map(|spec| spec.name);
            (case.domain.name().to_owned(), names.collect::<Vec<_>>().join(" "))
        })
        .into();
    let expected = [
        ("code", "bash edit_file grep read_file write_file"),
        ("data", "describe_database draw_chart read_csv read_json sql_query"),
        ("api", "describe_api http_request read_file read_json write_file"),
        ("creative", "edit_image generate_image glob read_file write_file"),
    ];
    assert_eq!(tools, expected.map(|(name, tools)| (name.to_owned(), tools.to_owned())));
    assert_eq!(
        Domain::new("law", "", ToolRegistry::new()).unwrap_err(),
        DomainError::CoreTools { domain: "law".into(), tools: 0 }
    );
}

#[tokio::test]
async fn s2_002_028_one_run_executes_code_reads_and_writes_files_calls_an_api_and_searches_the_web() {
    let folder = folder();
    let address = server();
    // A tool of another program, as an MCP server gives it: the loop knows nothing of it but the trait.
    let search = TypedTool::new(
        "web_search",
        "Searches the web, and returns the titles of ten pages.",
        |input: Value| async move { Ok::<_, std::convert::Infallible>(format!("found {}", input["query"])) },
    );
    let mut tools = ToolRegistry::new();
    tools.add_external(Arc::new(search)).unwrap();
    let http = HttpRequest::new().allow_internal(&address.to_string()).unwrap();
    let model = Arc::new(
        Scripted::new()
            .call("c1", "write_file", json!({ "path": "a.sh", "content": "echo it runs\n" }))
            .call("c2", "read_file", json!({ "path": "a.sh" }))
            .call("c3", "bash", json!({ "command": "sh a.sh" }))
            .call("c4", "http_request", json!({ "url": format!("http://{address}/ok") }))
            .call("c5", "web_search", json!({ "query": "tram 28" }))
            .say("Done."),
    );
    let permissions = ["write_file", "bash", "web_search"]
        .into_iter()
        .fold(Permissions::new(), |all, tool| all.rule(RuleKind::Allow, allow(tool)));
    let config = config(&model, folder.path())
        .tools(tools)
        .permissions(permissions)
        .domain(Domain::code(Bash::new(Workspace::of_session()), "true"))
        .domain(Domain::api(http, "api.json"));
    let state = ask(&thread(config), "Do it.").await;
    let answers = state.messages.iter().filter(|message| matches!(message, Message::Tool(_)));
    let answers: Vec<_> = answers.map(|message| message.text().into_owned()).collect();
    for (answer, part) in
        answers.iter().zip(["was written", "echo it runs", "it runs", "word", "found \"tram 28\""])
    {
        assert!(answer.contains(part), "{answer}");
    }
    assert_eq!((answers.len(), state.exit), (5, Some(Exit::Completed)));
}
