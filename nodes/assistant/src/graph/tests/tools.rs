//! The tools: notes about files, long results, and calls that begin while the model still answers.

use std::sync::Mutex;

use superstep_nodes::model::StreamFault;
use superstep_nodes::tool::{Concurrency, ToolEffect};
use superstep_tools::{Bash, Sandbox, Workspace};
use tokio::time::{Instant, sleep};

use super::*;
use crate::agents::AgentKind;
use crate::config::Speed;
use crate::hook::{CallAnswer, CallEvent, CallHook, HookError, Hooks};
use crate::permission::Verdict;
use crate::plan::SessionTool;

/// Returns a configuration with the tools for files in this folder.
fn with_files(model: impl ChatModel, folder: &std::path::Path) -> AssistantConfig {
    let tools = superstep_tools::workspace(Workspace::of_session());
    let bash = Bash::new(Workspace::of_session()).sandbox(Sandbox::WhereThereIsOne);
    AssistantConfig::new(model)
        .tools(tools.with(bash).unwrap())
        .permissions(allowing(["edit_file", "write_file", "bash", "print"]))
        .workspace(folder)
}

fn read(path: &str) -> ToolCall {
    ToolCall::new("c1", "read_file", json!({ "path": path }))
}

fn edit() -> ToolCall {
    ToolCall::new("c2", "edit_file", json!({ "path": "a.txt", "old": "one", "new": "two" }))
}

fn last_result(state: &AssistantState) -> (ToolStatus, String) {
    let answer = state.messages.iter().rev().find_map(|message| match message {
        Message::Tool(answer) => Some((answer.status, answer.content.to_text().into_owned())),
        _ => None,
    });
    answer.expect("a tool has answered")
}

/// A new process knows what was read: it had to read again, as the digests were in memory only.
#[tokio::test]
async fn s2_022_113_114_another_process_edits_what_this_one_read_and_not_what_changed_since() {
    for speed in [Speed::Stream, Speed::StreamTools] {
        for change in [None, Some("another one")] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a.txt"), "one").unwrap();
            let saver = MemorySaver::new();
            let process = |model: Scripted| {
                let config = with_files(model, folder.path()).speed(speed);
                assistant(config).unwrap().checkpointer(saver.clone())
            };
            let first = process(Scripted::new().then(read("a.txt")).say("Read."));
            first.thread("session").run(AssistantState::ask("Read.")).await.unwrap().finished().unwrap();
            if let Some(change) = change {
                std::fs::write(folder.path().join("a.txt"), change).unwrap();
            }
            let second = process(Scripted::new().then(edit()).say("Edited."));
            let thread = second.thread("session");
            let state = thread.run(AssistantState::ask("Edit.")).await.unwrap().finished().unwrap();
            let held = std::fs::read_to_string(folder.path().join("a.txt")).unwrap();
            match change {
                None => assert_eq!((last_result(&state).0, held.as_str()), (ToolStatus::Ok, "two")),
                Some(change) => {
                    assert!(last_result(&state).1.contains("has changed since it was read"), "{state:?}");
                    assert_eq!(held, change);
                }
            }
            assert_eq!(state.files.keys().collect::<Vec<_>>(), ["file:a.txt"]);
            // The notes are in the record of the call: the replay reads no file.
            std::fs::remove_file(folder.path().join("a.txt")).unwrap();
            thread.replay().await.unwrap().agrees().unwrap();
        }
    }
}

#[tokio::test]
async fn a_rewound_session_has_the_notes_of_its_step() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one").unwrap();
    let model = Scripted::new().then(read("a.txt")).say("Read.").then(edit()).say("Not edited.");
    let graph = assistant(with_files(model, folder.path())).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    thread.run(AssistantState::ask("Read.")).await.unwrap().finished().unwrap();
    let forget = superstep_core::reducer::MapWrite::remove(["file:a.txt".to_owned()]);
    let input = AssistantState::ask("Edit.").files(forget);
    let state = thread.run(input).await.unwrap().finished().unwrap();
    assert!(last_result(&state).1.contains("was not read yet"), "process memory decides: {state:?}");
}

/// Returns the size of the state, and the text of the file that a result names.
fn spilled(state: &AssistantState, folder: &std::path::Path) -> (usize, String) {
    let (status, text) = last_result(state);
    assert_eq!(status, ToolStatus::Ok, "{text}");
    let path = text.split(".superstep/blobs/").nth(1).expect(&text).split(".txt").next().unwrap();
    let path = folder.join(".superstep/blobs").join(format!("{path}.txt"));
    (serde_json::to_string(state).unwrap().len(), std::fs::read_to_string(path).unwrap())
}

#[tokio::test]
async fn s2_058_a_long_output_of_a_command_is_stored_beside_the_state_and_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let print = ToolCall::new("c1", "bash", json!({ "command": "seq 2000000" }));
    let model = Arc::new(Scripted::new().then(print).say("Long."));
    let graph = assistant(with_files(Arc::clone(&model), folder.path())).unwrap();
    let graph = graph.checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    let state = thread.run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    let (size, text) = spilled(&state, folder.path());
    assert!(size < 60_000, "{size}");
    assert!(text.len() > 10 << 20 && text.starts_with("1\n2\n") && text.ends_with("\n2000000\n"));

    let path = last_result(&state).1.split(" is in ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let again = ToolCall::new("c2", "read_file", json!({ "path": path, "from_line": 1_234_567, "lines": 1 }));
    let graph = assistant(with_files(Scripted::new().then(again).say("Read."), folder.path())).unwrap();
    let state = graph.run(AssistantState::ask("Read.")).await.unwrap().finished().unwrap();
    assert!(last_result(&state).1.contains("1234567\t1234567\n"), "{:?}", last_result(&state));
}

#[tokio::test]
async fn s2_058_190_a_long_result_of_any_tool_is_stored_and_its_data_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let print = TypedTool::new("print", "Prints a lot of numbers.", |_: serde_json::Value| async {
        let numbers: Vec<u32> = (0..100_000).collect();
        Ok::<_, std::convert::Infallible>(json!(numbers))
    });
    let model = Scripted::new().call("c1", "print", json!({})).say("Long.");
    let config = with_files(model, folder.path()).tools(ToolRegistry::new().with(print).unwrap());
    let limits = crate::context::ResultLimits { per_result: 5_000, ..Default::default() };
    let state = run(config.context(ContextSettings { results: limits, ..Default::default() })).await;
    let (size, text) = spilled(&state, folder.path());
    assert!(size < 10_000 && text.len() > 500_000, "{size}, {}", text.len());
    assert!(last_result(&state).1.chars().count() <= 5_000);
    assert!(state.trims.is_empty(), "no pass shortens it again");
}

#[cfg(unix)]
#[tokio::test]
async fn a_long_result_is_not_stored_behind_a_link_that_leads_out_of_the_workspace() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), folder.path().join(".superstep")).unwrap();
    let print = ToolCall::new("c1", "bash", json!({ "command": "seq 100000" }));
    let state = run(with_files(Scripted::new().then(print).say("Long."), folder.path())).await;
    let text = last_result(&state).1;
    assert!(text.starts_with("1\n2\n") && text.contains("could not be stored"), "{text}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// The time that a model takes for one piece.
const PIECE: Duration = Duration::from_millis(100);

const HOUR: Duration = Duration::from_secs(3_600);

/// A model that gives its replies in pieces, and takes its time for each. After the last reply it is silent.
struct Slow(Mutex<Vec<Vec<Result<ModelEvent, ModelError>>>>);

impl Slow {
    fn new(replies: impl IntoIterator<Item = Vec<Result<ModelEvent, ModelError>>>) -> Self {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        Self(Mutex::new(replies))
    }
}

impl ChatModel for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let pieces = self.0.lock().unwrap().pop().unwrap_or_default();
        let is_whole = pieces.iter().any(|piece| matches!(piece, Err(_) | Ok(ModelEvent::Stop { .. })));
        let slowly = |piece| async {
            sleep(PIECE).await;
            piece
        };
        let pieces = stream::iter(pieces).then(slowly);
        if is_whole { pieces.boxed() } else { pieces.chain(stream::pending()).boxed() }
    }
}

/// The two pieces of a call.
fn pieces(index: u32, tool: &str) -> Vec<Result<ModelEvent, ModelError>> {
    let start = ModelEvent::ToolCallStart { index, id: format!("c{index}"), name: tool.into() };
    vec![Ok(start), Ok(ModelEvent::ToolCallEnd { index })]
}

fn words(count: usize) -> Vec<Result<ModelEvent, ModelError>> {
    vec![Ok(ModelEvent::TextDelta { text: "word ".into() }); count]
}

fn stop_for(reason: StopReason) -> Vec<Result<ModelEvent, ModelError>> {
    vec![Ok(ModelEvent::Stop { reason })]
}

fn done() -> Vec<Result<ModelEvent, ModelError>> {
    [words(1), stop_for(StopReason::EndTurn)].concat()
}

/// The events of tools, each with the milliseconds since the start.
type Notes = Arc<Mutex<Vec<(u128, String)>>>;

/// Returns tools that take three pieces' time, or an hour: `look` and `stare` change nothing, `act` does.
fn looking(notes: &Notes) -> ToolRegistry {
    let began = Instant::now();
    let tool = |name: &'static str, effect, time| {
        let notes = Arc::clone(notes);
        let run = move |_: serde_json::Value| {
            let notes = Arc::clone(&notes);
            async move {
                notes.lock().unwrap().push((began.elapsed().as_millis(), name.to_owned()));
                sleep(time).await;
                Ok::<_, std::convert::Infallible>(format!("{name} done"))
            }
        };
        let tool = TypedTool::new(name, "Does something that takes a while.", run);
        tool.with_effect(effect).with_concurrency(Concurrency::Safe).with_timeout(2 * HOUR)
    };

    let tools = [
        tool("look", ToolEffect::ReadOnly, 3 * PIECE),
        tool("peek", ToolEffect::ReadOnly, 3 * PIECE),
        tool("stare", ToolEffect::ReadOnly, HOUR),
        tool("act", ToolEffect::Changes, 3 * PIECE),
    ];
    tools.into_iter().fold(ToolRegistry::new(), |registry, tool| registry.with(tool).unwrap())
}

fn slow(model: Slow, notes: &Notes, speed: Speed) -> AssistantConfig {
    let ask = RulePlace::new("peek".parse().unwrap(), RuleSource::User);
    let permissions = allowing(["act"]).rule(RuleKind::Ask, ask).headless();
    AssistantConfig::new(model).tools(looking(notes)).permissions(permissions).speed(speed)
}

async fn play(
    replies: Vec<Vec<Result<ModelEvent, ModelError>>>,
    speed: Speed,
) -> (AssistantState, Vec<String>) {
    let notes = Notes::default();
    let graph = assistant(slow(Slow::new(replies), &notes, speed)).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    let state = thread.run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    let made = notes.lock().unwrap().iter().map(|(at, name)| format!("{at} {name}")).collect();
    thread.replay().await.unwrap().agrees().unwrap();
    (state, made)
}

fn results(state: &AssistantState) -> Vec<String> {
    let tools = state.messages.iter().filter(|message| matches!(message, Message::Tool(_)));
    tools.map(|message| message.text().into_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn s2_018_029_calls_that_change_nothing_begin_while_the_model_still_answers() {
    let reply = || [pieces(0, "look"), pieces(1, "look"), pieces(2, "act"), words(3)].concat();
    let replies = || vec![[reply(), stop_for(StopReason::ToolUse)].concat(), done()];
    let (early, made) = play(replies(), Speed::StreamTools).await;
    assert_eq!(made, ["200 look", "400 look", "1000 act"]);
    let (late, made) = play(replies(), Speed::Stream).await;
    assert_eq!(made, ["1000 look", "1000 look", "1000 act"]);
    assert_eq!(results(&early), ["look done", "look done", "act done"]);
    assert_eq!(results(&early), results(&late));
    assert_eq!(early.decisions, late.decisions, "each call has one decision");
    assert_eq!((early.exit, roles(&early).as_str()), (Some(Exit::Completed), "hattta"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_asked_about_does_not_begin_early_and_nor_do_those_after_it() {
    let reply = [pieces(0, "look"), pieces(1, "peek"), pieces(2, "look"), stop_for(StopReason::ToolUse)];
    let (state, made) = play(vec![reply.concat(), done()], Speed::StreamTools).await;
    assert_eq!(made, ["200 look", "700 look"]);
    assert!(results(&state)[1].starts_with("Not permitted"), "{:?}", results(&state));
    let verdicts: Vec<_> = state.decisions.iter().map(|decision| decision.verdict).collect();
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Deny, Verdict::Allow]);
}

/// A hook that denies every call.
struct Refusing;

#[async_trait::async_trait]
impl CallHook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    async fn before_call(&self, _: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
        Ok(CallAnswer::Decide(Verdict::Deny, reason()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_hook_decides_on_does_not_begin_early() {
    let notes = Notes::default();
    let reply = [pieces(0, "look"), stop_for(StopReason::ToolUse)].concat();
    let config = slow(Slow::new([reply, done()]), &notes, Speed::StreamTools);
    let state = run(config.hooks(Hooks::new().before_call(Refusing))).await;
    assert!(notes.lock().unwrap().is_empty() && results(&state)[0].contains("refusing"), "{state:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_takes_its_calls_along() {
    let broken = [pieces(0, "look"), words(1), vec![Err(StreamFault::EndedEarly.into())]].concat();
    let whole = [pieces(0, "look"), stop_for(StopReason::ToolUse)].concat();
    let (state, made) = play(vec![broken, whole, done()], Speed::StreamTools).await;
    assert_eq!(made.len(), 2, "{made:?}");
    assert_eq!((results(&state), roles(&state).as_str()), (vec!["look done".to_owned()], "hata"));
}

#[tokio::test(start_paused = true)]
async fn s2_148_a_turn_that_is_stopped_while_early_calls_run_answers_all_calls() {
    // While the model still answers, and after it has.
    let silent = [pieces(0, "look"), pieces(1, "stare"), pieces(2, "act"), words(1)].concat();
    let whole = [silent.clone(), stop_for(StopReason::ToolUse)].concat();
    for (reply, exit) in [(silent, Exit::AbortedStreaming), (whole, Exit::AbortedTools)] {
        let (state, graph) = stopped(slow(Slow::new([reply]), &Notes::default(), Speed::StreamTools)).await;
        assert_eq!((state.exit, roles(&state).as_str()), (Some(exit), "hattt"));
        let results = results(&state);
        assert_eq!(results[0], "look done");
        assert!(results[1].contains("stopped") && results[2].starts_with("Not run"), "{results:?}");
        graph.thread("session").replay().await.unwrap().agrees().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn s2_203_a_reply_in_one_piece_is_shown_when_it_is_complete() {
    for (speed, expected) in [(Speed::Whole, 300), (Speed::Stream, 100), (Speed::StreamTools, 100)] {
        let reply = [words(2), stop_for(StopReason::EndTurn)].concat();
        let graph = assistant(slow(Slow::new([reply]), &Notes::default(), speed)).unwrap();
        let began = Instant::now();
        let mut events = graph.run(AssistantState::ask("Do it.")).stream();
        let mut shown = Vec::new();
        while let Some(event) = events.next().await {
            if format!("{:?}", event.kind).contains("word ") {
                shown.push(began.elapsed().as_millis());
            }
        }
        assert_eq!(shown.first(), Some(&expected), "{speed:?}");
    }
}

/// The reply is cut off behind its calls, so `authorize` never sees them. A call that had begun early would have done its
/// work.
#[tokio::test]
async fn calls_of_agents_and_of_the_session_itself_do_not_begin_while_the_model_still_speaks() {
    let finder = Arc::new(Scripted::new());
    let calls = vec![
        ToolCall::new("c1", "print", json!({})),
        ToolCall::new("c2", "todo", json!({ "items": [{ "task": "Look." }] })),
        ToolCall::new("c3", "agent", json!({ "kind": "find", "task": "Find it." })),
        ToolCall::new("c4", "ask_user", json!({ "question": "Really?" })),
    ];
    let cut =
        ModelReply { stop: StopReason::MaxTokens, ..ModelReply::new("m", "").with_calls(calls.clone()) };
    let printed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&printed);
    let print = move || {
        let count = Arc::clone(&count);
        TypedTool::new("print", "Prints. Says that it has.", move |_: serde_json::Value| {
            *count.lock().unwrap() += 1;
            async { Ok::<_, std::convert::Infallible>("printed".to_owned()) }
        })
        .with_effect(ToolEffect::ReadOnly)
    };
    for position in 0..calls.len() {
        // Each is the first of a reply, and one that may begin is in front of the others.
        let cut = ModelReply { tool_calls: calls[position..].to_vec(), ..cut.clone() };
        let model = Scripted::new().then(Turn::Reply(cut)).say("Done.");
        let config = AssistantConfig::new(model)
            .tools(ToolRegistry::new().with(print()).unwrap())
            .permissions(allowing(["print", "agent", "todo", "ask_user"]))
            .session_tools([SessionTool::Todo, SessionTool::AskUser])
            .agents([AgentKind::reader("find", "Finds it.").model(Arc::clone(&finder))])
            .speed(Speed::StreamTools);
        let state = run(config).await;
        assert_eq!((state.exit, state.todo.len()), (Some(Exit::Completed), 0), "{:?}", state.messages);
        let decided = state.decisions.len();
        assert_eq!(
            (finder.requests().len(), decided),
            (0, usize::from(position == 0)),
            "{position}: {:?}",
            state.decisions
        );
    }
    assert_eq!(*printed.lock().unwrap(), 1, "it may begin");
}
