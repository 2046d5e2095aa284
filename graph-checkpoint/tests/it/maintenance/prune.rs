//! Data that stays after a pruning is unchanged.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use superstep_checkpoint::maintenance::{self, Retention};
use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{
    At, Checkpoint, CheckpointerExt, Commit, Committed, Kept, Loaded, Source, StoreError,
};

use super::written::{long, open};
use crate::material::*;

const PATIENCE: Duration = Duration::from_secs(300);

/// Every checkpoint of these threads that is whole, as it is loaded.
fn loaded(path: &Path, names: &[String]) -> Vec<(String, Loaded)> {
    let reader = SqliteReader::open(path).unwrap();
    let mut all = Vec::new();
    for name in names {
        let lines = reader.lineage(&thread(name)).unwrap();
        let own = lines.iter().filter(|line| line.thread == thread(name) && line.source != Source::Pruned);
        for line in own {
            let loaded = reader.load(&thread(name), &At::Id(line.id)).unwrap().unwrap();
            all.push((name.clone(), loaded));
        }
    }
    all
}

fn sound(path: &Path) {
    let verified = maintenance::verify(path).unwrap();
    assert_eq!(verified.findings, []);
}

/// Threads of one saver: each action adds a checkpoint on the head of a thread, on an older checkpoint of it, or forks.
pub(crate) async fn grow(saver: &Saver, actions: &[(u8, u8, u8)]) -> Vec<String> {
    let mut threads: Vec<(String, Vec<Checkpoint>)> = Vec::new();
    for (number, (which, back, what)) in actions.iter().enumerate() {
        let changes = match what % 6 {
            0 => vec![set(1, &number.to_string())],
            1 => vec![extend(0, &format!("[{number}]")), set(2, &long(&(number % 3).to_string()))],
            2 => vec![extend(0, &format!("[{}]", long(&(number % 4).to_string())))],
            3 => Vec::new(),
            4 => vec![set(0, &format!("[{number}]"))],
            _ => vec![extend(0, &format!("[{number}]")), extend(3, "[1]")],
        };
        if threads.is_empty() || which % 11 == 0 {
            let name = format!("t{number}");
            let first = advance(saver, &name, None, changes).await;
            threads.push((name, vec![first]));
            continue;
        }
        let index = usize::from(*which) % threads.len();
        let (name, line) = threads[index].clone();
        let from = line[usize::from(*back) % line.len()].clone();
        match back % 5 {
            0 => {
                let fork = format!("f{number}");
                saver.fork(&thread(&name), from.id, &thread(&fork)).await.unwrap();
                let next = advance(saver, &fork, Some(&from), changes).await;
                threads.push((fork, vec![from, next]));
            }
            1 => {
                let head = head(saver, &name).await.checkpoint.id;
                let branch = step(Some(&from), changes);
                let commit = Commit { expected: Some(head), ..commit_of(&name, &branch) };
                assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
                threads[index].1.push(branch);
            }
            _ => {
                let head = head(saver, &name).await.checkpoint;
                let next = advance(saver, &name, Some(&head), changes).await;
                threads[index].1.push(next);
            }
        }
    }
    threads.into_iter().map(|(name, _)| name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_stays_is_what_it_was(
        actions in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..90),
        rounds in proptest::collection::vec((0..5_usize, any::<bool>()), 1..3),
    ) {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let names = grow(&open(&path).await, &actions).await;
            let before = loaded(&path, &names);
            let tree = |name: &String| SqliteReader::open(&path).unwrap().lineage(&thread(name)).unwrap();
            let mut trees: Vec<_> = names.iter().map(tree).collect();
            for (last, only) in rounds {
                let mut retention = Retention::new().keep_last(last);
                if only {
                    retention = retention.only(thread(&names[0]));
                }
                let told = maintenance::prunable(&path, &retention).unwrap();
                let done = maintenance::prune(&path, &retention, PATIENCE).unwrap();
                assert_eq!(told.0, done);
                assert_eq!(maintenance::prune(&path, &retention, PATIENCE).unwrap(), maintenance::Pruned::default());
                sound(&path);
                let collected = maintenance::collect(&path, PATIENCE).unwrap();
                assert_eq!((told.1.bodies, told.1.bytes), (collected.bodies, collected.bytes));
                sound(&path);
                let after = loaded(&path, &names);
                assert!(after.iter().all(|held| before.contains(held)), "what stays has changed");
                let whole = before.len() as u64;
                assert!(after.len() as u64 + done.checkpoints <= whole);
                let reader = SqliteReader::open(&path).unwrap();
                for (name, earlier) in names.iter().zip(&trees) {
                    assert_eq!(reader.lineage_after(&thread(name), earlier).unwrap(), tree(name));
                }
                trees = names.iter().map(tree).collect();
            }
            // Every thread continues, and its whole past can be read.
            let saver = open(&path).await;
            for name in &names {
                let last = head(&saver, name).await;
                let next = advance(&saver, name, Some(&last.checkpoint), [extend(0, "[\"new\"]")]).await;
                assert_eq!(saver.steps(&thread(name), At::Head, 999).await.unwrap()[0].checkpoint, next);
                saver.history(&thread(name), At::Head, 999).await.unwrap();
            }
            drop(saver);
            sound(&path);
        });
    }
}

/// A thread of `count` checkpoints.
async fn line(saver: &Saver, count: usize) -> Vec<Checkpoint> {
    let mut line = vec![advance(saver, "t", None, [set(0, "[0]"), set(1, "\"first\"")]).await];
    for number in 1..count {
        let next = advance(saver, "t", line.last(), [extend(0, &format!("[{number}]"))]).await;
        line.push(next);
    }
    line
}

#[test]
fn the_past_ends_where_it_was_pruned_and_nothing_continues_from_there() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let line = line(&saver, 700).await;
        let done = maintenance::prune(&path, &Retention::new().keep_last(3), PATIENCE).unwrap();
        assert_eq!((done.checkpoints, done.threads), (697, 0));
        let steps = saver.steps(&thread("t"), At::Head, 999).await.unwrap();
        let sources: Vec<Source> = steps.iter().map(|step| step.checkpoint.source).collect();
        assert_eq!(sources, [Source::Loop, Source::Loop, Source::Loop, Source::Pruned]);
        let end = &steps[3].checkpoint;
        assert_eq!((end.id, end.parent, end.tasks.len(), end.changes.len()), (line[696].id, None, 0, 2));
        let history = saver.history(&thread("t"), At::Head, 999).await.unwrap();
        assert_eq!(history.iter().map(|line| line.source).collect::<Vec<_>>(), sources);
        // Its state can be read, but no thread can continue from it.
        let state = at(&saver, "t", end.id).await;
        assert_eq!(state.values.len(), 2);
        let refused = saver.fork(&thread("t"), end.id, &thread("u")).await.unwrap_err();
        assert!(refused.to_string().ends_with("it was pruned, and only its state is left"), "{refused}");
        let branch = Commit { expected: Some(line[699].id), ..commit_of("t", &step(Some(&line[696]), [])) };
        assert!(matches!(saver.commit(branch).await, Err(StoreError::NoCheckpoint { .. })));
        let gone = saver.read(&thread("t"), At::Id(line[5].id)).await;
        assert!(matches!(gone, Err(StoreError::NoCheckpoint { .. })), "{gone:?}");
        // Kept checkpoints can be.
        saver.fork(&thread("t"), line[697].id, &thread("u")).await.unwrap();
        let values: Vec<usize> = head(&saver, "u").await.values[0].value.decode().unwrap();
        assert_eq!(values, (0..698).collect::<Vec<_>>());
        saver.delete(&"graph".into(), &thread("t")).await.unwrap();
        assert_eq!(head(&saver, "u").await.values.len(), 2);
    });
}

/// Another program prunes while this one has versions and heads in its memory.
#[test]
fn a_running_program_continues_beside_a_pruning() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let (one, two) = (open(&path).await, open(&path).await);
        let mut last = line(&one, 300).await.pop().unwrap();
        let other = advance(&two, "u", None, [set(0, "[1]")]).await;
        let pruning = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut gone = 0;
                for _ in 0..10 {
                    gone += maintenance::prune(&path, &Retention::new().keep_last(2), PATIENCE)
                        .unwrap()
                        .checkpoints;
                }
                gone
            })
        };
        let mut number = 300;
        while !pruning.is_finished() || number < 310 {
            last = advance(&one, "t", Some(&last), [extend(0, &format!("[{number}]"))]).await;
            number += 1;
        }
        assert!(pruning.join().unwrap() >= 298);
        advance(&two, "u", Some(&other), [extend(0, "[2]")]).await;
        let values: Vec<usize> = head(&two, "t").await.values[0].value.decode().unwrap();
        assert_eq!(values, (0..number).collect::<Vec<_>>());
        sound(&path);
    });
}

#[test]
fn branches_keep_where_they_begin_and_young_ones_stay() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let line = line(&saver, 20).await;
        saver.fork(&thread("t"), line[9].id, &thread("u")).await.unwrap();
        advance(&saver, "u", Some(&line[9]), [set(1, "\"u\"")]).await;
        let everything = Retention::new().keep_last(1).keep_since(line[0].id.unix_ms());
        assert_eq!(maintenance::prune(&path, &everything, PATIENCE).unwrap().checkpoints, 0);
        assert_eq!(maintenance::prune(&path, &Retention::new(), PATIENCE).unwrap().checkpoints, 0);
        let future = Retention::new().keep_since(u64::MAX);
        assert_eq!(maintenance::prune(&path, &future, PATIENCE).unwrap().checkpoints, 18);
        let ids = |name: &str| {
            let lines = SqliteReader::open(&path).unwrap().history(&thread(name), &At::Head, 99).unwrap();
            lines.iter().map(|line| (line.id, line.source == Source::Pruned)).collect::<Vec<_>>()
        };
        let (start, before) = ((line[9].id, false), (line[8].id, true));
        assert_eq!(ids("t"), [(line[19].id, false), (line[18].id, true), start, before]);
        assert_eq!(ids("u")[1..], [start, before]);
        let again: Saver = Arc::new(SqliteSaver::open(&path).await.unwrap());
        let values: Vec<usize> = head(&again, "t").await.values[0].value.decode().unwrap();
        assert_eq!(values, (0..20).collect::<Vec<_>>());
    });
}

/// The threads of subgraphs are deleted with the checkpoints whose tasks ran them, unless a kept checkpoint continues
/// them.
#[test]
fn subgraphs_go_with_the_checkpoints_that_ran_them() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let mut line = line(&saver, 6).await;
        let below = |base: &Checkpoint| thread("t").below(base.frontier.tasks[0].id(base.id, base.step));
        let (gone, kept, own) = (below(&line[1]), below(&line[2]), below(&line[5]));
        let mut last = None;
        for name in [&gone, &kept, &own] {
            let first = advance(&saver, name.as_str(), None, [set(0, "[1]")]).await;
            let next = advance(&saver, name.as_str(), Some(&first), [extend(0, "[2]")]).await;
            if name == &kept {
                last = Some(next);
            }
        }
        let mut keeping = step(line.last(), []);
        let checkpoint = last.unwrap().id;
        keeping.frontier.kept = vec![Kept { key: "child".into(), thread: kept.clone(), checkpoint }];
        put(&saver, "t", &keeping).await;
        line.push(keeping);
        let told = maintenance::prune(&path, &Retention::new().keep_last(2), PATIENCE).unwrap();
        // Five of `t`, two of `gone`, and the first of `kept`.
        assert_eq!((told.checkpoints, told.threads), (8, 1));
        sound(&path);
        assert!(saver.read(&gone, At::Head).await.unwrap().is_none());
        for (name, ends) in [(&kept, Source::Pruned), (&own, Source::Input)] {
            let steps = saver.steps(name, At::Head, 9).await.unwrap();
            assert_eq!((steps.len(), steps[1].checkpoint.source), (2, ends));
            let loaded = saver.read(name, At::Head).await.unwrap().unwrap();
            assert_eq!(values(&loaded), [(0, "[1,2]".to_owned())]);
        }
    });
}
