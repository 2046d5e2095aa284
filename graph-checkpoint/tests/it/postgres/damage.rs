//! A damaged text is an error that names its thread and checkpoint, never a value.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::sync::Arc;

use superstep_checkpoint::{CheckpointReader, PostgresReader, PostgresSaver};
use superstep_core::checkpoint::{
    AskRecord, At, Checkpoint, CheckpointerExt, Commit, Committed, Deadline, Emitted, EmittedEvent,
    StoreError,
};
use superstep_core::store::{AccessError, Namespace, Put, StoreBackend};

use super::cluster::Cluster;
use super::run;
use crate::material::*;

const COLUMNS: [(&str, &str); 12] = [
    ("checkpoint", "manifest"),
    ("change", "text"),
    ("pending", "text"),
    ("ask", "text"),
    ("ask", "fallback"),
    ("ask", "answer"),
    ("effect", "text"),
    ("effect", "outcome"),
    ("emitted", "text"),
    ("described_state", "text"),
    ("described_graph", "text"),
    ("item", "value"),
];

/// Writes something to every column with a text; returns the checkpoints of thread `t`.
async fn write(saver: &Saver) -> Vec<Checkpoint> {
    let first = advance(saver, "t", None, [set(0, "[1]"), set(1, "\"one\"")]).await;
    let second = advance(saver, "t", Some(&first), [extend(0, "[\"two\"]"), set(2, "2")]).await;
    let third = step(Some(&second), [extend(0, "[3]"), set(1, "\"two\"")]);
    let said = Emitted { dropped: 1, events: vec![EmittedEvent::Message { at_ms: 7, chunk: json("\"a\"") }] };
    let commit = Commit { emitted: vec![(0, said)], ..commit_of("t", &third) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
    let name = thread("t");
    saver.record_result(&name, third.id, result(1, "1")).await.unwrap();
    saver.fail(&name, third.id, failure(2, "no")).await.unwrap();
    let deadline = Some(Deadline { at_ms: 9_000_000_000_000, default: json("\"default\"") });
    let asks = vec![answered(ask(7), "true"), AskRecord { deadline, ..ask(2) }];
    saver.ask(&name, third.id, asks).await.unwrap();
    saver.note_effect(&name, third.id, ended(effect(3), "3")).await.unwrap();
    vec![first, second, third]
}

/// Reads everything.
fn read(reader: &PostgresReader, ids: &[Checkpoint]) -> Result<String, StoreError> {
    let name = thread("t");
    let mut all = format!("{:?}", reader.load(&name, &At::Head)?);
    for checkpoint in ids {
        all += &format!("{:?}", reader.load(&name, &At::Id(checkpoint.id))?);
    }
    all += &format!("{:?}", reader.steps(&name, &At::Head, 9)?);
    all += &format!("{:?}", reader.topology(&name, &At::Head)?);
    all += &format!("{:?}", reader.history(&name, &At::Head, 9)?);
    all += &format!("{:?} {:?}", reader.threads()?, reader.schemas()?);
    all += &reader.export(&name)?.unwrap().to_text();
    Ok(all)
}

#[test]
fn a_changed_byte_of_a_text_is_an_error_that_names_its_place() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let options = || PostgresSaver::options().schema("bytes").connections(2);
        let postgres = options().open(cluster.url("superstep")).await.unwrap();
        let saver = registered(Arc::new(postgres.clone())).await;
        let ids = write(&saver).await;
        let (store, namespace) = (postgres.store(), Namespace::new(&["a"]).unwrap());
        let put =
            Put { namespace: namespace.clone(), key: "k".into(), value: json("\"value\""), expires_ms: None };
        store.put(put, 1).await.unwrap();
        let reader = options().open_reader(cluster.url("superstep")).unwrap();
        let before = read(&reader, &ids).unwrap();
        let verified = reader.verify().unwrap();
        assert_eq!(verified.findings, []);
        let counts = verified.counts;
        assert_eq!((counts.checkpoints, counts.versions, counts.pending, counts.asks), (3, 6, 2, 2));
        assert_eq!((counts.effects, counts.emitted, counts.schemas, counts.items), (1, 1, 1, 1));
        for (table, column) in COLUMNS {
            let rows = format!("SELECT ctid FROM bytes.{table} WHERE {column} IS NOT NULL ORDER BY ctid");
            let count: usize = cluster.execute(&format!("SELECT count(*) FROM ({rows}) r")).parse().unwrap();
            assert!(count > 0, "{table}.{column}");
            cluster.execute(&format!("CREATE TABLE bytes.backup AS SELECT * FROM bytes.{table}"));
            // A byte of the checksum, and bytes of the text.
            for (row, at) in
                (0..count).flat_map(|row| ["1", "17", "18", "length(x) - 3", "length(x)"].map(|at| (row, at)))
            {
                let at = at.replace('x', column);
                let sql = format!(
                    "UPDATE bytes.{table} SET {column} = overlay({column} PLACING \
                     CASE substr({column}, {at}, 1) WHEN '1' THEN '2' ELSE '1' END FROM {at}) \
                     WHERE ctid = ({rows} OFFSET {row} LIMIT 1)"
                );
                cluster.execute(&sql);
                let place = format!("{table}.{column} row {row} at {at}");
                let findings = reader.verify().unwrap().findings;
                let found = findings.iter().find(|found| found.table == table).expect(&place);
                if table == "item" {
                    let error = store.get(&namespace, "k", 2).await.unwrap_err();
                    assert!(matches!(error, AccessError::Damaged { .. }), "{place}: {error}");
                } else {
                    let error = read(&reader, &ids).expect_err(&place);
                    assert!(matches!(error, StoreError::Corrupt { .. }), "{place}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("of thread t"), "{place}: {text}");
                    if !table.starts_with("described") {
                        let is_named = |one: &Checkpoint| text.contains(&format!("checkpoint {}", one.id));
                        assert!(ids.iter().any(is_named), "{place}: {text}");
                        assert_eq!(found.thread, Some(thread("t")), "{place}");
                        assert!(ids.iter().any(|one| Some(one.id) == found.checkpoint), "{place}");
                    }
                }
                let back = format!(
                    "DELETE FROM bytes.{table}; INSERT INTO bytes.{table} OVERRIDING SYSTEM VALUE SELECT * FROM bytes.backup"
                );
                cluster.execute(&back);
            }
            cluster.execute("DROP TABLE bytes.backup");
        }
        assert_eq!(read(&reader, &ids).unwrap(), before);
        assert_eq!(reader.verify().unwrap().findings, []);
    });
}

#[test]
fn verify_finds_rows_that_are_missing_or_misplaced() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let options = || PostgresSaver::options().schema("missing_rows").connections(2);
        let postgres = options().open(cluster.url("superstep")).await.unwrap();
        let saver = registered(Arc::new(postgres.clone())).await;
        let ids = write(&saver).await;
        let reader = options().open_reader(cluster.url("superstep")).unwrap();
        for (sql, table, problem) in [
            ("DELETE FROM @.checkpoint WHERE parent IS NULL", "checkpoint", "its parent is missing"),
            (
                "DELETE FROM @.checkpoint WHERE seq = (SELECT head FROM @.thread)",
                "thread",
                "its latest checkpoint is missing",
            ),
            (
                "DELETE FROM @.change WHERE prev IS NULL AND field = 0",
                "change",
                "the version before it is missing",
            ),
            ("DELETE FROM @.change WHERE field = 2", "checkpoint", "a version of a field is missing"),
            ("DELETE FROM @.described_state", "checkpoint", "its schema or its graph is missing"),
            (
                "UPDATE @.change SET id = gen_random_uuid() WHERE field = 2",
                "change",
                "it is of another checkpoint",
            ),
            ("UPDATE @.change SET field = 3 WHERE field = 2", "change", "its checksum does not match"),
            ("UPDATE @.checkpoint SET step = step + 1", "checkpoint", "its checksum does not match"),
            (
                "INSERT INTO @.named(thread, name, checkpoint) VALUES (1, 'n', 99)",
                "named",
                "its checkpoint is missing",
            ),
        ] {
            assert_eq!(reader.verify().unwrap().findings, [], "before {sql}");
            let tables = ["checkpoint", "change", "described_state", "named"];
            let copies =
                tables.map(|table| format!("CREATE TABLE @.copy_{table} AS SELECT * FROM @.{table};"));
            let statements = format!("{}{sql}", copies.concat()).replace('@', "missing_rows");
            cluster.execute(&statements);
            let findings = reader.verify().unwrap().findings;
            let is_found =
                findings.iter().any(|found| found.table == table && found.problem.contains(problem));
            assert!(is_found, "{sql}: {findings:?}");
            let back = tables.map(|table| {
                format!(
                    "DELETE FROM @.{table}; INSERT INTO @.{table} OVERRIDING SYSTEM VALUE SELECT * FROM @.copy_{table}; \
                     DROP TABLE @.copy_{table};"
                )
            });
            cluster.execute(&back.concat().replace('@', "missing_rows"));
        }
        assert!(read(&reader, &ids).is_ok());
    });
}
