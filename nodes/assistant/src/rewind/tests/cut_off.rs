//! Calls that are cut off: the question, its answers, and a rewind instead.

use superstep_core::node::EffectQuestion;
use superstep_core::run::{CancellationToken, Interrupt, Status};
use superstep_nodes::message::Message;

use super::*;
use crate::{CutOffAnswer, CutOffCall};

/// Runs a session until it hangs in a command that has written a file, and cuts it off.
async fn cut_off(desk: &Desk, session: &Thread<AssistantState>) {
    desk.will_write("before", "1");
    hang(desk, session).await;
}

/// Runs a session until the agent that it starts hangs in a command, as [`cut_off`] does.
async fn cut_off_below(desk: &Desk, session: &Thread<AssistantState>) {
    desk.will_call("agent", json!({ "kind": "mend", "task": "Mend it." }));
    cut_off(desk, session).await;
}

async fn hang(desk: &Desk, session: &Thread<AssistantState>) {
    desk.will_call("shell", json!({ "command": "make" }));
    let stop = CancellationToken::new();
    let (reached, folder) = (stop.clone(), desk.folder());
    let run = session.run(AssistantState::ask("Do it.")).cancel_on(stop).into_future();
    let cut = async {
        while !fs::read(folder.join("half")).is_ok_and(|half| half == b"of it") {
            tokio::task::yield_now().await;
        }
        reached.cancel();
    };
    let (run, ()) = tokio::join!(run, cut);
    assert_eq!(run.unwrap().status, Status::Cancelled);
}

/// Resumes a session that was cut off; returns its question.
async fn asked(session: &Thread<AssistantState>) -> Interrupt {
    let mut asked = session.resume().await.unwrap().interrupted().unwrap();
    assert_eq!(asked.len(), 1);
    asked.remove(0)
}

#[tokio::test]
async fn a_command_that_was_cut_off_is_shown_with_the_files_that_changed_and_not_run_again() {
    for (answer, status, says) in [
        (CutOffAnswer::Happened { note: "It printed 7.".into() }, "ok", "happened. It printed 7.\n"),
        (CutOffAnswer::GiveUp, "error", "Whether it did anything is not known.\n"),
        (CutOffAnswer::RunAgain, "ok", "ran"),
    ] {
        let desk = Desk::new();
        let session = desk.session("s");
        cut_off(&desk, &session).await;
        let interrupt = asked(&session).await;
        let shown = CutOffCall::of(&session, &interrupt, Some(&desk.snapshots)).await.unwrap().unwrap();
        assert_eq!(shown.call, ToolCall::new("c", "shell", json!({ "command": "make" })));
        assert_eq!(
            (named(shown.changed.clone().unwrap().into_iter()), shown.starts),
            (vec!["half".into()], 1)
        );
        desk.works.lock().unwrap().push_back(Box::new(|folder| fs::write(folder.join("whole"), "").unwrap()));
        let run = session.answer_to(interrupt.id, shown.answer(&answer)).await.unwrap();
        let state = run.finished().unwrap();
        let told = state.messages.iter().rev().find(|message| matches!(message, Message::Tool(_))).unwrap();
        assert!(told.text().contains(says), "{}", told.text());
        assert_eq!(serde_json::to_value(told).unwrap()["status"], status);
        assert_eq!(told.text().contains("half"), answer != CutOffAnswer::RunAgain);
        assert_eq!(desk.get("whole").is_some(), answer == CutOffAnswer::RunAgain);
        assert_eq!(state.changes.len(), 2, "the change of the call is the session's");
        session.replay().await.unwrap();
    }
}

#[tokio::test]
async fn a_question_about_another_effect_is_no_call() {
    let desk = Desk::new();
    let session = desk.session("s");
    cut_off(&desk, &session).await;
    let mut interrupt = asked(&session).await;
    let mut question: EffectQuestion = interrupt.question().unwrap();
    question.effect = "charge".into();
    interrupt.question = superstep_core::state::Json::encode(&question).unwrap();
    assert_eq!(CutOffCall::of(&session, &interrupt, None).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_that_was_cut_off_in_a_command_returns_to_the_step_before_it() {
    let desk = Desk::new();
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    cut_off(&desk, &session).await;
    let cut = session.head().await.unwrap();
    let plan = Rewind::plan(&session, cut.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["half"]);
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["before", "half"]);
    plan.apply().await.unwrap();
    assert_eq!((desk.get("before"), desk.get("half")), (None, None));
    assert_eq!(session.head().await.unwrap().state().messages, first.state().messages);
    redo(&session, &desk.snapshots).await.unwrap();
    assert_eq!(desk.get("half").as_deref(), Some("of it"));
    assert_eq!(session.head().await.unwrap().state().messages, cut.state().messages);
}

#[tokio::test]
async fn a_call_of_an_agent_that_was_cut_off_is_shown_with_its_input_and_the_files_that_changed() {
    let desk = Desk::new();
    let session = desk.session("s");
    cut_off_below(&desk, &session).await;
    let interrupt = asked(&session).await;
    assert_eq!(interrupt.path.len(), 1, "an agent asks");
    let shown = CutOffCall::of(&session, &interrupt, Some(&desk.snapshots)).await.unwrap().unwrap();
    assert_eq!(shown.call, ToolCall::new("c", "shell", json!({ "command": "make" })));
    assert_eq!(named(shown.changed.clone().unwrap().into_iter()), ["half"]);
    let answer = shown.answer(&CutOffAnswer::GiveUp);
    let state = session.answer_to(interrupt.id, answer).await.unwrap().finished().unwrap();
    assert_eq!(state.changes.len(), 2, "the changes of the agent are the session's");
}

#[tokio::test]
async fn a_session_whose_agent_was_cut_off_returns_to_the_step_before_it() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.will_write("kept", "1");
    let first = desk.ask(&session).await;
    cut_off_below(&desk, &session).await;
    let cut = session.head().await.unwrap();
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(
        (named(plan.changes()), named(plan.foreign())),
        (vec!["before".into(), "half".into()], vec![])
    );
    plan.apply().await.unwrap();
    assert_eq!(read(&desk.folder()).into_keys().collect::<Vec<_>>(), ["kept"]);
    redo(&session, &desk.snapshots).await.unwrap();
    assert_eq!(desk.get("half").as_deref(), Some("of it"));
    assert_eq!(session.head().await.unwrap().state().messages, cut.state().messages);
}

/// A note says which content of a file the model knows. Nothing that a person says of a call makes an old one true.
#[tokio::test]
async fn a_file_that_a_cut_off_call_has_changed_is_to_be_read_again_though_it_happened() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.will_write("half", "own");
    desk.ask(&session).await;
    cut_off(&desk, &session).await;
    let interrupt = asked(&session).await;
    let shown = CutOffCall::of(&session, &interrupt, Some(&desk.snapshots)).await.unwrap().unwrap();
    desk.will_write("half", "own again");
    let happened = shown.answer(&CutOffAnswer::Happened { note: String::new() });
    let state = session.answer_to(interrupt.id, happened).await.unwrap().finished().unwrap();
    let told = state.messages.iter().rev().find(|message| matches!(message, Message::Tool(_))).unwrap();
    assert!(told.text().contains("has changed since it was read"), "{}", told.text());
    assert_eq!(desk.get("half").as_deref(), Some("of it"));
}
