//! Sessions that are taken back with the files of agents that work beside them.

use super::*;

impl Desk {
    /// Lets the session start a writer in the background. Its work is the next that the desk is given.
    async fn starts_writer(&self, session: &Thread<AssistantState>) -> Past<AssistantState> {
        self.will_call("agent", json!({ "kind": "mend", "task": "Mend it.", "background": true }));
        self.ask(session).await
    }

    /// Runs the writers of a session until they have ended.
    async fn runs_writers(&self, session: &Thread<AssistantState>) {
        let state = session.head().await.unwrap().into_state();
        for agent in &state.background {
            self.background.run(session.id(), &state, agent).await.unwrap().finished().unwrap();
        }
    }
}

#[tokio::test]
async fn the_changes_of_an_agent_in_the_background_are_those_of_its_session() {
    let desk = Desk::new();
    desk.put("a", "0");
    desk.put("other", "0");
    let session = desk.session("s");
    desk.will_write("own", "1");
    let first = desk.ask(&session).await;
    desk.starts_writer(&session).await;
    desk.will_run(|folder| fs::write(folder.join("a"), "1").unwrap());
    desk.will_write("b", "1");
    desk.runs_writers(&session).await;
    // A file of the agent is also the session's, and one that another program changes.
    desk.put("other", "1");
    desk.will_run(|folder| fs::write(folder.join("a"), "2").unwrap());
    let second = desk.ask(&session).await;
    assert_eq!(second.state().background, [], "its end has arrived");
    desk.put("b", "mine");

    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(
        (named(plan.changes()), named(plan.foreign())),
        (vec!["a".into()], vec!["b".into()]),
        "the last change of `b` is that of another program, and `other` is none of theirs"
    );
    desk.put("b", "1");
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["a", "b"]);
    plan.apply().await.unwrap();
    assert_eq!((desk.get("a").as_deref(), desk.get("b")), (Some("0"), None));
    assert_eq!((desk.get("own").as_deref(), desk.get("other").as_deref()), (Some("1"), Some("1")));
    redo(&session, &desk.snapshots).await.unwrap();
    assert_eq!((desk.get("a").as_deref(), desk.get("b").as_deref()), (Some("2"), Some("1")));
}

#[tokio::test]
async fn a_session_that_changes_nothing_itself_is_taken_back_with_the_files_of_its_agents() {
    let desk = Desk::new();
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    for _ in 0..2 {
        desk.starts_writer(&session).await;
    }
    let state = session.head().await.unwrap().into_state();
    for (agent, file) in state.background.iter().zip(["1", "2"]) {
        desk.will_write(file, "made");
        desk.background.run(session.id(), &state, agent).await.unwrap().finished().unwrap();
    }
    // The ends of the agents have not arrived: their threads are asked.
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["1", "2"]);
    let arrived = desk.ask(&session).await;
    assert_eq!((arrived.state().snapshot, arrived.state().changes.len()), (None, 2));
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["1", "2"]);
    plan.apply().await.unwrap();
    assert_eq!(read(&desk.folder()).len(), 0);
}

#[tokio::test]
async fn a_step_behind_the_work_of_an_agent_keeps_it() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.starts_writer(&session).await;
    desk.will_write("agents", "1");
    desk.runs_writers(&session).await;
    desk.will_write("own", "1");
    let second = desk.ask(&session).await;
    desk.will_write("own", "2");
    desk.ask(&session).await;
    let plan = Rewind::plan(&session, second.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["own"]);
    plan.apply().await.unwrap();
    assert_eq!((desk.get("agents").as_deref(), desk.get("own").as_deref()), (Some("1"), Some("1")));
}
