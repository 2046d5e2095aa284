//! Snippets of `docs/sessions.md`.

use std::error::Error;
use std::time::{Duration, SystemTime};

use superstep::nodes::assistant::inbox::{Inbox, InboxMessage};
use superstep::nodes::assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep::nodes::assistant::rewind::{self, Rewind, redo};
use superstep::nodes::assistant::snapshot::{SnapshotOptions, Snapshots};
use superstep::nodes::assistant::{
    AssistantConfig, AssistantEvent, AssistantState, CutOffAnswer, CutOffCall, Session, SessionSummary,
    Transcript, assistant,
};
use superstep::nodes::tools::{self, Workspace};
use superstep::prelude::*;

use serde_json::json;
use superstep::nodes::model::Scripted;

#[tokio::test]
async fn a_session_has_a_title_events_and_a_transcript() -> super::Result {
    let data = tempfile::tempdir()?;
    let data = data.path();
    let saver = MemorySaver::new();
    let model = Scripted::new().say("They are written.").say("They are written, too.");
    let graph = assistant(AssistantConfig::new(model))?.checkpointer(saver.clone());
    let mut session = Session::open(&graph, "0199").await?;
    session.ask("Write the notes.\nKeep them short.").await?.finished()?;
    let sessions = SessionSummary::list(&graph).await?;
    assert_eq!(sessions[0].title.as_deref(), Some("Write the notes."));

    let mut stream = graph.thread("watched").run(AssistantState::ask("Write the notes.")).stream();
    let mut text = String::new();
    while let Some(event) = stream.next().await {
        for event in AssistantEvent::of(&event) {
            if let AssistantEvent::Text { text: piece, .. } = event {
                text.push_str(&piece);
            }
        }
    }
    assert_eq!(text, "They are written, too.");

    let mut transcript = Transcript::open(data.join("session.jsonl"))?;
    transcript.record(&saver, session.thread().id()).await?;
    assert_eq!(Transcript::restore(data.join("session.jsonl"))?, *session.thread().head().await?.state());
    Ok(())
}

#[tokio::test]
async fn messages_wait_for_the_session() -> super::Result {
    let inbox = Inbox::new(MemoryStore::new());
    inbox.send(&"session".into(), InboxMessage::steer("Write them in German.")).await?;
    inbox.send(&"session".into(), InboxMessage::queue("Then translate the README.")).await?;

    let config = AssistantConfig::new(Scripted::new().say("Done.")).inbox(inbox);
    let graph = assistant(config)?.checkpointer(MemorySaver::new());
    let state = graph.thread("session").run(AssistantState::ask("Go on.")).await?.finished()?;
    assert_eq!(state.messages[0].text(), "Write them in German.");
    Ok(())
}

#[tokio::test]
async fn a_session_is_taken_back_with_its_files() -> super::Result {
    let (folder, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (folder, data) = (folder.path(), data.path());
    let model = Scripted::new()
        .say("Hello.")
        .call("c1", "write_file", json!({ "path": "notes.md", "content": "Done." }))
        .say("The notes are written.");
    let allowed = RulePlace::new("write_file".parse()?, RuleSource::User);
    let config = AssistantConfig::new(model)
        .tools(tools::workspace(Workspace::of_session()))
        .permissions(Permissions::new().rule(RuleKind::Allow, allowed));
    let options = SnapshotOptions::new(data.join("snapshots.sqlite"));
    let snapshots = Snapshots::open(folder, options)?;
    let config = config.workspace(folder).snapshots(snapshots.clone());

    let graph = assistant(config)?.checkpointer(MemorySaver::new());
    let session = graph.thread("session");
    session.run(AssistantState::ask("Hello.")).await?.finished()?;
    let first = session.head().await?;
    session.run(AssistantState::ask("Write the notes.")).await?.finished()?;
    assert!(folder.join("notes.md").exists());

    let plan = Rewind::plan(&session, first.id(), &snapshots).await?;
    for file in plan.changes() {
        println!("{} will be restored", file.path);
    }
    for file in plan.foreign() {
        println!("{} stays: another program has changed it", file.path);
    }
    plan.apply().await?;
    assert!(!folder.join("notes.md").exists());
    redo(&session, &snapshots).await?;
    assert_eq!(std::fs::read_to_string(folder.join("notes.md"))?, "Done.");
    decide(&session, &snapshots).await?;

    let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    let swept = snapshots.collect(rewind::referenced(&graph).await?, an_hour_ago).await?;
    println!("deleted {} snapshots and {} bytes of contents", swept.snapshots, swept.bytes);
    Ok(())
}

async fn decide(thread: &Thread<AssistantState>, snapshots: &Snapshots) -> Result<(), Box<dyn Error>> {
    let Status::Interrupted { interrupts } = thread.resume().await?.status else { return Ok(()) };
    for question in interrupts {
        if let Some(call) = CutOffCall::of(thread, &question, Some(snapshots)).await? {
            println!("{} was cut off; since it began, {:?} changed", call.call.name, call.changed);
            let run = thread.answer_to(question.id, &call.answer(&CutOffAnswer::RunAgain)).await?;
            println!("the session has {:?}", run.status);
        }
    }
    Ok(())
}
