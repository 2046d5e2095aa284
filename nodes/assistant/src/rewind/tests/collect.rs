//! Snapshots that no session refers to.

use std::time::{Duration, SystemTime};

use superstep_core::run::{CancellationToken, Status};

use super::*;

/// Deletes the snapshots that are not referenced, however young.
async fn collect(desk: &Desk) -> u64 {
    let keep = referenced(&desk.graph).await.unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    desk.snapshots.collect(keep, later).await.unwrap().snapshots
}

/// Runs the session until its command has written half of a file, then does something, and cuts the run off.
async fn cut_off_in_shell(
    desk: &Desk,
    session: &Thread<AssistantState>,
    meanwhile: impl Future<Output = ()>,
) {
    let stop = CancellationToken::new();
    let run = session.run(AssistantState::ask("Do it.")).cancel_on(stop.clone()).into_future();
    let beside = async {
        while desk.get("half").as_deref() != Some("of it") {
            tokio::task::yield_now().await;
        }
        meanwhile.await;
        stop.cancel();
    };
    let (run, ()) = tokio::join!(run, beside);
    assert_eq!(run.unwrap().status, Status::Cancelled);
}

#[tokio::test]
async fn what_a_checkpoint_refers_to_is_kept_on_every_branch_and_the_rest_is_deleted() {
    let desk = Desk::new();
    let session = desk.session("s");
    let mut steps = vec![desk.ask(&session).await.id()];
    for content in ["1", "2"] {
        desk.will_run(move |folder| fs::write(folder.join("a"), content).unwrap());
        steps.push(desk.ask(&session).await.id());
    }
    desk.snapshots.take(None, [""; 0]).await.unwrap();
    desk.put("a", "mine");
    // It is the parent of the next one, and of no session.
    let own = desk.snapshots.take(None, [""; 0]).await.unwrap().id;
    let other = desk.session("other");
    desk.will_write("b", "1");
    let first = desk.ask(&other).await;
    Rewind::plan(&session, steps[1], &desk.snapshots)
        .await
        .unwrap()
        .include_foreign(|_| true)
        .apply()
        .await
        .unwrap();
    assert!(collect(&desk).await > 0);
    let gone = desk.snapshots.take(Some(own), [""; 0]).await;
    assert!(matches!(gone, Err(SnapshotError::Unknown(_))), "{gone:?}");
    assert_eq!(collect(&desk).await, 0);

    redo(&session, &desk.snapshots).await.unwrap();
    assert_eq!(desk.get("a").as_deref(), Some("mine"));
    let plan = Rewind::plan(&session, steps[0], &desk.snapshots).await.unwrap().include_foreign(|_| true);
    plan.apply().await.unwrap();
    assert_eq!((desk.get("a"), desk.get("b").as_deref()), (None, Some("1")));
    let (_, not_covered) =
        fork(&other, first.id(), "f", &desk.snapshots, &desk.dir.path().join("f")).await.unwrap();
    assert_eq!(not_covered, []);
}

/// Only the journal has the snapshot before a first call that was cut off.
#[tokio::test]
async fn the_snapshot_before_the_first_call_of_a_session_is_kept_if_the_call_was_cut_off() {
    let desk = Desk::new();
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    desk.will_call("shell", json!({}));
    cut_off_in_shell(&desk, &session, async {}).await;
    collect(&desk).await;
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["half"]);
}

#[tokio::test]
async fn the_snapshots_of_agents_and_before_a_cut_off_call_are_kept_also_beside_a_running_session() {
    let desk = Desk::new();
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    desk.will_call("agent", json!({ "kind": "mend", "task": "Mend it." }));
    desk.will_write("a", "1");
    desk.will_call("shell", json!({}));
    cut_off_in_shell(&desk, &session, async {
        collect(&desk).await;
    })
    .await;
    collect(&desk).await;
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(named(plan.changes()), ["a", "half"]);
    plan.apply().await.unwrap();
    assert_eq!(read(&desk.folder()).len(), 0);
}
