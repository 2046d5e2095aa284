//! Agents that work beside their session, and coordinators.

use std::sync::atomic::{AtomicBool, Ordering};

use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver};
use superstep_core::store::MemoryStore;
use superstep_nodes::model::{Prices, Usage};

use super::agents::{ByTask, answers, reader, session, writer};
use super::*;
use crate::BackgroundAgents;
use crate::agents::{AgentKind, BackgroundAgent};
use crate::budget::Limits;
use crate::inbox::Inbox;
use crate::permission::PermissionAnswer;

fn in_background(id: &str, kind: &str, task: &str) -> ToolCall {
    ToolCall::new(id, "agent", json!({ "kind": kind, "task": task, "background": true }))
}

/// A program: a session and the agents beside it, on one store.
struct Program {
    background: BackgroundAgents,
    graph: Graph<AssistantState>,
}

fn program(config: AssistantConfig, saver: &MemorySaver) -> Program {
    let background = BackgroundAgents::new(&config, |graph| graph.checkpointer(saver.clone())).unwrap();
    Program { background, graph: assistant(config).unwrap().checkpointer(saver.clone()) }
}

impl Program {
    async fn say(&self, text: &str) -> AssistantState {
        self.graph.thread("session").run(AssistantState::ask(text)).await.unwrap().finished().unwrap()
    }
}

#[tokio::test]
async fn s2_165_an_agent_in_the_background_answers_by_a_message_also_after_a_restart() {
    let calls = vec![in_background("c1", "explore", "one"), in_background("c2", "explore", "two")];
    let usage = Usage::of(100, 50);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" => Turn::Reply(ModelReply::new("m", "Found.").with_usage(usage)),
        _ => session(calls.clone())(request),
    });
    let (saver, inbox) = (MemorySaver::new(), Inbox::new(MemoryStore::new()));
    let limits = Limits { tokens: Some(90_000), ..Limits::default() };
    let config = || {
        let config = config(Arc::clone(&model)).inbox(inbox.clone()).agents([reader()]);
        config.budget(limits, Prices::none())
    };
    let state = program(config(), &saver).say("Do it.").await;
    assert_eq!((state.exit, state.background.len()), (Some(Exit::Completed), 2), "the session does not wait");
    assert!(answers(&state)[0].2.contains(&state.background[0].name), "{:?}", answers(&state));
    assert_ne!(state.background[0].name, state.background[1].name);
    let reserved: Vec<_> = state.background.iter().map(|agent| agent.delegation.limits.tokens).collect();
    assert_eq!(reserved, [Some(30_000), Some(30_000)], "a third for each, and for the session");
    let most = model.requests_of("Do it.")[1].settings.max_output_tokens.unwrap();
    assert!(most <= 30_000, "{most}: what is reserved is not for the session");
    assert!(model.requests_of("one").is_empty(), "the graph leaves the work to the program");

    // Another process finds them in the state of the session, and may find them twice.
    let program = program(config(), &saver);
    for agent in state.background.iter().chain(&state.background) {
        let run = program.background.run(&"session".into(), &state, agent).await.unwrap();
        assert_eq!(run.state.exit, Some(Exit::Completed));
    }
    assert_eq!(model.requests_of("one").len(), 1);
    let state = program.say("And?").await;
    assert!(state.background.is_empty(), "they have ended");
    let arrived = state.messages.iter().filter(|message| message.text().contains("Found.")).count();
    assert_eq!((arrived, state.ledger.total().usage.total()), (2, 300), "each once, and settled");
}

#[tokio::test]
async fn s2_165_an_agent_in_the_background_continues_where_a_crash_left_it() {
    let calls = vec![in_background("c1", "explore", "one")];
    let crashes = AtomicBool::new(true);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => Turn::Call(vec![ToolCall::new("a1", "none", json!({}))]),
        "one" if crashes.swap(false, Ordering::Relaxed) => panic!("the process ends"),
        _ => session(calls.clone())(request),
    });
    let (saver, inbox) = (MemorySaver::new(), Inbox::new(MemoryStore::new()));
    let program = program(config(Arc::clone(&model)).inbox(inbox).agents([reader()]), &saver);
    let state = program.say("Do it.").await;
    let (session, agent) = ("session".into(), &state.background[0]);
    program.background.run(&session, &state, agent).await.unwrap_err();
    let unfinished = program.graph.unfinished().await.unwrap();
    assert_eq!(unfinished[0].thread, BackgroundAgent::thread(&session, &agent.name), "a restart finds it");
    let run = program.background.run(&session, &state, agent).await.unwrap();
    assert_eq!((run.state.response().as_str(), model.requests_of("one").len()), ("did one", 3));
}

#[tokio::test]
async fn an_agent_in_the_background_asks_on_its_own_thread_and_reads_what_is_sent_to_it() {
    let calls = vec![in_background("c1", "mend", "one")];
    let model = ByTask::new(move |request| {
        let last = request.messages.last().unwrap().text().into_owned();
        match request.messages[0].text().as_ref() {
            "one" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
            "one" => Turn::Say(format!("Read: {last}")),
            _ if last.starts_with("to ") => {
                let (to, message) = (last.trim_start_matches("to "), "Also the tests.");
                Turn::Call(vec![
                    ToolCall::new("s1", "send", json!({ "to": to, "message": message })),
                    ToolCall::new("s2", "send", json!({ "to": "nobody", "message": message })),
                ])
            }
            _ => session(calls.clone())(request),
        }
    });
    let (saver, inbox) = (MemorySaver::new(), Inbox::new(MemoryStore::new()));
    let config = AssistantConfig::new(Arc::clone(&model)).inbox(inbox).agents([writer()]);
    let program = program(config.tools(tools()).permissions(allowing(["agent"])), &saver);
    let state = program.say("Do it.").await;
    let (session, agent) = ("session".into(), &state.background[0]);
    let run = program.background.run(&session, &state, agent).await.unwrap();
    assert_eq!(run.interrupted().unwrap().len(), 1, "it asks, and its session is at rest");

    let state = program.say(&format!("to {}", agent.name)).await;
    let answers: Vec<_> =
        answers(&state).into_iter().skip(1).map(|(_, status, text)| (status, text)).collect();
    assert_eq!(answers[0], (ToolStatus::Ok, format!("Sent to `{}`.", agent.name)));
    assert!(
        answers[1].0 == ToolStatus::Error && answers[1].1.contains("no agent of this name"),
        "{answers:?}"
    );
    assert_eq!(state.background.len(), 1, "without an end it works on");
    let thread = program.background.thread(&session, agent).unwrap();
    thread.answer(&PermissionAnswer::Once).await.unwrap().finished().unwrap();
    program.background.run(&session, &state, agent).await.unwrap().finished().unwrap();
    let state = program.say("And?").await;
    assert!(
        state.messages.iter().any(|message| message.text().contains("Read: Also the tests.")),
        "{state:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn stopping_an_agent_in_the_background_stops_it_and_says_so_to_its_session() {
    let calls = vec![in_background("c1", "stuck", "one")];
    let model = ByTask::new(session(calls));
    let (saver, inbox) = (MemorySaver::new(), Inbox::new(MemoryStore::new()));
    let stuck = AgentKind::reader("stuck", "Does not end.").model(Stuck);
    let program = program(config(model).inbox(inbox).agents([stuck]), &saver);
    let state = program.say("Do it.").await;
    let (session, agent) = ("session".into(), &state.background[0]);
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(program.background.stop(&session, &agent.name));
    };
    let (run, ()) = tokio::join!(program.background.run(&session, &state, agent), stopping);
    assert_eq!(run.unwrap().state.exit, Some(Exit::AbortedStreaming));
    let state = program.say("And?").await;
    let told = |message: &Message| message.text().contains("did not finish: the user stopped it");
    assert!(state.messages.iter().any(told) && state.background.is_empty(), "{state:?}");
}

#[tokio::test]
async fn s2_166_a_coordinator_leads_agents_and_has_no_other_tools() {
    let calls = vec![ToolCall::new("c1", "agent", json!({ "kind": "mend", "task": "one" })), call("c2")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
        _ => session(calls.clone())(request),
    });
    let config = config(Arc::clone(&model)).tools(tools()).permissions(allowing(["agent", "add"]));
    let config = config.inbox(Inbox::new(MemoryStore::new())).agents([writer()]).coordinator();
    let state = run(config).await;
    let offered = |task| -> Vec<String> {
        model.requests_of(task)[0].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(
        (offered("Do it."), offered("one")),
        (vec!["agent".into(), "send".into()], vec!["add".into()])
    );
    let answers = answers(&state);
    assert!(answers[0].1 == ToolStatus::Error && answers[0].2.contains("`add`"), "{answers:?}");
    assert_eq!(answers[1].2, "did one");
}

#[tokio::test]
async fn the_steps_of_agents_are_in_the_file_of_their_session_below_the_task_that_ran_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let calls =
        ["one", "two"].map(|task| ToolCall::new(task, "agent", json!({ "kind": "explore", "task": task })));
    let graph = assistant(config(ByTask::new(session(calls.to_vec()))).agents([reader()])).unwrap();
    let graph = graph.checkpointer(SqliteSaver::open(&path).await.unwrap());
    graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    let below = SqliteReader::open(&path).unwrap().subgraphs(&"session".into()).unwrap();
    let names: Vec<_> = below.iter().map(|run| format!("{}#{}", run.node, run.number)).collect();
    assert_eq!(names, ["agent.explore#1", "agent.explore#2"]);
}

#[test]
fn agents_in_the_background_need_an_inbox() {
    let config = config(Scripted::new()).agents([reader()]);
    let error = BackgroundAgents::new(&config, |graph| graph).unwrap_err().to_string();
    assert!(error.contains("AssistantConfig::inbox"), "{error}");
}
