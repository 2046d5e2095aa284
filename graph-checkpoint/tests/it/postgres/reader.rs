//! The reader of a database answers like that of a file with the same threads.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use superstep_checkpoint::portable::{Export, export, import};
use superstep_checkpoint::{
    CheckpointReader, PostgresReader, PostgresSaver, ReadOnlySaver, SqliteReader, SqliteSaver,
};
use superstep_core::checkpoint::{
    Answers, At, Checkpoint, Checkpointer, CheckpointerExt, Commit, Committed, EffectWrite, Kept, Naming,
    PastScan, Scan, StoreError, ThreadScan, Work,
};
use superstep_core::id::ThreadId;
use superstep_core::store::{Namespace, Put, StoreBackend};

use super::cluster::Cluster;
use crate::maintenance::written::{open, written_of};
use crate::material::*;
use crate::records;

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(test);
}

/// Names of another alphabet, and of a form that looks like another one.
const OTHERS: [&str; 3] = ["ünter", "t@3", "a b"];

/// A file with two threads that share a past, branches, names, all kinds of work, another schema, and subgraphs.
pub(crate) async fn file(checkpoints: i64) -> crate::maintenance::written::Written {
    let written = written_of(checkpoints).await;
    let saver = open(&written.path).await;
    let reader = SqliteReader::open(&written.path).unwrap();
    let line = reader.history(&thread("u"), &At::Head, usize::MAX).unwrap();
    // A name of `u` for what it shares with `t`, and one for its own.
    let name = |name: &str, at: usize| Naming::Give { name: name.parse().unwrap(), checkpoint: line[at].id };
    saver.name(&thread("u"), name("shared", 4)).await.unwrap();
    saver.name(&thread("u"), name("own", 0)).await.unwrap();
    // A branch of `u`, with another order of its fields.
    let mut schema = schema();
    schema.version = 2;
    schema.fields.reverse();
    let renumbered = described(schema.clone());
    saver.register(&renumbered).await.unwrap();
    let head = at(&saver, "u", line[0].id).await.checkpoint;
    let other = Checkpoint { schema: schema.fingerprint(), ..step(Some(&head), [extend(3, "[71]")]) };
    put(&saver, "u", &other).await;
    let parent = at(&saver, "u", line[2].id).await.checkpoint;
    let branch = step(Some(&parent), [set(1, "\"branch\"")]);
    let commit = Commit { expected: Some(other.id), ..commit_of("u", &branch) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
    // The thread of a subgraph whose state `w` keeps, and its past.
    let mut below = Vec::new();
    let first = advance(&saver, "w", None, [set(0, "[1]")]).await;
    let sub = thread("w").below(first.frontier.tasks[0].id(first.id, first.step));
    for number in 0..3 {
        below.push(advance(&saver, sub.as_str(), below.last(), [extend(0, &format!("[{number}]"))]).await);
    }
    let mut keeping = step(Some(&first), [extend(0, "[2]")]);
    keeping.frontier.kept = vec![Kept { key: "k".into(), thread: sub.clone(), checkpoint: below[1].id }];
    put(&saver, "w", &keeping).await;
    for (number, name) in OTHERS.iter().enumerate() {
        let last = advance(&saver, name, None, [set(2, &format!("\"{name}\""))]).await;
        saver.fail(&thread(name), last.id, failure(1, "no")).await.unwrap();
        saver.ask(&thread(name), last.id, vec![answered(ask(7), "true"), ask(number as u8)]).await.unwrap();
        saver.note_effect(&thread(name), last.id, ended(effect(3), "3")).await.unwrap();
    }
    written
}

pub(crate) fn threads(reader: &dyn CheckpointReader) -> Vec<ThreadId> {
    reader.threads().unwrap().into_iter().map(|thread| thread.thread).collect()
}

pub(crate) fn text(reader: &dyn CheckpointReader, thread: &ThreadId) -> String {
    export(reader, thread).unwrap().unwrap().to_text()
}

/// Compares what two readers return.
fn same<T: Debug>(
    one: &dyn CheckpointReader,
    other: &dyn CheckpointReader,
    read: impl Fn(&dyn CheckpointReader) -> T,
) {
    let (one, other) = (format!("{:#?}", read(one)), format!("{:#?}", read(other)));
    if one != other {
        let at = one.lines().zip(other.lines()).position(|(one, other)| one != other).unwrap_or_default();
        let near =
            |text: &str| text.lines().skip(at.saturating_sub(30)).take(60).collect::<Vec<_>>().join("\n");
        panic!("the file:\n{}\n\nthe database:\n{}", near(&one), near(&other));
    }
}

pub(crate) fn compare(file: &dyn CheckpointReader, database: &dyn CheckpointReader) {
    let missing: ThreadId = "nobody".into();
    let mut all: Vec<ThreadId> = file.sizes().unwrap().into_keys().collect();
    all.push(missing);
    assert!(all.len() > 7, "{all:?}");
    same(file, database, |reader| reader.list_threads());
    same(file, database, |reader| {
        let sizes = reader.sizes().unwrap().into_iter();
        sizes.map(|(thread, size)| (thread, size.checkpoints, size.branches)).collect::<Vec<_>>()
    });
    same(file, database, |reader| reader.first_checkpoints());
    same(file, database, |reader| reader.schemas());
    for unfinished in [false, true] {
        let scan = |after: Option<&str>, limit| {
            let after = after.map(ThreadId::from);
            Scan::Threads(ThreadScan { graph: Some(GRAPH.into()), unfinished, after, limit })
        };
        same(file, database, |reader| reader.scan(&scan(None, Some(2))));
        same(file, database, |reader| reader.scan(&scan(Some("t"), None)));
        same(file, database, |reader| reader.scan(&scan(Some("zz"), Some(0))));
    }
    same(file, database, |reader| reader.scan(&Scan::Asks { graph: GRAPH.into() }));
    same(file, database, |reader| reader.scan(&Scan::Asks { graph: "another".into() }));
    let ids: Vec<_> =
        all.iter().flat_map(|thread| file.history(thread, &At::Head, usize::MAX).unwrap()).collect();
    for thread in &all {
        same(file, database, |reader| reader.lineage(thread));
        same(file, database, |reader| reader.names(thread));
        same(file, database, |reader| reader.subgraphs(thread));
        same(file, database, |reader| export(reader, thread).map(|found| found.map(|found| found.to_text())));
        let names = ["shared", "own", "none"].map(|name| At::Named(name.parse().unwrap()));
        let befores = ["n", "other"].map(|node| At::Before(node.into()));
        let some = ids.iter().step_by(9).map(|summary| At::Id(summary.id));
        for at in [At::Head].into_iter().chain(names).chain(befores).chain(some) {
            same(file, database, |reader| reader.load(thread, &at));
            same(file, database, |reader| reader.topology(thread, &at));
            for limit in [0, 3, usize::MAX] {
                let past = || PastScan { thread: thread.clone(), from: at.clone(), limit };
                same(file, database, |reader| reader.scan(&Scan::History(past())));
                same(file, database, |reader| reader.scan(&Scan::Steps(past())));
            }
        }
    }
    for summary in ids.iter().step_by(5) {
        let id = summary.id.to_string();
        for digits in [&id[..], &id[..9], &id[28..], &id[28..32], &id[24..], "", "zz", "é", "-"] {
            same(file, database, |reader| reader.locate(digits, 5));
        }
    }
    same(file, database, |reader| reader.locate(&ids[0].id.to_string()[..8], 0));
}

/// Copies all threads of a file, those that others share first.
pub(crate) async fn copied(from: &Path, to: &SqliteSaver, database: &PostgresSaver) {
    let reader = SqliteReader::open(from).unwrap();
    for name in threads(&reader) {
        let found = export(&reader, &name).unwrap().unwrap();
        import(to, found.clone(), &name).await.unwrap();
        import(database, found, &name).await.unwrap();
    }
}

#[test]
fn a_database_is_read_like_a_file_with_the_same_threads() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let written = file(70).await;
        let url = format!("postgres://superstep@/postgres?host={}&schema=reader", cluster.folder().display());
        let database = PostgresSaver::open(&url).await.unwrap();
        let path = written.folder.path().join("copy.db");
        let copy = SqliteSaver::open(&path).await.unwrap();
        copied(&written.path, &copy, &database).await;
        let (file, database_reader) =
            (SqliteReader::open(&path).unwrap(), PostgresReader::open(&url).unwrap());
        // Calls block, although this is inside a runtime.
        compare(&file, &database_reader);

        // Both go on in the same way, and are read in the same way.
        for saver in [Arc::new(copy) as Saver, Arc::new(database)] {
            let last = head(&saver, "u").await.checkpoint;
            saver.register(&graph()).await.unwrap();
            let next =
                Checkpoint { id: id_of_time(last.id.unix_ms() + 9), ..step(Some(&last), [set(0, "[5]")]) };
            put(&saver, "u", &fixed(next)).await;
            saver.delete(&GRAPH.into(), &thread("t")).await.unwrap();
        }
        let remains = |reader: &dyn CheckpointReader| {
            let steps = reader.steps(&thread("u"), &At::Head, usize::MAX).unwrap();
            steps.into_iter().map(|step| (step.thread, step.checkpoint)).collect::<Vec<_>>()
        };
        assert_eq!(remains(&file).len(), remains(&database_reader).len());
        same(&file, &database_reader, remains);
        same(&file, &database_reader, |reader| threads(reader));
    });
}

/// Gives a checkpoint an id that does not depend on the time.
fn fixed(checkpoint: Checkpoint) -> Checkpoint {
    Checkpoint { id: superstep_core::id::CheckpointId(uuid::Uuid::from_u128(77)), ..checkpoint }
}

#[test]
fn a_thread_comes_back_from_a_database_as_the_same_document() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let written = file(40).await;
        let options = PostgresSaver::options().schema("there_and_back").connections(2);
        let database = options.open(cluster.url("superstep")).await.unwrap();
        let reader = PostgresSaver::options().schema("there_and_back");
        let reader = reader.open_reader(cluster.url("superstep")).unwrap();
        let first = SqliteReader::open(&written.path).unwrap();
        let back = written.folder.path().join("back.db");
        let back_saver = SqliteSaver::open(&back).await.unwrap();
        // The fork comes first, and so does what it shares with `t`.
        let mut names = threads(&first);
        names.reverse();
        for name in &names {
            let found = Export::parse(&text(&first, name)).unwrap();
            import(&database, found, name).await.unwrap();
        }
        for name in &names {
            assert_eq!(text(&reader, name), text(&first, name), "{name}");
            import(&back_saver, export(&reader, name).unwrap().unwrap(), name).await.unwrap();
        }
        let back = SqliteReader::open(&back).unwrap();
        for name in &names {
            assert_eq!(text(&back, name), text(&first, name), "{name}");
        }
        assert_eq!(superstep_checkpoint::maintenance::verify(back.path()).unwrap().findings, []);

        // Nothing is imported twice, and a refused import leaves nothing.
        let again = export(&first, &thread("u")).unwrap().unwrap();
        let refused = import(&database, again.clone(), &thread("u")).await;
        assert!(matches!(refused, Err(StoreError::ThreadExists(_))), "{refused:?}");
        let refused = import(&database, again, &thread("v")).await;
        assert!(matches!(refused, Err(StoreError::CheckpointExists(_))), "{refused:?}");
        assert_eq!(threads(&reader).len(), names.len());
    });
}

#[test]
fn an_import_under_another_name_renames_the_threads_of_its_subgraphs() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let written = file(40).await;
        let options = PostgresSaver::options().schema("renamed").connections(2);
        let database = options.open(cluster.url("superstep")).await.unwrap();
        let reader =
            PostgresSaver::options().schema("renamed").open_reader(cluster.url("superstep")).unwrap();
        let copy = written.folder.path().join("renamed.db");
        let saver = SqliteSaver::open(&copy).await.unwrap();
        let found = export(&SqliteReader::open(&written.path).unwrap(), &thread("w")).unwrap().unwrap();
        import(&database, found.clone(), &thread("renamed")).await.unwrap();
        import(&saver, found, &thread("renamed")).await.unwrap();
        let file = SqliteReader::open(&copy).unwrap();
        same(&file, &reader, |reader| text(reader, &thread("renamed")));
        same(&file, &reader, |reader| reader.subgraphs(&thread("renamed")).unwrap());
        assert_eq!(reader.subgraphs(&thread("renamed")).unwrap().len(), 1);
    });
}

#[test]
fn a_reader_creates_nothing_and_says_what_is_missing() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let open =
            |schema: &str| PostgresSaver::options().schema(schema).open_reader(cluster.url("superstep"));
        let refused = |schema: &str| open(schema).unwrap_err().to_string();
        let nothing = "has no checkpoints in the schema nothing: name its schema with ?schema=NAME";
        for _ in 0..2 {
            assert!(refused("nothing").contains(nothing), "{}", refused("nothing"));
        }
        let sql = |sql: &'static str| {
            let url = cluster.url("superstep");
            async move {
                let (client, connection) =
                    tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                client.batch_execute(sql).await.unwrap();
                drop(client);
                connection.await.unwrap().unwrap();
            }
        };
        sql("CREATE SCHEMA essayists; CREATE TABLE essayists.essay (id integer)").await;
        assert!(
            refused("essayists").contains("has no checkpoints in the schema essayists"),
            "{}",
            refused("essayists")
        );
        drop(PostgresSaver::options().schema("versions").open(cluster.url("superstep")).await.unwrap());
        assert!(open("versions").unwrap().threads().unwrap().is_empty());
        sql("CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA versions TO guest; \
             GRANT SELECT ON ALL TABLES IN SCHEMA versions TO guest")
        .await;
        let guest = PostgresSaver::options().schema("versions").open_reader(cluster.url("guest")).unwrap();
        assert!(guest.list_threads().unwrap().threads.is_empty() && guest.state().is_ok());
        sql("UPDATE versions.format SET version = 9").await;
        assert!(refused("versions").contains("has format 9"), "{}", refused("versions"));
        sql("UPDATE versions.format SET version = 0").await;
        assert!(refused("versions").contains("has format 0"), "{}", refused("versions"));
    });
}

/// Sends every request that writes, and returns the errors without the place.
async fn refusals(saver: &ReadOnlySaver, place: &str) -> Vec<String> {
    let (t, head) = (thread("t"), saver.read(&thread("t"), At::Head).await.unwrap().unwrap().checkpoint);
    let naming = Naming::Give { name: "n".parse().unwrap(), checkpoint: head.id };
    let namespace = Namespace::new(&["n"]).unwrap();
    let put = Put { namespace: namespace.clone(), key: "k".into(), value: json("1"), expires_ms: None };
    let given = Answers::Given { thread: t.clone(), answers: Vec::new() };
    let stored = [
        saver.register(&graph()).await.unwrap_err(),
        saver.commit(commit_of("t", &step(Some(&head), []))).await.unwrap_err(),
        saver.record(&t, head.id, Work::Finished(result(1, "1"))).await.unwrap_err(),
        saver.effect(&t, head.id, EffectWrite::Begin(effect(1))).await.unwrap_err(),
        saver.answer(given).await.unwrap_err(),
        saver.name(&t, naming).await.unwrap_err(),
        saver.fork(&t, head.id, &thread("v")).await.unwrap_err(),
        Checkpointer::delete(saver, &GRAPH.into(), &t).await.unwrap_err(),
    ];
    let items = [
        saver.put(put, 0).await.unwrap_err(),
        StoreBackend::delete(saver, &namespace, "k", 0).await.unwrap_err(),
        StoreBackend::sweep(saver, 0).await.unwrap_err(),
    ];
    let stored = stored.iter().map(ToString::to_string).chain(items.iter().map(ToString::to_string));
    let rows = records::refusals(&*saver.records().unwrap(), "t").await;
    stored.chain(rows).map(|text| text.replace(place, "the place")).collect()
}

#[test]
fn what_is_opened_for_reading_refuses_every_write_and_tells_its_graphs() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let options = || PostgresSaver::options().schema("read_only");
        let file = SqliteSaver::open(&path).await.unwrap();
        let database = options().open(cluster.url("superstep")).await.unwrap();
        for saver in [Arc::new(file) as Saver, Arc::new(database)] {
            let saver = registered(saver).await;
            advance(&saver, "t", None, [set(0, "[1]")]).await;
            records::fill(&*saver.records().unwrap(), "t").await;
        }
        // The user may write.
        let file = ReadOnlySaver::open(&path).await.unwrap();
        let database = options().open_read_only(cluster.url("superstep")).await.unwrap();
        let refused = refusals(&database, "the schema \"read_only\"").await;
        assert_eq!(refused, refusals(&file, path.to_str().unwrap()).await);
        let text = "the place was opened for reading only: open it with a `SqliteSaver` or a `PostgresSaver` to write to it";
        assert!(refused.iter().all(|error| error.ends_with(text)), "{refused:#?}");
        assert_eq!(database.graphs().await.unwrap(), file.graphs().await.unwrap());

        // A graph whose description is damaged is left out, if no older one can be read.
        cluster.execute("UPDATE read_only.described_graph SET text = text || ' '");
        assert_eq!(database.graphs().await.unwrap(), []);
        let missing =
            PostgresSaver::options().schema("read_nothing").open_read_only(cluster.url("superstep")).await;
        let missing = missing.unwrap_err().to_string();
        assert!(missing.contains("has no checkpoints in the schema read_nothing"), "{missing}");
    });
}

#[test]
fn a_damaged_thread_is_listed_apart() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let options = PostgresSaver::options().schema("damaged");
        let saver: Saver = Arc::new(options.open(cluster.url("superstep")).await.unwrap());
        let saver = registered(saver).await;
        for name in ["a", "b", "c"] {
            advance(&saver, name, None, [set(0, "[1]")]).await;
        }
        let (client, connection) =
            tokio_postgres::connect(&cluster.url("superstep"), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute(
                "UPDATE damaged.checkpoint SET manifest = '{' WHERE seq = (SELECT head FROM damaged.thread WHERE name = 'b'); \
                 UPDATE damaged.thread SET head = 99 WHERE name = 'c'",
            )
            .await
            .unwrap();
        let reader =
            PostgresSaver::options().schema("damaged").open_reader(cluster.url("superstep")).unwrap();
        let list = reader.list_threads().unwrap();
        let names: Vec<_> = list.threads.iter().map(|thread| thread.thread.as_str()).collect();
        let damaged: Vec<_> =
            list.damaged.iter().map(|(name, error)| (name.as_ref().unwrap().as_str(), error)).collect();
        assert_eq!(names, ["a"]);
        assert!(
            matches!(damaged[..], [("b", StoreError::Corrupt { .. }), ("c", StoreError::Corrupt { .. })]),
            "{damaged:?}"
        );
    });
}

#[test]
fn the_state_changes_with_every_kind_of_write_and_not_without_one() {
    let Some(cluster) = Cluster::own() else { return };
    run(async {
        let options = PostgresSaver::options().schema("state");
        let saver: Saver = Arc::new(options.open(cluster.url("superstep")).await.unwrap());
        let saver = registered(saver).await;
        let reader = PostgresSaver::options().schema("state").open_reader(cluster.url("superstep")).unwrap();
        let mut before = reader.state().unwrap();
        let mut changed = |what: &str| {
            let now = reader.state().unwrap();
            assert_ne!(now, before, "{what}");
            before = now;
        };
        let last = advance(&saver, "t", None, [set(0, "[1]")]).await;
        changed("a commit");
        saver.record_result(&thread("t"), last.id, result(1, "1")).await.unwrap();
        changed("a result");
        saver.ask(&thread("t"), last.id, vec![ask(1)]).await.unwrap();
        changed("a question");
        let naming = Naming::Give { name: "n".parse().unwrap(), checkpoint: last.id };
        saver.name(&thread("t"), naming).await.unwrap();
        changed("a name");
        saver.delete(&GRAPH.into(), &thread("t")).await.unwrap();
        changed("a deletion");
        let before = reader.state().unwrap();
        reader.threads().unwrap();
        assert_eq!(reader.state().unwrap(), before, "reading");
    });
}
