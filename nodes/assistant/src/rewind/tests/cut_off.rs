//! Calls that are cut off: the question, its answers, and a rewind instead.

use superstep_core::node::EffectQuestion;
use superstep_core::run::{CancellationToken, Interrupt, Status};
use superstep_nodes::message::Message;

use super::*;
use crate::{CutOffAnswer, CutOffCall};

/// Runs a session until it hangs in a command that has written a file, and cuts it off.
async fn cut_off(desk: &Desk, session: &Thread<AssistantState>) {
    desk.will_write("before", "1");
    desk.will_call("shell", json!({ "command": "make" }));
    let stop = CancellationToken::new();
    let (reached, folder) = (stop.clone(), desk.folder());
    let run = session.run(AssistantState::ask("Do it.")).cancel_on(stop).into_future();
    let cut = async {
        while !fs::read(folder.join("half")).is_ok_and(|half| !half.is_empty()) {
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
