//! Servers that are processes: this test program itself, started once more.

use std::io::{BufRead, Write};
use std::time::Duration;

use crate::{McpCommand, McpError, McpServer};
use serde_json::{Value, json};
use superstep_nodes::tool::ToolOutcome;

use super::scripted::{HANGS, allowed, make, names, registry, said, text, tool};

/// The variable that makes the program a server, of this kind.
const KIND: &str = "SUPERSTEP_TEST_SERVER";

/// The server. What the test harness prints before it is garbage on its output.
#[test]
fn the_server_itself() {
    let Ok(kind) = std::env::var(KIND) else { return };
    if kind == "broken" {
        eprintln!("cannot open the database\nnobody is there");
        std::process::exit(7);
    }
    // The harness has begun a line.
    println!();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "itself", "version": "1" },
            }),
            "tools/list" if kind == "deaf" => {
                json!({ "tools": [tool(&format!("pid{}", std::process::id()))] })
            }
            "tools/list" => json!({ "tools": (["pid", "environment", "child", "die"].map(tool)) }),
            "tools/call" => match message["params"]["name"].as_str().unwrap() {
                "pid" => text(&std::process::id().to_string()),
                "environment" => {
                    let all: Vec<String> =
                        std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
                    text(&all.join("\n"))
                }
                "child" => {
                    let order = "sleep 1000 >/dev/null 2>&1 & echo $!";
                    let shell = std::process::Command::new("sh").args(["-c", order]).output().unwrap();
                    text(String::from_utf8(shell.stdout).unwrap().trim())
                }
                _ => std::process::abort(),
            },
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        let mut output = std::io::stdout().lock();
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
        if kind == "deaf" && message["method"] == "tools/list" {
            std::thread::sleep(Duration::from_secs(1000));
        }
    }
    if kind == "stubborn" {
        std::thread::sleep(Duration::from_secs(1000));
    }
    // The harness would print a report without a reader.
    std::process::exit(0);
}

fn itself(kind: &str) -> McpCommand {
    let program = std::env::current_exe().unwrap();
    McpCommand::new(program)
        .args(["tests::process::the_server_itself", "--exact", "--nocapture", "--test-threads=1"])
        .variable(KIND, kind)
}

async fn connect(kind: &str) -> McpServer {
    McpServer::connect("own", itself(kind), allowed()).await.unwrap()
}

/// Returns true if a process of that number runs and is no zombie.
#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

#[cfg(target_os = "linux")]
async fn is_gone(pid: &str) {
    let gone = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, gone).await.unwrap_or_else(|_| panic!("{pid} still runs"));
}

#[tokio::test]
async fn a_command_is_started_and_its_tools_are_called() {
    let server = connect("plain").await;
    assert_eq!(names(server.tools().tools()), ["own__child", "own__die", "own__environment", "own__pid"]);
    let tools = registry(&server);
    let pid: u32 = said(&tools, "own__pid").await.parse().unwrap();
    assert_ne!(pid, std::process::id());
    assert_eq!(said(&tools, "own__pid").await, pid.to_string());
}

#[tokio::test]
async fn a_command_does_not_get_what_is_in_the_environment() {
    let inherited = |name: &str, said: &str| said.lines().any(|line| line.starts_with(&format!("{name}=")));
    // Cargo sets it for tests.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    let own = said(&registry(&connect("plain").await), "own__environment").await;
    assert!(inherited("PATH", &own) && inherited(KIND, &own), "{own}");
    assert!(!inherited("CARGO_MANIFEST_DIR", &own), "{own}");
    let command = itself("plain").inherit_environment();
    let server = McpServer::connect("own", command, allowed()).await.unwrap();
    let all = said(&registry(&server), "own__environment").await;
    assert!(inherited("CARGO_MANIFEST_DIR", &all), "{all}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_ends_with_its_connection_and_so_does_what_it_started() {
    let server = connect("plain").await;
    let tools = registry(&server);
    let (pid, child) = (said(&tools, "own__pid").await, said(&tools, "own__child").await);
    assert!(is_alive(&pid) && is_alive(&child));
    server.close().await;
    assert!(!is_alive(&pid));
    is_gone(&child).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_does_not_end_by_itself_is_made_to() {
    let server = connect("stubborn").await;
    let pid = said(&registry(&server), "own__pid").await;
    server.close().await;
    assert!(!is_alive(&pid));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_reads_nothing_is_ended_though_a_message_is_being_written_to_it() {
    let options = allowed().call_time(Duration::from_millis(100));
    let server = McpServer::connect("own", itself("deaf"), options).await.unwrap();
    let (tools, name) = (registry(&server), server.tools().tools()[0].name().to_owned());
    let pid = name.strip_prefix("own__pid").unwrap();
    // More than a pipe holds: the second waits for the first.
    for _ in 0..2 {
        let call =
            superstep_nodes::message::ToolCall::new("c", &name, json!({ "text": "x".repeat(500_000) }));
        assert_eq!(make(&tools, &call).await.outcome(), ToolOutcome::TimedOut);
    }
    assert!(is_alive(pid));
    tokio::time::timeout(HANGS, server.close()).await.expect("it is closed");
    assert!(!is_alive(pid));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_is_killed_when_the_last_of_its_tools_is_dropped() {
    let server = connect("stubborn").await;
    let tools = registry(&server);
    let (pid, child) = (said(&tools, "own__pid").await, said(&tools, "own__child").await);
    drop(server);
    assert_eq!(said(&tools, "own__pid").await, pid);
    drop(tools);
    is_gone(&pid).await;
    is_gone(&child).await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_is_killed_when_the_programs_future_is_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let program = async move {
        let server = connect("stubborn").await;
        tell.send(said(&registry(&server), "own__pid").await).unwrap();
        std::future::pending::<()>().await;
    };
    runtime.block_on(async {
        let stopped = tokio::time::timeout(HANGS, async {
            let program = tokio::spawn(program);
            let pid = loop {
                match told.try_recv() {
                    Ok(pid) => break pid,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            };
            program.abort();
            pid
        });
        is_gone(&stopped.await.unwrap()).await;
    });
}

#[tokio::test]
async fn a_command_that_dies_in_a_call_leaves_one_error_and_is_restarted() {
    let server = connect("plain").await;
    let tools = registry(&server);
    let pid = said(&tools, "own__pid").await;
    let died = said(&tools, "own__die").await;
    assert!(died.contains("the connection with the MCP server `own` broke during the call"), "{died}");
    let next = said(&tools, "own__pid").await;
    assert!(next.parse::<u32>().is_ok() && next != pid, "{next}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_was_killed_is_restarted() {
    let server = connect("plain").await;
    let tools = registry(&server);
    let pid = said(&tools, "own__pid").await;
    assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    is_gone(&pid).await;
    // Whether the end was noticed before the call is a matter of luck; after one call it was.
    let first = said(&tools, "own__pid").await;
    assert!(first.contains("broke during the call") || first.parse::<u32>().is_ok(), "{first}");
    let next = said(&tools, "own__pid").await;
    assert!(next.parse::<u32>().is_ok() && next != pid, "{next}");
}

#[tokio::test]
async fn a_command_that_fails_says_what_it_wrote() {
    let error = McpServer::connect("own", itself("broken"), allowed()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the MCP server `own` cannot be reached: it has ended the connection; it wrote: cannot open the database / nobody is \
         there"
    );
}

#[tokio::test]
async fn a_command_that_there_is_not_cannot_be_started() {
    let error = McpServer::connect("own", McpCommand::new("/no/such/server"), allowed()).await.unwrap_err();
    assert!(matches!(error, McpError::Start { .. }), "{error}");
    assert!(error.to_string().starts_with("the MCP server `own` cannot be started: "), "{error}");
}

#[tokio::test]
async fn a_command_that_is_no_server_is_not_waited_for_forever() {
    let options = allowed().connect_time(Duration::from_millis(300));
    let error = McpServer::connect("own", McpCommand::new("sleep").arg("1000"), options).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `own` did not answer within 300ms");
}
