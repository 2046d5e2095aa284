//! Tests of the lines of events.

use serde_json::json;
use superstep_nodes::model::{Price, Usage};

use super::*;

const LOOK: Look = Look { width: Some(40), color: false };

fn view() -> View {
    View::new(LOOK, Prices::none().with("m", Price::per_million(1.0, 2.0)))
}

fn shown(view: &mut View, events: &[AssistantEvent]) -> Vec<String> {
    events.iter().flat_map(|event| view.event(event)).map(|line| line.text(false)).collect()
}

fn text(message: &str, text: &str) -> AssistantEvent {
    AssistantEvent::Text { message: message.into(), text: text.into() }
}

fn call(id: &str, tool: &str, input: Value) -> AssistantEvent {
    AssistantEvent::Call { call: id.into(), tool: tool.into(), input }
}

fn result(id: &str, outcome: ToolOutcome, text: &str) -> AssistantEvent {
    AssistantEvent::Result { call: id.into(), tool: "bash".into(), outcome, text: text.into() }
}

fn spent(purpose: Purpose, recorded: bool) -> AssistantEvent {
    AssistantEvent::Budget(ModelCall {
        purpose,
        asked: "m".into(),
        model: "m".into(),
        usage: Usage::of(1_000, 500),
        elapsed_ms: 1,
        recorded,
        error: None,
    })
}

fn exited(exit: Exit) -> AssistantEvent {
    AssistantEvent::Exited { exit, reason: None }
}

#[test]
fn a_turn_is_text_calls_and_results() {
    let mut view = view();
    view.typed("go\n");
    let events = [
        AssistantEvent::Message { message: "gate.1".into(), text: "go".into() },
        AssistantEvent::Thinking { message: "t".into(), text: "First the tests.\nThen".into() },
        text("t", "I run "),
        text("t", "**them**."),
        call("c1", "bash", json!({ "command": "cargo test" })),
        result("c1", ToolOutcome::Ok, "1\n2\n\n3\n4\n5\n6\n"),
        text("u", "Done."),
        exited(Exit::Completed),
    ];
    let expected = [
        "First the tests. …",
        "",
        "I run **them**.",
        "",
        "● bash cargo test",
        "  └ 1",
        "    2",
        "    3",
        "    4",
        "    … 2 more lines",
        "",
        "Done.",
    ];
    assert_eq!(shown(&mut view, &events), expected);
}

#[test]
fn results_of_parallel_calls_name_them_and_failures_say_so() {
    let mut view = view();
    let events = [
        call("a", "bash", json!({ "command": "one" })),
        call("b", "bash", json!({ "command": "two\nlines" })),
        result("a", ToolOutcome::Denied, "no"),
        result("b", ToolOutcome::Error, ""),
    ];
    let expected = [
        "● bash one",
        "● bash two …",
        "● bash one",
        "  └ denied: no",
        "● bash two …",
        "  └ failed: no output",
    ];
    assert_eq!(shown(&mut view, &events[..2]), expected[..2]);
    assert_eq!(view.status().activity, "2 calls");
    assert_eq!(shown(&mut view, &events[2..]), expected[2..]);
    assert_eq!(view.status().activity, "waits for the model");
}

#[test]
fn a_message_that_steers_is_shown_when_it_is_taken_and_a_typed_one_only_once() {
    let mut view = view();
    let message = |text: &str| AssistantEvent::Message { message: "m".into(), text: text.into() };
    view.typed("first");
    assert_eq!(shown(&mut view, &[message("first")]), [""; 0]);
    assert_eq!(shown(&mut view, &[message("from elsewhere\nin two")]), ["› from elsewhere", "  in two"]);
}

#[test]
fn a_reply_that_does_not_count_is_marked() {
    let mut view = view();
    let recovered = |transition| AssistantEvent::Recovered { transition };
    let events = [text("t", "Half a\n\nrep"), recovered(Transition::Waited), text("t", "A whole reply.")];
    let expected = [
        "Half a",
        "",
        "the model failed: it is asked again; the",
        "reply above does not count",
        "",
        "A whole reply.",
    ];
    let mut lines = shown(&mut view, &events);
    lines.extend(shown(&mut view, &[exited(Exit::Completed)]));
    assert_eq!(lines, expected);
    let lines =
        shown(&mut view, &[text("u", "Half"), recovered(Transition::Resumed), exited(Exit::Completed)]);
    assert!(lines.contains(&"Half".to_owned()), "{lines:?}");
}

#[test]
fn sub_agents_are_named_above_their_lines() {
    let mut view = view();
    let of =
        |task, event| AssistantEvent::Agent { kind: "scout".into(), step: 3, task, event: Box::new(event) };
    let events = [
        of(0, call("c", "grep", json!({ "pattern": "x" }))),
        of(0, result("c", ToolOutcome::Ok, "a.rs")),
        of(1, text("t", "Found.")),
        of(1, exited(Exit::Completed)),
        of(0, exited(Exit::MaxTurns)),
    ];
    let expected = [
        "scout  step 3.0",
        "│ ● grep x",
        "│   └ a.rs",
        "scout  step 3.1",
        "│ Found.",
        "scout  step 3.0",
        "│ The limit of turns is reached. The",
        "│ next message continues the session",
    ];
    assert_eq!(shown(&mut view, &events), expected);
    assert!(view.agents.is_empty());
}

#[test]
fn tokens_are_those_of_the_session_and_costs_those_of_all_calls_that_were_made() {
    let mut view = view();
    let agent = AssistantEvent::Agent {
        kind: "scout".into(),
        step: 1,
        task: 0,
        event: Box::new(spent(Purpose::Agent, false)),
    };
    shown(&mut view, &[spent(Purpose::Agent, false), spent(Purpose::Summarizer, false), agent]);
    shown(&mut view, &[spent(Purpose::Agent, true)]);
    assert_eq!((view.status().tokens, view.status().micro_usd), (1_500, Some(6_000)));
}

#[test]
fn compactions_and_exits_are_said() {
    let mut view = view();
    let compacted =
        AssistantEvent::Compacted { summarised: 41, tokens_before: 120_000, tokens_after: 18_000 };
    assert_eq!(shown(&mut view, &[compacted]), ["compacted 41 messages: 120k → 18k tokens"]);
    let failed = AssistantEvent::Exited { exit: Exit::ModelError, reason: Some("no key\u{1b}".into()) };
    assert_eq!(shown(&mut view, &[failed]), ["The model failed: no key\\u{1b}"]);
    assert_eq!(shown(&mut view, &[exited(Exit::Completed)]), [""; 0]);
}

#[test]
fn no_line_with_a_call_or_its_result_is_wider_than_the_terminal() {
    let mut view = view();
    let long = "x".repeat(100);
    let events = [call("c", "bash", json!({ "command": long })), result("c", ToolOutcome::Ok, &long)];
    assert!(shown(&mut view, &events).iter().all(|line| line.chars().count() == 40));
}

#[test]
fn inputs_are_shown_by_the_field_that_says_most() {
    let lines = [
        ("read_file", json!({ "path": "a.rs", "from": 3 }), "a.rs"),
        ("http_request", json!({ "method": "GET", "url": "https://x.org" }), "https://x.org"),
        ("todo", json!({ "items": [{ "task": "a" }] }), "1 tasks"),
        ("other", json!({ "n": 3 }), r#"{"n":3}"#),
        ("none", json!({}), ""),
    ];
    for (tool, input, line) in lines {
        assert_eq!(one_line(tool, &input), line);
    }
}

#[test]
fn calls_of_the_context_are_not_shown() {
    let mut view = view();
    let events = [call("0", "glob", json!({ "pattern": "**" })), result("0", ToolOutcome::Ok, "a.rs")];
    assert_eq!(shown(&mut view, &events), [""; 0]);
}
