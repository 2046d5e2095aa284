//! Deleting threads: the effect on other threads.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{
    At, Checkpoint, CheckpointerExt, Commit, Committed, EffectOutcome, EffectRecord, Loaded, Summary,
};
use superstep_core::id::ThreadId;

use crate::material::*;

async fn delete(saver: &Saver, name: &str) {
    saver.delete(&"graph".into(), &thread(name)).await.unwrap();
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// The visible data of a thread: its history, and every checkpoint of it with its values and work.
async fn shown(saver: &Saver, name: &ThreadId) -> Vec<(Summary, Loaded)> {
    let mut shown = Vec::new();
    for line in saver.history(name, At::Head, usize::MAX).await.unwrap() {
        let loaded = saver.read(name, At::Id(line.id)).await.unwrap().unwrap();
        shown.push((line, loaded));
    }
    shown
}

/// Threads that grow, branch, fork from anywhere in their pasts and are deleted: no operation changes the visible data
/// of other threads, including forks and their originals; and when all are deleted, nothing is left.
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
                    // The next step, or a branch on the same thread, from somewhere in its past.
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
