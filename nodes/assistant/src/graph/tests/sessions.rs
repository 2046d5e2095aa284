//! Sessions in files: what another process finds, and who may run them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep_checkpoint::SqliteSaver;
use superstep_core::run::{Lease, RunError};

use super::*;
use crate::permission::{PermissionAnswer, PermissionMode, PermissionQuestion, Verdict};
use crate::{Session, SessionSummary, Transcript};

/// The tool `pay`, which counts its calls.
fn pay(paid: &Arc<AtomicUsize>) -> ToolRegistry {
    let paid = Arc::clone(paid);
    let pay = TypedTool::new("pay", "Pays a bill. Says that it is paid.", move |_: serde_json::Value| {
        paid.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, std::convert::Infallible>("paid".to_owned()) }
    });
    ToolRegistry::new().with(pay).unwrap()
}

/// Opens the file, as a process of its own does.
async fn process(file: &Path, config: AssistantConfig) -> Graph<AssistantState> {
    assistant(config).unwrap().checkpointer(SqliteSaver::open(file).await.unwrap())
}

fn unasked(model: impl ChatModel, paid: &Arc<AtomicUsize>) -> AssistantConfig {
    AssistantConfig::new(model).tools(pay(paid)).permissions(allowing(["pay"]))
}

#[tokio::test]
async fn s2_037_an_approval_asked_in_one_process_is_answered_in_another_runs_once_and_replays() {
    let (folder, paid) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let file = folder.path().join("sessions.db");
    let asking = |model| AssistantConfig::new(model).tools(pay(&paid));
    {
        let graph = process(&file, asking(Scripted::new().call("c1", "pay", json!({ "bill": 7 })))).await;
        let mut session = Session::open(&graph, "bills").await.unwrap();
        session.ask("Pay the bill.").await.unwrap().interrupted().unwrap();
    }
    assert_eq!(paid.load(Ordering::Relaxed), 0, "nothing is paid before the answer");
    {
        let graph = process(&file, asking(Scripted::new().say("It is paid."))).await;
        let (id, asked) = graph.interrupts().await.unwrap().pop().expect("the question is stored");
        let question: PermissionQuestion = asked.question().unwrap();
        assert_eq!((question.call.name.as_str(), &question.call.input), ("pay", &json!({ "bill": 7 })));
        let session = Session::open(&graph, id).await.unwrap();
        assert_eq!(session.title(), Some("Pay the bill."));
        let state = session.answer(asked.id, &PermissionAnswer::Once).await.unwrap().finished().unwrap();
        assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::Completed), "hata"));
        session.answer(asked.id, &PermissionAnswer::Once).await.expect_err("it is answered");
    }
    assert_eq!(paid.load(Ordering::Relaxed), 1);
    let graph = process(&file, asking(Scripted::new())).await;
    let replay = graph.thread("bills").replay().await.unwrap().agrees().unwrap();
    assert!(replay.supersteps >= 5 && replay.unverified.is_empty(), "{replay:?}");
    assert_eq!(paid.load(Ordering::Relaxed), 1, "a replay pays nothing");
}

#[tokio::test]
async fn s2_021_055_205_another_process_continues_a_session_where_it_was_left() {
    let (folder, paid) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let file = folder.path().join("sessions.db");
    {
        let model = Scripted::new().call("c1", "pay", json!({}));
        let graph = process(&file, unasked(model, &paid)).await;
        let mut session = Session::open(&graph, "bills").await.unwrap();
        // The process ends after the tool, before the model is asked again.
        let mut run = session.ask("Pay the bill.").stream();
        while paid.load(Ordering::Relaxed) == 0 || roles_of(&session).await != "hat" {
            run.next().await.expect("it is at work");
        }
    }
    let model = Arc::new(Scripted::new().say("It is paid.").say("Nothing else."));
    let graph = process(&file, unasked(Arc::clone(&model), &paid)).await;
    let listed = SessionSummary::list(&graph).await.unwrap();
    assert!(!listed[0].is_finished, "{listed:?}");
    let mut session = Session::open(&graph, "bills").await.unwrap();
    session.resume().await.unwrap().finished().unwrap();
    let state = session.ask("What else?").await.unwrap().finished().unwrap();
    assert_eq!((roles(&state).as_str(), paid.load(Ordering::Relaxed)), ("hataha", 1));
    assert_eq!(model.requests()[1].messages.len(), 5, "the model is shown the whole session");
}

async fn roles_of(session: &Session) -> String {
    match session.thread().head().await {
        Ok(head) => roles(head.state()),
        Err(_) => String::new(),
    }
}

#[tokio::test]
async fn s2_204_a_session_in_memory_leaves_nothing() {
    let model = || Scripted::new().say("One.");
    let graph = assistant(config(model())).unwrap();
    let state = graph.run(AssistantState::ask("first")).await.unwrap().finished().unwrap();
    assert_eq!(state.response(), "One.");
    let saver = MemorySaver::new();
    let graph = assistant(config(model())).unwrap().checkpointer(saver);
    graph.thread("session").run(AssistantState::ask("first")).await.unwrap().finished().unwrap();
    let graph = assistant(config(model())).unwrap().checkpointer(MemorySaver::new());
    assert_eq!(SessionSummary::list(&graph).await.unwrap(), [], "another process finds nothing");
}

#[tokio::test]
async fn s2_206_a_session_in_a_file_has_its_transcript_and_its_permissions() {
    let (folder, paid) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let (file, transcript) = (folder.path().join("sessions.db"), folder.path().join("bills.jsonl"));
    let asking = |model| AssistantConfig::new(model).tools(pay(&paid));
    {
        let graph = process(&file, asking(Scripted::new().call("c1", "pay", json!({})).say("Paid."))).await;
        let mut session = Session::open(&graph, "bills").await.unwrap();
        session.ask("Pay the bill.").await.unwrap().interrupted().unwrap();
        let asked = graph.interrupts().await.unwrap().pop().unwrap().1.id;
        session.answer(asked, &PermissionAnswer::Session).await.unwrap().finished().unwrap();
    }
    let model = Scripted::new().call("c2", "pay", json!({})).say("Paid again.");
    let graph = process(&file, asking(model)).await;
    let mut session = Session::open(&graph, "bills").await.unwrap();
    let state = session.ask("And the next one.").await.unwrap().finished().unwrap();
    assert_eq!(paid.load(Ordering::Relaxed), 2, "it is not asked again");
    assert_eq!((state.grants.len(), state.decisions.len()), (1, 2));
    assert!(state.decisions.iter().all(|decision| decision.verdict == Verdict::Allow));
    let saver = graph.saver().unwrap();
    Transcript::open(&transcript).unwrap().record(&**saver, session.thread().id()).await.unwrap();
    assert_eq!(Transcript::restore(&transcript).unwrap(), state);
}

#[tokio::test]
async fn a_second_process_is_told_who_runs_the_session() {
    let (folder, paid) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let file = folder.path().join("sessions.db");
    let graph = async |holder: &str| {
        let model = Scripted::new().call("c1", "pay", json!({}));
        let graph = process(&file, AssistantConfig::new(model).tools(pay(&paid))).await;
        graph.lease(Lease::new().holder(holder))
    };
    let (first, second) = (graph("terminal 1, process 4711").await, graph("terminal 2").await);
    let (mut first, mut second) =
        (Session::open(&first, "bills").await.unwrap(), Session::open(&second, "bills").await.unwrap());
    let mut run = first.ask("Pay the bill.").stream();
    run.next().await.unwrap();
    let error = second.ask("Pay it now.").await.unwrap_err();
    assert!(matches!(error, RunError::Leased { .. }), "{error}");
    assert!(error.to_string().contains("terminal 1, process 4711"), "{error}");
    run.finish().await.unwrap().interrupted().unwrap();
    let run = second.ask("Pay it now.").await.expect("a run that has ended holds nothing");
    assert_eq!(run.interrupted().unwrap().len(), 1);
}

#[tokio::test]
async fn sessions_are_listed_with_titles_states_and_questions() {
    let folder = tempfile::tempdir().unwrap();
    let saver = SqliteSaver::open(folder.path().join("sessions.db")).await.unwrap();
    let paid = Arc::default();
    let model = Scripted::new().say("One.").say("Two.").call("c1", "pay", json!({}));
    let graph = assistant(AssistantConfig::new(model).tools(pay(&paid))).unwrap().checkpointer(saver);
    for (id, messages) in [("b", vec!["Find the pear.", "And now?"]), ("a", vec!["\n Pay  it.\nNow."])] {
        let mut session = Session::open(&graph, id).await.unwrap();
        for message in messages {
            // The last one is asked about.
            let _run = session.ask(message).await.unwrap();
        }
    }
    let listed = SessionSummary::list(&graph).await.unwrap();
    let rows: Vec<_> = listed
        .iter()
        .map(|it| (it.session.as_str(), it.title.as_deref().unwrap(), it.is_finished, it.questions))
        .collect();
    assert_eq!(rows, [("a", "Pay it.", false, 1), ("b", "Find the pear.", true, 0)]);
    assert!(listed[0].updated_ms >= listed[1].updated_ms);
}

#[tokio::test]
async fn a_session_keeps_its_title_after_an_edit_and_its_mode_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    {
        let graph = process(&file, AssistantConfig::new(Scripted::new().say("Looked."))).await;
        let mut session = Session::open(&graph, "looks").await.unwrap();
        let run = session.ask_in_mode("Look around.", PermissionMode::Plan).await.unwrap();
        run.finished().unwrap();
        session.thread().edit(AssistantState::update().todo(Vec::new())).await.unwrap();
    }
    let graph = process(&file, AssistantConfig::new(Scripted::new()).mode(PermissionMode::AcceptEdits)).await;
    let session = Session::open(&graph, "looks").await.unwrap();
    assert_eq!(session.title(), Some("Look around."));
    assert_eq!(SessionSummary::list(&graph).await.unwrap()[0].title.as_deref(), Some("Look around."));
    assert_eq!(session.thread().head().await.unwrap().state().mode, PermissionMode::Plan);
}
