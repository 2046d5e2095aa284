use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::Graph;
use superstep_nodes::compaction::ContextManager;
use superstep_nodes::message::Message;
use superstep_nodes::model::{Purpose, Scripted};
use superstep_tools::{Bash, Workspace};
use tempfile::TempDir;

use super::*;
use crate::context::{ContextWindow, ContextWindows};
use crate::exit::Exit;
use crate::hook::{CallAnswer, CallEvent, CallHook, HookError, Hooks};
use crate::permission::{Layer, PermissionAnswer, Permissions, Verdict};
use crate::{AssistantState, Domain, Speed, assistant};

const LENGTHS: [ContextProfile; 3] = [ContextProfile::Short, ContextProfile::Medium, ContextProfile::Long];
const SENSITIVITIES: [Sensitivity; 3] = [Sensitivity::Low, Sensitivity::Medium, Sensitivity::High];

/// The persistence of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    Memory,
    /// The conversation outlives the program.
    Basic,
    /// So do the files that were read, and the decisions.
    Full,
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "inside\n").unwrap();
    folder
}

fn config(model: &Arc<Scripted>, folder: &Path) -> AssistantConfig {
    AssistantConfig::new(Arc::clone(model))
        .workspace(folder)
        .domain(Domain::code(Bash::new(Workspace::of_session()), "true"))
}

async fn in_file(config: AssistantConfig, folder: &Path) -> Graph<AssistantState> {
    let options = SqliteSaver::options().durability(Durability::Process);
    let saver = options.open(folder.join("s.db")).await.unwrap();
    assistant(config).unwrap().checkpointer(saver)
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

/// Works on two messages, each in a process of its own.
async fn finishes(session: Session, set: impl Fn(&Arc<Scripted>, &Path) -> AssistantConfig, case: &str) {
    let folder = folder();
    let graph = async |model: &Arc<Scripted>| match session {
        Session::Memory => assistant(set(model, folder.path())).unwrap().checkpointer(MemorySaver::new()),
        Session::Basic | Session::Full => in_file(set(model, folder.path()), folder.path()).await,
    };
    let model = Scripted::new().call("c1", "read_file", json!({ "path": "a.txt" })).say("One.");
    let first = graph(&Arc::new(model)).await;
    let first = first.thread("session").run(AssistantState::ask("first")).await.unwrap().finished().unwrap();
    assert_eq!((first.exit, first.response().as_str()), (Some(Exit::Completed), "One."), "{case}");

    let model = Arc::new(Scripted::new().say("Two."));
    let second = graph(&model).await;
    let second =
        second.thread("session").run(AssistantState::ask("second")).await.unwrap().finished().unwrap();
    let sent = texts(&model.requests()[0].messages);
    let is_known = ["first", "One."].iter().all(|text| sent.contains(&(*text).to_owned()));
    assert_eq!(is_known, session != Session::Memory, "{case}: {sent:?}");
    if session == Session::Full {
        assert_eq!((second.decisions, &second.files), (first.decisions, &first.files), "{case}");
        assert!(!first.files.is_empty(), "{case}");
    }
}

#[tokio::test]
async fn s2_203_204_205_206_207_all_profiles_combine_and_each_combination_finishes_a_script() {
    let speeds = [Speed::Whole, Speed::Stream, Speed::StreamTools];
    let pairs = LENGTHS.into_iter().flat_map(|it| SENSITIVITIES.map(|other| (it, other)));
    for ((length, sensitivity), speed) in pairs.flat_map(|pair| speeds.map(|speed| (pair, speed))) {
        for session in [Session::Memory, Session::Basic, Session::Full] {
            let set = |model: &Arc<Scripted>, folder: &Path| {
                config(model, folder).length(length).sensitivity(sensitivity).speed(speed)
            };
            finishes(session, set, &format!("{length:?} {sensitivity:?} {speed:?} {session:?}")).await;
        }
    }
}

#[tokio::test]
async fn s2_200_work_of_low_sensitivity_reads_within_its_workspace_and_changes_nothing() {
    let folder = folder();
    let model = Arc::new(
        Scripted::new()
            .call("c1", "read_file", json!({ "path": "a.txt" }))
            .call("c2", "read_file", json!({ "path": "/etc/passwd" }))
            .call("c3", "write_file", json!({ "path": "b.txt", "content": "x" }))
            .say("Done."),
    );
    let rule = RulePlace::new("write_file".parse().unwrap(), RuleSource::User);
    let config = config(&model, folder.path()).permissions(Permissions::new().rule(RuleKind::Allow, rule));
    let graph = assistant(config.sensitivity(Sensitivity::Low)).unwrap().checkpointer(MemorySaver::new());
    let state = graph.thread("s").run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    let answers = state.messages.iter().filter(|message| matches!(message, Message::Tool(_)));
    let answers: Vec<_> = answers.map(|message| message.text().into_owned()).collect();
    assert!(
        answers[0].contains("inside") && answers[1].contains("not relative to the workspace"),
        "{answers:?}"
    );
    assert!(answers[2].contains("mode plan allows only calls that change nothing"), "{answers:?}");
    assert!(!folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn s2_201_work_of_medium_sensitivity_follows_rules_and_asks_a_person_about_the_rest() {
    let folder = folder();
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let model = Arc::new(
        Scripted::new()
            .call("c1", "write_file", write("src/a"))
            .call("c2", "write_file", write("b"))
            .say("Done."),
    );
    let rule = RulePlace::new("write_file(src/**)".parse().unwrap(), RuleSource::User);
    let config = config(&model, folder.path()).permissions(Permissions::new().rule(RuleKind::Allow, rule));
    let graph = assistant(config.sensitivity(Sensitivity::Medium)).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("s");
    let asked = thread.run(AssistantState::ask("Do it.")).await.unwrap().interrupted().unwrap();
    assert_eq!(asked.len(), 1);
    assert!(folder.path().join("src/a").exists() && !folder.path().join("b").exists());
    let state = thread.answer(&PermissionAnswer::Once).await.unwrap().finished().unwrap();
    assert!(state.exit == Some(Exit::Completed) && folder.path().join("b").exists());
}

/// A hook that denies commands with a word.
struct NoSecrets;

#[async_trait]
impl CallHook for NoSecrets {
    fn name(&self) -> &str {
        "no secrets"
    }

    async fn before_call(&self, call: &CallEvent<'_>) -> Result<CallAnswer, HookError> {
        Ok(match call.input.to_string().contains("secret") {
            true => CallAnswer::Decide(Verdict::Deny, "it names a secret".to_owned()),
            false => CallAnswer::Pass,
        })
    }
}

#[tokio::test]
async fn s2_202_work_of_high_sensitivity_passes_denies_hooks_a_classifier_and_a_person_and_runs_in_a_sandbox()
{
    let folder = folder();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "outside").unwrap();
    let commands = ["sudo ls", "cat secret", "ls", "rm -r .", &format!("cat {}", outside.path().display())];
    let bash = |command: &str| json!({ "command": command });
    let calls = commands.iter().enumerate();
    let calls =
        calls.fold(Scripted::new(), |script, (n, line)| script.call(format!("c{n}"), "bash", bash(line)));
    let model = Arc::new(calls.say("Done."));
    let verdict = |verdict: &str| format!(r#"{{ "verdict": "{verdict}", "reason": "x" }}"#);
    let classifier =
        Arc::new(Scripted::new().say(verdict("allow")).say(verdict("deny")).say(verdict("unsure")));
    let config = config(&model, folder.path())
        .small_model(Arc::clone(&classifier))
        .hooks(Hooks::new().before_call(NoSecrets))
        .sensitivity(Sensitivity::High);
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("s");
    let asked = thread.run(AssistantState::ask("Do it.")).await.unwrap().interrupted().unwrap();
    assert_eq!(asked.len(), 1, "a person is asked about that of which the classifier is unsure");
    let state = thread.answer(&PermissionAnswer::Once).await.unwrap().finished().unwrap();
    let decided: Vec<_> = state.decisions.iter().map(|it| (it.layer, it.verdict)).collect();
    use Verdict::{Allow, Deny};
    assert_eq!(
        decided[..4],
        [(Layer::Static, Deny), (Layer::Rules, Deny), (Layer::Mode, Allow), (Layer::Mode, Deny)]
    );
    assert_eq!(classifier.requests().len(), 3);
    let last = state.messages.iter().rfind(|message| matches!(message, Message::Tool(_))).unwrap();
    // Where there is no sandbox, the command is refused.
    assert!(!last.text().contains("outside\n") && !last.text().ends_with("outside"), "{}", last.text());
    assert!(folder.path().join("a.txt").exists());
}

#[tokio::test]
async fn s2_197_198_199_a_long_session_is_compacted_unless_its_profile_is_short() {
    for (length, compactions) in LENGTHS.into_iter().zip([0, 1, 1]) {
        let folder = folder();
        let model = Arc::new(Scripted::new().say("Done."));
        let small = Arc::new(Scripted::new().say("They talked."));
        let config = config(&model, folder.path())
            .small_model(Arc::clone(&small))
            .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(8_000, 500)))
            .compaction(ContextManager::new().target(1_000))
            .length(length);
        let earlier: Vec<_> = (0..50).map(|n| Message::human(format!("m{n}"), "word ".repeat(100))).collect();
        let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
        let input = AssistantState::ask("Do it.").messages(earlier);
        let state = graph.thread("s").run(input).await.unwrap().finished().unwrap();
        let summaries = small.requests().iter().filter(|it| it.purpose != Purpose::Classifier).count();
        assert_eq!((state.compactions.len(), summaries), (compactions, compactions), "{length:?}");
    }
}

/// Profiles can be stored in settings.
#[test]
fn a_sensitivity_is_read_from_its_name() {
    let names = SENSITIVITIES.map(|it| serde_json::to_value(it).unwrap());
    assert_eq!(names, ["low", "medium", "high"].map(Value::from));
}
