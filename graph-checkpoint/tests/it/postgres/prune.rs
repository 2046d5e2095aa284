//! A pruning of a database leaves the same checkpoints as one of a file, with the same values.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use superstep_checkpoint::maintenance::{self, Pruned, Retention};
use superstep_checkpoint::portable::{export, import};
use superstep_checkpoint::{CheckpointReader, PostgresReader, PostgresSaver, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{
    At, Checkpoint, CheckpointerExt, Commit, Loaded, Naming, Seq, Source, StepRecord, StoreError, Summary,
};
use superstep_core::id::ThreadId;

use super::cluster::Cluster;
use super::reader::{compare, copied, file, text, threads};
use super::run;
use crate::maintenance::prune::grow;
use crate::material::*;

const PATIENCE: Duration = Duration::from_secs(60);

async fn database(cluster: &Cluster, schema: &str) -> (PostgresSaver, PostgresReader) {
    let options = || PostgresSaver::options().connections(3).schema(schema);
    let saver = options().open(cluster.url("superstep")).await.unwrap();
    (saver, options().open_reader(cluster.url("superstep")).unwrap())
}

/// Everything that can be read of a thread, without positions in the store's order.
fn seen(reader: &dyn CheckpointReader, name: &ThreadId) -> Vec<(Summary, Option<Loaded>, Vec<StepRecord>)> {
    let mut lines = reader.lineage(name).unwrap();
    lines.sort_by_key(|line| line.id);
    let lines = lines.into_iter().map(|line| {
        let line = Summary { seq: Seq(0), ..line };
        let loaded = reader.load(&line.thread, &At::Id(line.id)).unwrap();
        let steps = reader.steps(&line.thread, &At::Id(line.id), 2).unwrap();
        let steps = steps.into_iter().map(|step| StepRecord { seq: Seq(0), ..step });
        (line, loaded.map(|loaded| Loaded { seq: Seq(0), ..loaded }), steps.collect())
    });
    lines.collect()
}

/// Returns the number of changes to which nothing refers.
async fn unreferenced(cluster: &Cluster, schema: &str) -> String {
    let sql = format!(
        "WITH RECURSIVE needed(checkpoint, field) AS (
            SELECT n.* FROM (
                SELECT v.checkpoint, coalesce(c.version_fields[v.n], v.n - 1)::integer
                FROM {schema}.checkpoint c, unnest(c.versions) WITH ORDINALITY AS v(checkpoint, n)
                UNION ALL SELECT h.prev, h.prev_field FROM {schema}.change h JOIN {schema}.checkpoint c ON c.seq = h.checkpoint
                UNION ALL SELECT h.checkpoint, h.field FROM {schema}.change h JOIN {schema}.checkpoint c ON c.seq = h.checkpoint
            ) n
            UNION
            SELECT h.prev, h.prev_field FROM needed n JOIN {schema}.change h USING (checkpoint, field)
        ) SELECT count(*) FROM {schema}.change h
        WHERE NOT EXISTS (SELECT 1 FROM needed n WHERE n.checkpoint = h.checkpoint AND n.field = h.field)"
    );
    cluster.execute(&sql)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_same_policy_leaves_the_same_in_a_file_and_in_a_database(
        actions in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..70),
        rounds in proptest::collection::vec((0..5_usize, any::<bool>()), 1..3),
        begins_in_file in any::<bool>(),
        named in any::<u8>(),
    ) {
        let Some(cluster) = Cluster::shared() else { return Ok(()) };
        run(async {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let schema = format!("pruned_{}", COUNT.fetch_add(1, Ordering::Relaxed));
            let (saver, reader) = database(&cluster, &schema).await;
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let in_file = SqliteSaver::open(&path).await.unwrap();
            let first: Saver = match begins_in_file {
                true => Arc::new(in_file.clone()),
                false => Arc::new(saver.clone()),
            };
            let first = registered(first).await;
            let names: Vec<ThreadId> = grow(&first, &actions).await.iter().map(|name| thread(name)).collect();
            let line = first.history(&names[0], At::Head, 99).await.unwrap();
            let checkpoint = line[usize::from(named) % line.len()].id;
            first.name(&names[0], Naming::Give { name: "n".parse().unwrap(), checkpoint }).await.unwrap();
            let file = SqliteReader::open(&path).unwrap();
            for name in &names {
                match begins_in_file {
                    true => import(&saver, export(&file, name).unwrap().unwrap(), name).await.unwrap(),
                    false => import(&in_file, export(&reader, name).unwrap().unwrap(), name).await.unwrap(),
                }
            }
            for (last, only) in rounds {
                let mut retention = Retention::new().keep_last(last);
                if only {
                    retention = retention.only(names[0].clone());
                }
                let told = saver.prunable(&retention).await.unwrap();
                let done = saver.prune(&retention).await.unwrap();
                assert_eq!(told.0, done);
                let of_file = maintenance::prune(&path, &retention, PATIENCE).unwrap();
                assert_eq!((done.checkpoints, done.threads), (of_file.checkpoints, of_file.threads));
                assert_eq!(saver.prune(&retention).await.unwrap(), Pruned::default());
                for name in &names {
                    assert_eq!(seen(&file, name), seen(&reader, name), "{name}");
                    assert_eq!(text(&file, name), text(&reader, name), "{name}");
                }
                assert_eq!(file.first_checkpoints().unwrap(), reader.first_checkpoints().unwrap());
                assert_eq!(unreferenced(&cluster, &schema).await, "0");
                assert!(saver.collect().await.unwrap().is_empty());
            }
            // Every thread continues, and deletions leave nothing.
            let saver: Saver = Arc::new(saver);
            for name in &names {
                let last = head(&saver, name.as_str()).await;
                advance(&saver, name.as_str(), Some(&last.checkpoint), [extend(0, "[\"new\"]")]).await;
            }
            for name in &names {
                saver.delete(&GRAPH.into(), name).await.unwrap();
                assert_eq!(unreferenced(&cluster, &schema).await, "0");
            }
            let left = format!(
                "SELECT (SELECT count(*) FROM {schema}.change) + (SELECT count(*) FROM {schema}.checkpoint) \
                 + (SELECT count(*) FROM {schema}.remaining_change)"
            );
            assert_eq!(cluster.execute(&left), "0");
            cluster.execute(&format!("DROP SCHEMA {schema} CASCADE"));
        });
    }
}

#[test]
fn subgraphs_names_and_other_schemas_are_pruned_as_in_a_file() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let written = file(70).await;
        let (saver, reader) = database(&cluster, "pruned_alike").await;
        let path = written.folder.path().join("copy.db");
        copied(&written.path, &SqliteSaver::open(&path).await.unwrap(), &saver).await;
        for retention in [Retention::new().keep_last(7), Retention::new().keep_last(1)] {
            let done = saver.prune(&retention).await.unwrap();
            let of_file = maintenance::prune(&path, &retention, PATIENCE).unwrap();
            assert_eq!((done.checkpoints, done.threads), (of_file.checkpoints, of_file.threads));
            assert!(done.checkpoints > 0);
            let file = SqliteReader::open(&path).unwrap();
            for name in &threads(&file) {
                assert_eq!(seen(&file, name), seen(&reader, name), "{name}");
                assert_eq!(text(&file, name), text(&reader, name), "{name}");
            }
            compare(&file, &reader);
        }
    });
}

/// A thread of `count` checkpoints.
async fn line(saver: &Saver, count: usize) -> Vec<Checkpoint> {
    let mut line = vec![advance(saver, "t", None, [set(0, "[0]"), set(1, "\"first\"")]).await];
    for number in 1..count {
        line.push(advance(saver, "t", line.last(), [extend(0, &format!("[{number}]"))]).await);
    }
    line
}

#[test]
fn a_long_past_is_cut_in_several_transactions_and_nothing_continues_from_its_end() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (postgres, _) = database(&cluster, "long_past").await;
        let saver = registered(Arc::new(postgres.clone())).await;
        let line = line(&saver, 2_100).await;
        let done = postgres.prune(&Retention::new().keep_last(3)).await.unwrap();
        assert_eq!((done.checkpoints, done.threads), (2_097, 0));
        assert!(done.bytes > 0);
        let steps = saver.steps(&thread("t"), At::Head, 999).await.unwrap();
        let sources: Vec<Source> = steps.iter().map(|step| step.checkpoint.source).collect();
        assert_eq!(sources, [Source::Loop, Source::Loop, Source::Loop, Source::Pruned]);
        let end = &steps[3].checkpoint;
        assert_eq!((end.id, end.parent, end.tasks.len(), end.changes.len()), (line[2_096].id, None, 0, 2));
        // Its state can be read, but nothing continues from it.
        assert_eq!(at(&saver, "t", end.id).await.values.len(), 2);
        let is_refused = |refused: &StoreError| {
            matches!(refused, StoreError::NoCheckpoint { .. })
                && refused.to_string().ends_with("it was pruned, and only its state is left")
        };
        let refused = saver.fork(&thread("t"), end.id, &thread("u")).await.unwrap_err();
        assert!(is_refused(&refused), "{refused}");
        let naming = Naming::Give { name: "n".parse().unwrap(), checkpoint: end.id };
        let refused = saver.name(&thread("t"), naming).await.unwrap_err();
        assert!(is_refused(&refused), "{refused}");
        let branch =
            Commit { expected: Some(line[2_099].id), ..commit_of("t", &step(Some(&line[2_096]), [])) };
        let refused = saver.commit(branch).await.unwrap_err();
        assert!(is_refused(&refused), "{refused}");
        assert!(matches!(
            saver.read(&thread("t"), At::Id(line[5].id)).await,
            Err(StoreError::NoCheckpoint { .. })
        ));
        saver.fork(&thread("t"), line[2_097].id, &thread("u")).await.unwrap();
        let values: Vec<usize> = head(&saver, "u").await.values[0].value.decode().unwrap();
        assert_eq!(values, (0..2_098).collect::<Vec<_>>());
    });
}

#[test]
fn threads_continue_while_another_program_prunes() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (postgres, _) = database(&cluster, "beside").await;
        let (other, _) = database(&cluster, "beside").await;
        let saver = registered(Arc::new(postgres.clone())).await;
        let mut last = line(&saver, 100).await.pop().unwrap();
        let pruning = tokio::spawn(async move {
            let mut gone = 0;
            for _ in 0..30 {
                gone += other.prune(&Retention::new().keep_last(2)).await.unwrap().checkpoints;
            }
            gone
        });
        let mut number = 100;
        while !pruning.is_finished() || number < 130 {
            let branch =
                Checkpoint { source: Source::Fork, ..step(Some(&last), [extend(0, &format!("[{number}]"))]) };
            put(&saver, "t", &branch).await;
            last = branch;
            number += 1;
        }
        assert!(pruning.await.unwrap() >= 98);
        let values: Vec<usize> = head(&saver, "t").await.values[0].value.decode().unwrap();
        assert_eq!(values, (0..number).collect::<Vec<_>>());
        assert_eq!(unreferenced(&cluster, "beside").await, "0");
    });
}

#[test]
fn a_saver_with_a_retention_prunes_by_itself_after_so_many_commits() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let options = PostgresSaver::options().schema("retained").retain_every(30);
        let options =
            options.retention(Retention::new().keep_last(10)).retention_of("audit", Retention::new());
        let postgres = options.open(cluster.url("superstep")).await.unwrap();
        let saver = registered(Arc::new(postgres.clone())).await;
        line(&saver, 40).await;
        let mut last = None;
        for number in 0..20 {
            last = Some(advance(&saver, "audit", last.as_ref(), [extend(0, &format!("[{number}]"))]).await);
        }
        while postgres.retained().unwrap().passes == 0 {
            saver.threads().await.unwrap();
        }
        postgres.retain().await.unwrap();
        let retained = postgres.retained().unwrap();
        assert_eq!((retained.checkpoints, retained.failed), (30, None));
        for (name, count) in [("t", 11), ("audit", 20)] {
            assert_eq!(saver.history(&thread(name), At::Head, 99).await.unwrap().len(), count, "{name}");
        }
        saver.keep_latest(&[thread("audit")]).await.unwrap();
        assert_eq!(saver.history(&thread("audit"), At::Head, 99).await.unwrap().len(), 2);
        assert_eq!(saver.history(&thread("t"), At::Head, 99).await.unwrap().len(), 11);
        let (keeps_all, _) = database(&cluster, "retained").await;
        assert_eq!(keeps_all.retained(), None);
        assert_eq!(keeps_all.retain().await.unwrap().0, Pruned::default());
    });
}

#[test]
fn unfinished_work_that_no_reader_sees_is_collected() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (postgres, _) = database(&cluster, "collected").await;
        let saver = registered(Arc::new(postgres.clone())).await;
        let last = advance(&saver, "t", None, [set(0, "[1]")]).await;
        saver.record_result(&thread("t"), last.id, result(1, "1")).await.unwrap();
        saver.ask(&thread("t"), last.id, vec![ask(1)]).await.unwrap();
        assert!(postgres.collect().await.unwrap().is_empty());
        cluster.execute(
            "INSERT INTO collected.pending(thread, base, task, text) VALUES (99, 1, '', 'abc'); \
             INSERT INTO collected.emitted VALUES (99, 0, 'de'); \
             INSERT INTO collected.effect(thread, base, slot, text, attempt, starts, token) \
             SELECT id, head - 1, '', 'f', 1, 1, '' FROM collected.thread; \
             INSERT INTO collected.change VALUES (98, gen_random_uuid(), 0, 1, NULL, NULL, 'ghij'); \
             INSERT INTO collected.remaining_change VALUES (98, 0, 98)",
        );
        let before = head(&saver, "t").await;
        let told = postgres.prunable(&Retention::new()).await.unwrap().1;
        assert_eq!((told.work, told.remains, told.bytes), (3, 1, 10));
        assert_eq!(postgres.collect().await.unwrap(), told);
        assert!(postgres.collect().await.unwrap().is_empty());
        assert_eq!(head(&saver, "t").await, before);
    });
}
