//! How heads move: one winner, and nobody is told anything untrue.

use superstep_core::checkpoint::{At, Commit, Committed, StoreError};
use superstep_core::id::{CheckpointId, RunId};
use uuid::Uuid;

use crate::material::*;
use crate::work::ask;

#[test]
fn the_same_commit_again_is_already_there() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2.50")]).await;
        let again = saver.commit(commit_of("t", &second)).await.unwrap();
        assert!(matches!(again, Committed::Already), "{again:?}");
        // Also when the thread has moved on since.
        advance(&saver, "t", Some(&second), [set(0, "3")]).await;
        let again = saver.commit(commit_of("t", &second)).await.unwrap();
        assert!(matches!(again, Committed::Already), "{again:?}");
    });
}

#[test]
fn the_same_id_with_other_content_is_a_conflict() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        let mut other = second.clone();
        other.changes = vec![set(0, "3")];
        let committed = saver.commit(commit_of("t", &other)).await.unwrap();
        assert!(
            matches!(committed, Committed::Conflict { head } if head == Some(second.id)),
            "{committed:?}"
        );
        // A taken id is refused on another thread too, and leaves no trace there.
        let committed = saver.commit(commit_of("u", &first)).await.unwrap();
        assert!(matches!(committed, Committed::Conflict { head: None }), "{committed:?}");
        assert!(saver.load(&thread("u"), At::Head).await.unwrap().is_none());
    });
}

#[test]
fn a_driver_of_the_same_run_adopts_the_winner_of_its_superstep() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let won = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        let lost = step(Some(&first), [set(0, "9")]);
        let Committed::Adopt(adopted) = saver.commit(commit_of("t", &lost)).await.unwrap() else {
            panic!("not adopted");
        };
        assert_eq!(adopted.checkpoint, won);
        assert_eq!(values(&adopted), [(0, "2".into())]);
        // Also when the winner is several steps ahead.
        let next = advance(&saver, "t", Some(&won), [set(0, "3")]).await;
        advance(&saver, "t", Some(&next), [set(0, "4")]).await;
        let Committed::Adopt(adopted) = saver.commit(commit_of("t", &lost)).await.unwrap() else {
            panic!("not adopted");
        };
        assert_eq!(adopted.checkpoint, won);
    });
}

#[test]
fn another_run_conflicts() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let won = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        let mut lost = step(Some(&first), [set(0, "9")]);
        lost.run = RunId(Uuid::now_v7());
        for commit in [commit_of("t", &lost), commit_of("t", &step(None, []))] {
            let committed = saver.commit(commit).await.unwrap();
            assert!(
                matches!(committed, Committed::Conflict { head } if head == Some(won.id)),
                "{committed:?}"
            );
        }
        // A thread that is not there has no head to continue.
        let committed = saver.commit(commit_of("u", &lost)).await.unwrap();
        assert!(matches!(committed, Committed::Conflict { head: None }), "{committed:?}");
        assert_eq!(head(&saver, "t").await.checkpoint, won);
    });
}

#[test]
fn of_many_writers_one_wins_each_step() {
    on_every_saver(|saver| async move {
        let mut last = advance(&saver, "t", None, [set(0, "[]")]).await;
        for round in 0..10 {
            let racers: Vec<_> = (0..8)
                .map(|racer| {
                    let mut next = step(Some(&last), [extend(0, &format!("[{round}]"))]);
                    next.run = RunId(Uuid::from_u128(racer));
                    let saver = saver.clone();
                    tokio::spawn(async move {
                        let committed = saver.commit(commit_of("t", &next)).await.unwrap();
                        matches!(committed, Committed::New).then_some(next)
                    })
                })
                .collect();
            let mut winners = Vec::new();
            for racer in racers {
                winners.extend(racer.await.unwrap());
            }
            assert_eq!(winners.len(), 1);
            last = winners.remove(0);
        }
        assert_eq!(values(&head(&saver, "t").await), [(0, "[0,1,2,3,4,5,6,7,8,9]".into())]);
        assert_eq!(saver.history(&thread("t"), At::Head, 99).await.unwrap().len(), 11);
    });
}

#[test]
fn a_thread_belongs_to_one_graph() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let foreign = Commit { graph: "other".into(), ..commit_of("t", &step(Some(&first), [])) };
        let error = saver.commit(foreign).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::WrongGraph { found, expected, .. } if found == "graph" && expected == "other"),
            "{error}"
        );
        advance(&saver, "t", Some(&first), []).await;
    });
}

#[test]
fn history_is_newest_first_and_comes_in_pages() {
    on_every_saver(|saver| async move {
        let mut all = vec![advance(&saver, "t", None, []).await];
        for number in 0..5 {
            all.push(advance(&saver, "t", all.last(), []).await);
            advance(&saver, &format!("other {number}"), None, []).await;
        }
        let lines = saver.history(&thread("t"), At::Head, 99).await.unwrap();
        let ids: Vec<_> = lines.iter().map(|line| line.id).collect();
        let expected: Vec<_> = all.iter().rev().map(|checkpoint| checkpoint.id).collect();
        assert_eq!(ids, expected);
        assert!(lines.windows(2).all(|pair| pair[0].seq > pair[1].seq));
        assert!(lines.windows(2).all(|pair| pair[0].parent == Some(pair[1].id)));
        assert_eq!(lines[5].parent, None);
        assert_eq!(lines[0].created_ms, all[5].id.unix_ms());
        assert_eq!((lines[0].step, lines[0].run, lines[0].source), (4, all[5].run, all[5].source));
        assert_eq!((&*lines[0].ran, &*lines[0].next), (&["n".into()][..], &["n".into()][..]));

        let older = At::Id(lines[2].id);
        assert_eq!(saver.history(&thread("t"), older, 2).await.unwrap(), lines[2..4]);
        assert_eq!(saver.history(&thread("t"), At::Head, 0).await.unwrap(), []);
        assert_eq!(saver.history(&thread("t"), At::Head, 1).await.unwrap(), lines[..1]);
    });
}

#[test]
fn before_a_node_is_the_newest_checkpoint_where_it_is_next() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, []).await;
        let mut second = step(Some(&first), []);
        second.frontier.tasks[0].node = "m".into();
        put(&saver, "t", &second).await;
        let third = advance(&saver, "t", Some(&second), []).await;
        let name = thread("t");
        let before = |node: &str| saver.load(&name, At::Before(node.into()));
        assert_eq!(before("m").await.unwrap().unwrap().checkpoint, second);
        assert_eq!(before("n").await.unwrap().unwrap().checkpoint, third);
        let error = before("x").await.unwrap_err();
        assert_eq!(error.to_string(), "thread t has no checkpoint before node x");
    });
}

#[test]
fn a_fork_shares_the_past_and_nothing_else() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        let second = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
        saver.fork(&thread("t"), first.id, &thread("u")).await.unwrap();
        let third = advance(&saver, "t", Some(&second), [extend(0, "[3]")]).await;
        let branch = advance(&saver, "u", Some(&first), [extend(0, "[20]")]).await;
        let last = advance(&saver, "u", Some(&branch), [extend(0, "[30]")]).await;

        assert_eq!(values(&head(&saver, "t").await), [(0, "[1,2,3]".into())]);
        assert_eq!(values(&head(&saver, "u").await), [(0, "[1,20,30]".into())]);
        assert_eq!(values(&at(&saver, "u", first.id).await), [(0, "[1]".into())]);
        let lines = saver.history(&thread("u"), At::Head, 9).await.unwrap();
        let seen: Vec<_> = lines.iter().map(|line| (line.id, line.thread.as_str())).collect();
        assert_eq!(seen, [(last.id, "u"), (branch.id, "u"), (first.id, "t")]);

        let name = thread("u");
        let stranger = |id: CheckpointId| saver.load(&name, At::Id(id));
        assert!(matches!(stranger(second.id).await, Err(StoreError::NoCheckpoint { .. })));
        assert!(matches!(stranger(third.id).await, Err(StoreError::NoCheckpoint { .. })));
        let error = saver.fork(&thread("t"), first.id, &thread("u")).await.unwrap_err();
        assert!(matches!(error, StoreError::ThreadExists(_)), "{error}");
        let error = saver.fork(&thread("t"), last.id, &thread("v")).await.unwrap_err();
        assert!(matches!(error, StoreError::NoCheckpoint { .. }), "{error}");
        let error = saver.fork(&thread("none"), last.id, &thread("v")).await.unwrap_err();
        assert!(matches!(error, StoreError::NoCheckpoint { .. }), "{error}");

        // A fork of a fork, at a checkpoint of the first thread.
        saver.fork(&thread("u"), first.id, &thread("w")).await.unwrap();
        assert_eq!(head(&saver, "w").await.checkpoint, first);
    });
}

#[test]
fn a_branch_within_a_thread_leaves_the_old_one_readable() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        let second = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
        let branch = step(Some(&first), [extend(0, "[20]")]);
        let commit = Commit { expected: Some(second.id), ..commit_of("t", &branch) };
        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        advance(&saver, "t", Some(&branch), [extend(0, "[30]")]).await;
        assert_eq!(values(&head(&saver, "t").await), [(0, "[1,20,30]".into())]);
        assert_eq!(values(&at(&saver, "t", second.id).await), [(0, "[1,2]".into())]);
    });
}

#[test]
fn threads_are_listed_by_name() {
    on_every_saver(|saver| async move {
        assert!(saver.threads().await.unwrap().is_empty());
        for name in ["b", "a", "ä", "B"] {
            advance(&saver, name, None, []).await;
        }
        let threads = saver.threads().await.unwrap();
        let names: Vec<_> = threads.iter().map(|thread| thread.thread.as_str()).collect();
        assert_eq!(names, ["B", "a", "b", "ä"]);
        assert!(threads.iter().all(|thread| thread.graph == "graph" && thread.open_asks.is_empty()));
        assert_eq!(threads[1].head.thread.as_str(), "a");
    });
}

#[test]
fn what_is_unfinished_is_every_thread_of_the_graph_whose_head_leads_on() {
    on_every_saver(|saver| async move {
        for name in ["begun", "failed", "paused", "finished", "forked from"] {
            advance(&saver, name, None, []).await;
        }
        let of = async |name: &str| head(&saver, name).await.checkpoint.id;
        saver.fail(&thread("failed"), of("failed").await, failure(1, "boom")).await.unwrap();
        saver.ask(&thread("paused"), of("paused").await, vec![ask(1)]).await.unwrap();
        let mut end = step(Some(&head(&saver, "finished").await.checkpoint), []);
        end.frontier.tasks.clear();
        put(&saver, "finished", &end).await;
        // A fork shows who wrote its head; what runs below a thread is not listed.
        saver.fork(&thread("forked from"), of("forked from").await, &thread("a fork")).await.unwrap();
        advance(&saver, thread("begun").below(task(1)).as_str(), None, []).await;
        let stray = Commit { graph: "another".into(), ..commit_of("elsewhere", &step(None, [])) };
        saver.commit(stray).await.unwrap();

        let mut expected = saver.threads().await.unwrap();
        expected.retain(|thread| thread.graph == "graph" && !thread.head.next.is_empty());
        let unfinished = saver.unfinished(&"graph".into()).await.unwrap();
        assert_eq!(unfinished, expected);
        let names: Vec<&str> = unfinished.iter().map(|summary| summary.thread.as_str()).collect();
        assert_eq!(names, ["a fork", "begun", "failed", "forked from", "paused"]);
        assert_eq!(unfinished[0].head.thread, thread("forked from"));
        for summary in &unfinished {
            let held = head(&saver, summary.thread.as_str()).await;
            assert_eq!((summary.head.id, summary.head.seq), (held.checkpoint.id, held.seq));
            assert_eq!(summary.open_asks, held.asks);
        }
        assert_eq!(saver.unfinished(&"another".into()).await.unwrap().len(), 1);
    });
}
