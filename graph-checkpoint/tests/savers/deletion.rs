//! Deleting threads: what goes, and what others still see.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{
    At, Checkpoint, Commit, Committed, EffectOutcome, EffectRecord, Kept, Loaded, StoreError, Summary,
};
use superstep_core::id::ThreadId;

use crate::material::*;
use crate::work::{ask, effect};

async fn delete(saver: &Saver, name: &str) {
    saver.delete(&"graph".into(), &thread(name)).await.unwrap();
}

async fn exists(saver: &Saver, name: &str) -> bool {
    saver.load(&thread(name), At::Head).await.unwrap().is_some()
}

async fn names(saver: &Saver) -> Vec<String> {
    let threads = saver.threads().await.unwrap();
    threads.iter().map(|thread| thread.thread.to_string()).collect()
}

async fn length(saver: &Saver, name: &str) -> usize {
    saver.history(&thread(name), At::Head, 99).await.unwrap().len()
}

#[test]
fn a_deleted_thread_leaves_nothing_and_its_name_is_free() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        saver.record(&thread("t"), second.id, result(1, "1")).await.unwrap();
        saver.ask(&thread("t"), second.id, vec![ask(1)]).await.unwrap();
        let below = thread("t").below(task(1));
        advance(&saver, below.as_str(), None, [set(0, "3")]).await;
        advance(&saver, below.below(task(2)).as_str(), None, []).await;
        let other = advance(&saver, "tt", None, [set(0, "4")]).await;

        delete(&saver, "t").await;
        for gone in ["t", below.as_str(), below.below(task(2)).as_str()] {
            assert!(!exists(&saver, gone).await, "{gone}");
        }
        assert_eq!(length(&saver, "t").await, 0);
        assert_eq!(names(&saver).await, ["tt"]);
        assert_eq!(saver.open_asks(&"graph".into()).await.unwrap(), []);
        assert_eq!(head(&saver, "tt").await.checkpoint, other);
        // Again, and a thread that never was.
        delete(&saver, "t").await;
        delete(&saver, "none").await;
        // The name, and the ids, are as good as new.
        put(&saver, "t", &first).await;
        let loaded = head(&saver, "t").await;
        assert_eq!((&loaded.checkpoint, loaded.results.len(), loaded.asks.len()), (&first, 0, 0));
        assert_eq!(length(&saver, "t").await, 1);
    });
}

#[test]
fn a_thread_of_another_graph_is_not_deleted() {
    on_every_saver(|saver| async move {
        advance(&saver, "t", None, []).await;
        let refused = saver.delete(&"other".into(), &thread("t")).await.unwrap_err();
        assert_eq!(refused.to_string(), "thread t belongs to graph graph, not to other");
        assert!(exists(&saver, "t").await);
    });
}

#[test]
fn what_a_fork_shares_stays_with_its_journal_until_the_fork_goes() {
    on_every_saver(|saver| async move {
        let name = thread("t");
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        saver.begin_effect(&name, first.id, effect(1)).await.unwrap();
        saver.end_effect(&name, first.id, &effect(1).id, EffectOutcome::Ok(json("5"))).await.unwrap();
        let second = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
        let third = advance(&saver, "t", Some(&second), [extend(0, "[3]")]).await;
        saver.ask(&name, third.id, vec![ask(1)]).await.unwrap();
        saver.fork(&name, second.id, &thread("u")).await.unwrap();
        let branch = advance(&saver, "u", Some(&second), [extend(0, "[20]")]).await;
        saver.fork(&thread("u"), first.id, &thread("v")).await.unwrap();
        let seen = at(&saver, "u", first.id).await;
        assert_eq!(seen.effects.len(), 1);

        delete(&saver, "t").await;
        assert_eq!(names(&saver).await, ["u", "v"]);
        assert_eq!(values(&head(&saver, "u").await), [(0, "[1,2,20]".into())]);
        assert_eq!(values(&head(&saver, "v").await), [(0, "[1]".into())]);
        assert_eq!(at(&saver, "u", first.id).await, seen);
        let lines = saver.history(&thread("u"), At::Head, 9).await.unwrap();
        let lines: Vec<_> = lines.iter().map(|line| (line.id, line.thread.as_str())).collect();
        assert_eq!(lines, [(branch.id, "u"), (second.id, "t"), (first.id, "t")]);
        let gone = saver.load(&thread("u"), At::Id(third.id)).await.unwrap_err();
        assert!(matches!(gone, StoreError::NoCheckpoint { .. }), "{gone}");

        // A new thread of that name has nothing to do with it.
        let anew = advance(&saver, "t", None, [set(0, "[9]")]).await;
        let stranger = saver.load(&name, At::Id(first.id)).await.unwrap_err();
        assert!(matches!(stranger, StoreError::NoCheckpoint { .. }), "{stranger}");
        delete(&saver, "t").await;
        delete(&saver, "u").await;
        assert_eq!(values(&head(&saver, "v").await), [(0, "[1]".into())]);
        assert!(saver.load(&thread("v"), At::Id(second.id)).await.is_err());
        delete(&saver, "v").await;
        assert_eq!(names(&saver).await, [] as [&str; 0]);
        // Nothing is left: the ids can be taken again.
        for past in [&first, &anew] {
            put(&saver, &past.id.to_string(), past).await;
        }
    });
}

#[test]
fn a_fork_of_an_old_branch_keeps_that_branch_only() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        let old = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
        let branch = step(Some(&first), [extend(0, "[3]")]);
        let commit = Commit { expected: Some(old.id), ..commit_of("t", &branch) };
        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        saver.fork(&thread("t"), old.id, &thread("u")).await.unwrap();
        delete(&saver, "t").await;
        assert_eq!(values(&head(&saver, "u").await), [(0, "[1,2]".into())]);
        put(&saver, "w", &Checkpoint { parent: None, ..branch }).await;
    });
}

#[test]
fn a_kept_subgraph_stays_for_those_who_go_on_with_it() {
    on_every_saver(|saver| async move {
        let begun = advance(&saver, "t", None, []).await;
        let below = thread("t").below(task(1));
        let inner = advance(&saver, below.as_str(), None, [set(0, "[7]")]).await;
        let side = advance(&saver, thread("t").below(task(2)).as_str(), None, []).await;
        let mut first = step(Some(&begun), [set(0, "[1]")]);
        first.frontier.kept = vec![Kept { key: "k".into(), thread: below.clone(), checkpoint: inner.id }];
        put(&saver, "t", &first).await;
        saver.fork(&thread("t"), first.id, &thread("u")).await.unwrap();

        delete(&saver, "t").await;
        put(&saver, "x", &side).await;
        let goes_on = thread("u").below(task(3));
        saver.fork(&below, inner.id, &goes_on).await.unwrap();
        advance(&saver, goes_on.as_str(), Some(&inner), [extend(0, "[8]")]).await;
        assert_eq!(values(&head(&saver, goes_on.as_str()).await), [(0, "[7,8]".into())]);

        delete(&saver, "u").await;
        assert!(!exists(&saver, below.as_str()).await && !exists(&saver, goes_on.as_str()).await);
        assert_eq!(names(&saver).await, ["x"]);
    });
}

#[test]
fn a_run_on_a_deleted_thread_stores_nothing_more() {
    on_every_saver(|saver| async move {
        let name = thread("t");
        let first = advance(&saver, "t", None, []).await;
        saver.record(&name, first.id, result(1, "1")).await.unwrap();
        delete(&saver, "t").await;
        assert_eq!(saver.record(&name, first.id, result(2, "2")).await.unwrap(), result(2, "2"));
        saver.fail(&name, first.id, failure(3, "boom")).await.unwrap();
        for late in [
            saver.ask(&name, first.id, vec![ask(1)]).await,
            saver.begin_effect(&name, first.id, effect(1)).await.map(drop),
        ] {
            assert!(matches!(late, Err(StoreError::Superseded { .. })), "{late:?}");
        }
        let below = name.below(task(1));
        for lost in [commit_of("t", &step(Some(&first), [])), commit_of(below.as_str(), &step(None, []))] {
            let lost = saver.commit(lost).await.unwrap();
            assert!(matches!(lost, Committed::Conflict { head: None }), "{lost:?}");
        }
        let other = advance(&saver, "other", None, []).await;
        let lost = saver.fork(&thread("other"), other.id, &below).await;
        assert!(matches!(lost, Err(StoreError::Superseded { .. })), "{lost:?}");
        saver.flush(&name).await.unwrap();
        assert!(!exists(&saver, "t").await && !exists(&saver, below.as_str()).await);
    });
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// All that a thread shows: its history, and every checkpoint of it with its values and work.
async fn shown(saver: &Saver, name: &ThreadId) -> Vec<(Summary, Loaded)> {
    let mut shown = Vec::new();
    for line in saver.history(name, At::Head, usize::MAX).await.unwrap() {
        let loaded = saver.load(name, At::Id(line.id)).await.unwrap().unwrap();
        shown.push((line, loaded));
    }
    shown
}

/// Threads that grow, branch, fork from anywhere in their pasts and are deleted: whatever one does, the others show what
/// they showed, a fork's trunk and a trunk's forks among them; and when all are gone, so is everything.
#[test]
fn whatever_becomes_of_a_thread_the_others_show_what_they_showed() {
    on_every_saver(|saver| async move {
        for seed in 0..2 {
            let mut dice = Dice(seed);
            let mut heads: BTreeMap<ThreadId, Checkpoint> = BTreeMap::new();
            let mut written = Vec::new();
            for turn in 0..80 {
                let names: Vec<ThreadId> = heads.keys().cloned().collect();
                let name = match names.len() {
                    0 => thread(&format!("t{seed}")),
                    len => names[dice.roll(len)].clone(),
                };
                let past = shown(&saver, &name).await;
                let mut before = Vec::new();
                for other in names.iter().filter(|other| **other != name) {
                    before.push((other, shown(&saver, other).await));
                }
                match dice.roll(10) {
                    // A step on, or, from somewhere in the past, a branch on the same thread.
                    0..6 => {
                        let parent = match (past.len(), dice.roll(4)) {
                            (0, _) => None,
                            (len, 0) => Some(past[dice.roll(len)].1.checkpoint.clone()),
                            _ => Some(past[0].1.checkpoint.clone()),
                        };
                        let long = "x".repeat(if dice.roll(5) == 0 { 4096 } else { 1 });
                        let next = step(parent.as_ref(), [extend(0, &format!("[\"{turn}{long}\"]"))]);
                        let expected = heads.get(&name).map(|head| head.id);
                        let commit = Commit { expected, ..commit_of(name.as_str(), &next) };
                        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
                        if dice.roll(2) == 0 {
                            let noted = saver.note_effect(
                                &name,
                                next.id,
                                EffectRecord { outcome: Some(EffectOutcome::Ok(json("1"))), ..effect(1) },
                            );
                            noted.await.unwrap();
                        }
                        written.push(next.clone());
                        heads.insert(name, next);
                    }
                    6..8 if !past.is_empty() => {
                        let at = past[dice.roll(past.len())].1.checkpoint.clone();
                        let fork = thread(&format!("f{seed} {turn}"));
                        saver.fork(&name, at.id, &fork).await.unwrap();
                        heads.insert(fork, at);
                        assert_eq!(shown(&saver, &name).await, past, "{name} in {seed} at {turn}");
                    }
                    _ => {
                        delete(&saver, name.as_str()).await;
                        heads.remove(&name);
                    }
                }
                for (other, before) in before {
                    assert_eq!(shown(&saver, other).await, before, "{other} in {seed} at {turn}");
                }
            }
            for name in heads.keys() {
                delete(&saver, name.as_str()).await;
            }
            for gone in written {
                let alone = Checkpoint { parent: None, ..gone };
                put(&saver, &format!("{seed} {}", alone.id), &alone).await;
            }
        }
    });
}
