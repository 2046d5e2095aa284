//! Sub-agents: their tools, permissions, budgets, answers and ends.

use std::sync::atomic::Ordering;

use superstep_core::run::Run;
use superstep_nodes::model::{Prices, Usage};

use super::*;
use crate::agents::AgentKind;
use crate::budget::Limits;
use crate::hook::{CallAnswer, CallEvent, CallHook, EndEvent, HookError, Hooks, StopAnswer, StopHook};
use crate::permission::{PermissionAnswer, PermissionMode, PermissionQuestion};

/// A model that is asked by the session and its agents at the same time: it answers by the last message.
pub(super) struct ByTask {
    answer: Box<dyn Fn(&ModelRequest) -> Turn + Send + Sync>,
    requests: std::sync::Mutex<Vec<ModelRequest>>,
}

impl ByTask {
    pub(super) fn new(answer: impl Fn(&ModelRequest) -> Turn + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), requests: std::sync::Mutex::default() })
    }

    fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the requests of agents with this task.
    pub(super) fn requests_of(&self, task: &str) -> Vec<ModelRequest> {
        self.requests().into_iter().filter(|request| request.messages[0].text() == task).collect()
    }
}

impl ChatModel for ByTask {
    fn name(&self) -> &str {
        "by_task"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        Scripted::new().then((self.answer)(&request)).stream(request)
    }
}

pub(super) fn delegate(id: &str, kind: &str, task: &str) -> ToolCall {
    ToolCall::new(id, "agent", json!({ "kind": kind, "task": task }))
}

/// Returns a script for a session: the calls, then "Done."; agents say "did " and their task.
pub(super) fn session(calls: Vec<ToolCall>) -> impl Fn(&ModelRequest) -> Turn + Send + Sync + 'static {
    move |request| match (request.messages[0].text().as_ref(), request.messages.len()) {
        ("Do it.", 1) => Turn::Call(calls.clone()),
        ("Do it.", _) => Turn::Say("Done.".into()),
        (task, _) => Turn::Say(format!("did {task}")),
    }
}

pub(super) fn reader() -> AgentKind {
    AgentKind::reader("explore", "Looks for something.").system("You explore.")
}

pub(super) fn writer() -> AgentKind {
    AgentKind::writer("mend", "Changes something.")
}

pub(super) fn allowing_agents() -> Permissions {
    allowing(["add", "wait", "agent"])
}

pub(super) fn answers(state: &AssistantState) -> Vec<(String, ToolStatus, String)> {
    let answer = |message: &Message| match message {
        Message::Tool(answer) => {
            Some((answer.tool_call_id.to_string(), answer.status, answer.content.to_text().into_owned()))
        }
        _ => None,
    };
    state.messages.iter().filter_map(answer).collect()
}

pub(super) async fn started(config: AssistantConfig) -> (Run<AssistantState>, Graph<AssistantState>) {
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let run = graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap();
    (run, graph)
}

#[tokio::test]
async fn s2_042_043_045_agents_work_in_loops_of_their_own_and_answer_in_the_order_of_the_calls() {
    let calls = vec![
        delegate("c1", "mend", "one"),
        delegate("c2", "explore", "two"),
        call("c3"),
        delegate("c4", "explore", "three"),
    ];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "two" if request.messages.len() == 1 => Turn::Call(vec![call("inner")]),
        _ => session(calls.clone())(request),
    });
    let add = tools();
    let config = config(Arc::clone(&model)).tools(add).permissions(allowing_agents());
    let state = run(config.agents([reader(), writer()])).await;
    assert_eq!((state.exit, state.response().as_str()), (Some(Exit::Completed), "Done."));
    let answered: Vec<_> = answers(&state).into_iter().map(|(id, _, text)| (id, text)).collect();
    let expected = [("c3", "3"), ("c1", "did one"), ("c2", "did two"), ("c4", "did three")];
    assert_eq!(answered, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    assert_eq!(model.requests_of("two").len(), 2, "an agent runs tools like the session");
    assert_eq!(model.requests_of("two")[0].system.as_deref(), Some("You explore."));
    assert_eq!(state.ledger.total().calls, 6, "the calls of the agents are counted");
    assert!(state.delegations.is_empty() && state.results.is_empty(), "nothing is left behind");
}

#[tokio::test]
async fn s2_044_a_tool_that_a_kind_does_not_name_is_unknown_to_its_agents() {
    let calls = vec![delegate("c1", "explore", "one")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => {
            Turn::Call(vec![call("a1"), delegate("a2", "explore", "deeper")])
        }
        "one" => Turn::Say(request.messages[2].text().into_owned() + &request.messages[3].text()),
        _ => session(calls.clone())(request),
    });
    let other = TypedTool::new("other", "Does another thing, and says so.", |_: serde_json::Value| async {
        Ok::<_, std::convert::Infallible>("other".to_owned())
    });
    let config = config(Arc::clone(&model)).tools(tools().with(other).unwrap());
    let state = run(config.permissions(allowing_agents()).agents([reader().tools(["other"])])).await;
    let text = &answers(&state)[0].2;
    assert!(text.contains("`add`") && text.contains("`agent`"), "{text}");
    let offered: Vec<_> = model.requests_of("one")[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["other"], "nor does it start agents");
}

#[tokio::test]
async fn s2_045_calls_that_a_kind_may_never_make_are_denied() {
    let calls = vec![delegate("c1", "mend", "one"), delegate("c2", "explore", "two")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
        "one" | "two" => Turn::Say(request.messages[2].text().into_owned()),
        _ => session(calls.clone())(request),
    });
    let rule = RulePlace::new("add(1)".parse().unwrap(), RuleSource::Program);
    let config = config(model).tools(tools()).permissions(allowing_agents());
    let (run, _) = started(config.agents([writer().never(rule), reader()])).await;
    // The tool cannot compare patterns, so the rule may be about the call, and no allow rule lifts it.
    let asked: PermissionQuestion =
        serde_json::from_str(&run.interrupted().unwrap()[0].question.to_string()).unwrap();
    assert!(asked.reason.contains("add(1)"), "{}", asked.reason);
}

#[tokio::test]
async fn an_agent_that_only_reads_is_denied_changes_that_its_parent_may_make() {
    let calls = vec![delegate("c1", "explore", "one")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
        "one" => Turn::Say(request.messages[2].text().into_owned()),
        _ => session(calls.clone())(request),
    });
    let config = config(model).tools(tools()).permissions(allowing_agents()).agents([reader()]);
    let state = run(config).await;
    assert!(answers(&state)[0].2.starts_with("Not permitted: mode plan"), "{:?}", answers(&state));
}

#[tokio::test]
async fn s2_045_an_agent_that_writes_is_asked_about_in_the_mode_of_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let write = || ToolCall::new("a1", "write_file", json!({ "path": "a.txt", "content": "a" }));
    let tools = || superstep_tools::workspace(superstep_tools::Workspace::of_session());
    for (mode, asks) in [(PermissionMode::Default, true), (PermissionMode::AcceptEdits, false)] {
        let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
            "one" if request.messages.len() == 1 => Turn::Call(vec![write()]),
            _ => session(vec![delegate("c1", "mend", "one")])(request),
        });
        let config = AssistantConfig::new(model).tools(tools()).permissions(allowing(["agent"]));
        let config = config.workspace(folder.path()).agents([writer()]);
        let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
        let input = AssistantState::ask("Do it.").mode(mode);
        let run = graph.thread("session").run(input).await.unwrap();
        assert_eq!(run.interrupted().is_ok(), asks, "{mode}");
        assert_eq!(folder.path().join("a.txt").exists(), !asks);
    }
}

#[tokio::test]
async fn a_question_of_an_agent_has_its_name_and_its_answer_is_a_grant_of_the_session() {
    let calls = vec![delegate("c1", "mend", "one"), delegate("c2", "mend", "two")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
        _ => session(calls.clone())(request),
    });
    let config = AssistantConfig::new(model).tools(tools()).permissions(allowing(["agent"]));
    let (run, graph) = started(config.agents([writer()])).await;
    let asked = run.interrupted().unwrap();
    let question: PermissionQuestion = serde_json::from_str(&asked[0].question.to_string()).unwrap();
    assert_eq!((asked.len(), question.agent.as_deref()), (1, Some("mend")), "one writes at a time");
    assert_eq!(asked[0].path.iter().map(|node| node.as_str()).collect::<Vec<_>>(), ["agent.mend"]);

    let levels = graph.thread("session").head().await.unwrap().subgraphs().await.unwrap();
    assert_eq!(levels[0].path.iter().map(|node| node.as_str()).collect::<Vec<_>>(), ["agent.mend"]);

    let answered = graph.thread("session").answer(&PermissionAnswer::Session).await.unwrap();
    let state = answered.finished().expect("the second agent need not ask");
    assert_eq!((state.exit, state.grants.len()), (Some(Exit::Completed), 1));
    graph.thread("session").replay().await.unwrap();
}

#[tokio::test]
async fn a_delegation_is_authorized_by_its_kind() {
    let calls = vec![delegate("c1", "mend", "one"), delegate("c2", "explore", "two")];
    let model = ByTask::new(session(calls));
    let config = AssistantConfig::new(Arc::clone(&model)).agents([reader(), writer()]);
    let input = AssistantState::ask("Do it.").mode(PermissionMode::Plan);
    let state = run_with(config, input).await;
    let answers = answers(&state);
    assert!(answers[0].2.starts_with("Not permitted: "), "{answers:?}");
    assert_eq!((answers[1].2.as_str(), model.requests_of("one").len()), ("did two", 0));
}

#[tokio::test]
async fn s2_042_an_agent_that_a_limit_ends_is_an_error_that_says_so_with_what_it_has() {
    let calls = vec![delegate("c1", "explore", "one"), delegate("c2", "brief", "two")];
    let usage = Usage::of(1_000, 500);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" => {
            let calls = vec![ToolCall::new("a1", "add", json!({}))];
            Turn::Reply(ModelReply::new("m", "I found a part.").with_calls(calls).with_usage(usage))
        }
        _ => session(calls.clone())(request),
    });
    let limits = Limits { tokens: Some(3_000), ..Limits::default() };
    let brief = AgentKind::reader("brief", "Is brief.").max_turns(NonZeroU32::new(2).unwrap());
    let config = config(Arc::clone(&model)).tools(tools()).agents([reader().limits(limits), brief]);
    let state = run(config).await;
    let answers = answers(&state);
    let begins = |text: &str| format!("The agent {text} What it has so far:\nI found a part.");
    assert_eq!(answers[0].2, begins("`explore` did not finish: its limit of tokens is reached."));
    assert_eq!(answers[1].2, begins("`brief` did not finish: its limit of turns is reached."));
    assert!(answers.iter().all(|(_, status, _)| *status == ToolStatus::Error), "it is no success");
    assert_eq!(state.exit, Some(Exit::Completed), "the session continues");
    assert_eq!((model.requests_of("one").len(), model.requests_of("two").len()), (1, 2));
}

#[tokio::test]
async fn s2_184_agents_that_run_at_once_share_what_is_left_of_the_budget() {
    let calls = ["one", "two", "three"].map(|task| delegate(task, "explore", task)).to_vec();
    let usage = Usage::of(10, 20);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" | "three" => Turn::Reply(ModelReply::new("m", "x").with_usage(usage)),
        _ => session(calls.clone())(request),
    });
    let limits = Limits { tokens: Some(30_000), ..Limits::default() };
    let config = config(Arc::clone(&model)).budget(limits, Prices::none()).agents([reader()]);
    let state = run(config).await;
    let most = |task: &str| model.requests_of(task)[0].settings.max_output_tokens.unwrap();
    for task in ["one", "two", "three"] {
        assert!((8_000..=10_000).contains(&most(task)), "{}", most(task));
    }
    assert_eq!(state.exit, Some(Exit::Completed));

    let spent = Limits { tokens: Some(700), ..Limits::default() };
    let before = model.requests_of("one").len();
    let config = super::config(Arc::clone(&model)).budget(spent, Prices::none()).agents([reader()]);
    let state = run(config).await;
    assert!(answers(&state).iter().all(|(_, status, _)| *status == ToolStatus::Error), "{state:?}");
    assert_eq!(model.requests_of("one").len(), before, "a share that pays for no call sends none");
}

#[tokio::test]
async fn s2_042_a_session_that_ends_while_its_agents_work_repeats_no_call_that_had_ended() {
    let calls = vec![delegate("c1", "explore", "one"), delegate("c2", "explore", "two")];
    let crashes = std::sync::atomic::AtomicBool::new(true);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "two" if request.messages.len() == 1 => Turn::Call(vec![ToolCall::new("a1", "none", json!({}))]),
        "two" if crashes.swap(false, Ordering::Relaxed) => panic!("the process ends"),
        _ => session(calls.clone())(request),
    });
    let config = config(Arc::clone(&model)).agents([reader()]);
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    thread.run(AssistantState::ask("Do it.")).await.unwrap_err();
    let state = thread.resume().await.unwrap().finished().unwrap();
    let texts: Vec<_> = answers(&state).into_iter().map(|(.., text)| text).collect();
    assert_eq!((state.exit, texts), (Some(Exit::Completed), vec!["did one".into(), "did two".into()]));
    let calls = |task| model.requests_of(task).len();
    assert_eq!(
        (calls("Do it."), calls("one"), calls("two")),
        (2, 1, 3),
        "only the last call of `two` is repeated"
    );
    assert_eq!(state.ledger.total().calls, 5);
}

#[tokio::test]
async fn a_hook_that_ends_the_run_of_an_agent_ends_that_of_the_session_and_checks_of_success_are_for_the_session()
 {
    let calls = vec![delegate("c1", "explore", "one"), delegate("c2", "mend", "two")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => Turn::Call(vec![call("a1")]),
        _ => session(calls.clone())(request),
    });
    struct Guard;
    #[async_trait::async_trait]
    impl CallHook for Guard {
        fn name(&self) -> &str {
            "guard"
        }

        async fn before_call(&self, _: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
            Ok(CallAnswer::End("enough".into()))
        }
    }
    #[async_trait::async_trait]
    impl StopHook for Guard {
        fn name(&self) -> &str {
            "guard"
        }

        async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
            assert_eq!(end.task, "Do it.");
            Ok(StopAnswer::Pass)
        }
    }
    let hooks = Hooks::new().before_call_of("add".parse().unwrap(), Guard).before_end(Guard);
    let config = config(Arc::clone(&model)).tools(tools()).permissions(allowing_agents()).hooks(hooks);
    let config = config.agents([reader(), writer()]);
    let state = run(config.clone()).await;
    assert_eq!((state.exit, model.requests_of("two").len()), (Some(Exit::HookStopped), 0));
    assert_eq!(roles(&state), "hatt", "every call is answered");

    let model = ByTask::new(session(vec![delegate("c1", "mend", "two")]));
    let state = run(AssistantConfig { model, ..config }).await;
    assert_eq!(state.exit, Some(Exit::Completed));
}

#[tokio::test(start_paused = true)]
async fn s2_042_stopping_the_session_starts_no_further_call_of_its_agents() {
    let calls = ["one", "two"].map(|task| delegate(task, "explore", task));
    let calls = [&calls[..], &[delegate("three", "mend", "three")]].concat();
    let wait = TypedTool::new("wait", "Waits for an hour. Says that it has.", |_: serde_json::Value| async {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok::<_, std::convert::Infallible>("waited".to_owned())
    })
    .with_effect(superstep_nodes::tool::ToolEffect::ReadOnly);
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" | "two" if request.messages.len() == 1 => {
            Turn::Call(vec![ToolCall::new("a1", "wait", json!({}))])
        }
        _ => session(calls.clone())(request),
    });
    let registry = ToolRegistry::new().with(wait).unwrap();
    let config = config(Arc::clone(&model)).tools(registry).permissions(allowing_agents());
    let (state, graph) = stopped(config.agents([reader(), writer()])).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::AbortedTools), "hattt"));
    assert!(answers(&state).iter().all(|(_, status, _)| *status == ToolStatus::Error));
    assert_eq!(model.requests().len(), 3, "the session, and each of the two readers, once");
    graph.thread("session").replay().await.unwrap();

    let next = graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap();
    assert_eq!(next.finished().unwrap().exit, Some(Exit::Completed), "the stop is over");
}

#[tokio::test]
async fn agents_start_agents_only_above_the_last_level() {
    let calls = vec![delegate("c1", "explore", "one")];
    let model = ByTask::new(move |request| match request.messages[0].text().as_ref() {
        "one" if request.messages.len() == 1 => Turn::Call(vec![delegate("a1", "explore", "two")]),
        "one" => Turn::Say(format!("one, and {}", request.messages[2].text())),
        _ => session(calls.clone())(request),
    });
    let state = run(config(Arc::clone(&model)).agents([reader()]).agent_levels(2)).await;
    assert_eq!(answers(&state)[0].2, "one, and did two");
    assert_eq!(state.ledger.total().calls, 5);
    let offers = |task| model.requests_of(task)[0].tools.iter().any(|tool| tool.name == "agent");
    assert_eq!((offers("one"), offers("two")), (true, false));
}

#[test]
fn kinds_that_no_agent_can_be_made_of_are_errors() {
    let error = |config: AssistantConfig| assistant(config).unwrap_err().to_string();
    let model = || config(Scripted::new());
    assert!(error(model().agents([reader().tools(["bash"])])).contains("the tool `bash`"));
    assert!(error(model().agents([reader(), reader()])).contains("two kinds of agents are called `explore`"));
    assert!(error(model().agents([AgentKind::reader("a b", "x")])).contains("`a b` is not a name"));
    assert!(error(model().agents([reader()]).agent_levels(4)).contains("1 to 3 levels, not 4"));
    let money = Limits { micro_usd: Some(1), ..Limits::default() };
    assert!(error(model().agents([reader().limits(money)])).contains("`scripted` has no price"));
}
