//! Encrypted schemas: they contain no text of a state, and refuse moved texts, wrong keys and programs without keys.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::maintenance::Form;
use superstep_checkpoint::portable::export;
use superstep_checkpoint::{CheckpointReader, Key, KeyRing, PostgresOptions, PostgresReader, PostgresSaver};
use superstep_core::checkpoint::{
    Acquired, At, Checkpointer, CheckpointerExt, Claim, Commit, Committed, KeyProblem, Recorded, StoreError,
};
use superstep_core::records::{Order, ThreadQuery};
use superstep_core::store::{Namespace, Put, StoreBackend};

use super::cluster::Cluster;
use super::run;
use crate::material::*;
use crate::records::{self, CANARY as ROW_CANARY};
use crate::sqlite::encrypted::{CANARY, both_keys, fill, first_key, second_key};

/// All columns with encrypted texts that `fill` writes.
const COLUMNS: [(&str, &str); 9] = [
    ("checkpoint", "manifest"),
    ("change", "text"),
    ("pending", "text"),
    ("ask", "text"),
    ("ask", "fallback"),
    ("effect", "text"),
    ("effect", "outcome"),
    ("emitted", "text"),
    ("server_event", "text"),
];

fn options(schema: &str) -> PostgresOptions {
    PostgresSaver::options().schema(schema).connections(2)
}

/// Fills a new schema with checkpoints, work and rows of a server.
async fn written(cluster: &Cluster, options: PostgresOptions) {
    let postgres = options.open(cluster.url("superstep")).await.unwrap();
    records::fill(&*postgres.records().unwrap(), "served").await;
    fill(&registered(Arc::new(postgres)).await).await;
}

/// Everything that a program can read.
#[derive(Debug, PartialEq)]
struct All {
    threads: Vec<String>,
    rows: String,
}

async fn read(cluster: &Cluster, options: PostgresOptions) -> Result<All, StoreError> {
    let url = cluster.url("superstep");
    let reader = options.clone().open_reader(&url)?;
    let mut threads = Vec::new();
    for name in ["t", "u"] {
        threads.push(export(&reader, &thread(name))?.unwrap().to_text());
        threads.push(format!("{:?}", reader.load(&thread(name), &At::Head)?));
    }
    let records = options.open(&url).await?.records().unwrap();
    let query = ThreadQuery { limit: 9, order: Order::default(), ..ThreadQuery::default() };
    let found = records.threads(&query).await?;
    let events = records.events(&thread("served"), None, None, 99).await?;
    let runs = records.run("failed").await?;
    Ok(All { threads, rows: format!("{found:?} {events:?} {runs:?}") })
}

/// Returns the number of canaries in all rows of all tables of a schema.
fn leaks(cluster: &Cluster, schema: &str) -> usize {
    let tables = format!("SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'");
    let tables = cluster.execute(&tables);
    let found = tables.lines().map(|table| {
        // The bytes of names are shown as text, too.
        let rows = cluster.execute(&format!("SELECT t::text FROM {schema}.{table} t"));
        [CANARY, ROW_CANARY].map(|canary| rows.matches(canary).count()).iter().sum::<usize>()
    });
    found.sum()
}

fn problem(error: StoreError) -> KeyProblem {
    match error {
        StoreError::Keys { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn an_encrypted_schema_contains_no_text_of_a_state() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        written(&cluster, options("plain")).await;
        assert!(leaks(&cluster, "plain") > 100);
        written(&cluster, options("secret").encrypt(first_key())).await;
        assert_eq!(leaks(&cluster, "secret"), 0);
        let verified = options("secret").encrypt(first_key()).open_reader(cluster.url("superstep")).unwrap();
        assert_eq!(verified.verify().unwrap().findings, []);
        // Equal results and entries have different hashes in different schemas.
        written(&cluster, options("other").encrypt(first_key())).await;
        for column in ["effect.slot", "pending.recorded", "server_tag.digest"] {
            let (table, column) = column.split_once('.').unwrap();
            let all =
                |schema| format!("SELECT {column}::text FROM {schema}.{table} WHERE {column} IS NOT NULL");
            let shared = format!("SELECT count(*) FROM ({} INTERSECT {}) s", all("secret"), all("other"));
            assert_eq!(cluster.execute(&shared), "0", "{table}.{column}");
            assert_ne!(cluster.execute(&format!("SELECT count(*) FROM ({}) s", all("secret"))), "0");
        }
    });
}

#[test]
fn keys_that_do_not_fit_are_named() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = cluster.url("superstep");
        drop(options("keyed").encrypt(first_key()).open(&url).await.unwrap());
        drop(options("unkeyed").open(&url).await.unwrap());
        let open = async |options: PostgresOptions| {
            let read = options.clone().open_reader(&url).map(drop).unwrap_err();
            let opened = options.open(&url).await.map(drop).unwrap_err();
            assert_eq!(read.to_string(), opened.to_string());
            opened
        };
        let error = open(options("keyed")).await;
        assert!(error.to_string().starts_with("the schema keyed of superstep@"), "{error}");
        assert_eq!(problem(error), KeyProblem::NoKeys { key: "first".into() });
        let wrong = open(options("keyed").encrypt(KeyRing::new("first", Key::new([9; 32])))).await;
        assert_eq!(problem(wrong), KeyProblem::WrongKey { key: "first".into() });
        let lacking = problem(open(options("keyed").encrypt(second_key())).await);
        assert!(matches!(&lacking, KeyProblem::Lacking { key, .. } if key == "first"), "{lacking:?}");
        let plain = open(options("unkeyed").encrypt(first_key())).await;
        assert_eq!(problem(plain), KeyProblem::NotEncrypted);
        let zero = KeyRing::new("a\0b", Key::new([1; 32]));
        let error = options("zero").encrypt(zero).open(&url).await.unwrap_err().to_string();
        assert!(error.contains("zero byte"), "{error}");
    });
}

#[test]
fn a_text_in_another_place_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let keyed = || options("moved").encrypt(first_key());
        written(&cluster, keyed()).await;
        written(&cluster, options("stranger").encrypt(first_key())).await;
        let reader = keyed().open_reader(cluster.url("superstep")).unwrap();
        let mut refused = 0;
        for (table, column) in COLUMNS {
            let text = |schema: &str, order: &str| {
                cluster.execute(&format!(
                    "SELECT {column} FROM {schema}.{table} WHERE left({column}, 1) = '~' ORDER BY ctid {order} LIMIT 1"
                ))
            };
            let own = text("moved", "ASC");
            let put = |stored: &str| {
                cluster.execute(&format!(
                    "UPDATE moved.{table} SET {column} = '{stored}' WHERE ctid = \
                     (SELECT ctid FROM moved.{table} WHERE left({column}, 1) = '~' ORDER BY ctid LIMIT 1)"
                ));
            };
            cluster.execute(&format!("CREATE TABLE moved.backup AS SELECT * FROM moved.{table}"));
            for stored in
                [text("moved", "DESC"), text("stranger", "ASC"), own[..own.len() / 2].to_owned(), "~".into()]
            {
                assert_ne!(stored, own, "{table}.{column}");
                put(&stored);
                let findings = reader.verify().unwrap().findings;
                assert!(findings.iter().any(|found| found.table == table), "{table}.{column}: {findings:?}");
                cluster.execute(&format!(
                    "DELETE FROM moved.{table}; INSERT INTO moved.{table} OVERRIDING SYSTEM VALUE SELECT * FROM moved.backup"
                ));
                refused += 1;
            }
            cluster.execute("DROP TABLE moved.backup");
        }
        assert_eq!(refused, 4 * COLUMNS.len());
        assert_eq!(reader.verify().unwrap().findings, []);
    });
}

/// Encrypts a plain schema, changes its key, and decrypts it.
#[test]
fn a_schema_is_encrypted_gets_another_key_and_is_decrypted() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = cluster.url("superstep");
        written(&cluster, options("rekeyed")).await;
        let before = read(&cluster, options("rekeyed")).await.unwrap();
        // A program that has the schema open while it is encrypted writes nothing more.
        let open = registered(Arc::new(options("rekeyed").open(&url).await.unwrap())).await;
        let head = head(&open, "t").await.checkpoint;
        let rekeyed = options("rekeyed").encrypt(first_key()).rekey(&url, Form::Encrypted).await.unwrap();
        assert!(rekeyed.rows > 140 && rekeyed.bytes > 10_000, "{rekeyed:?}");
        let error = open.commit(commit_of("t", &step(Some(&head), [set(1, "1")]))).await.unwrap_err();
        assert!(error.to_string().contains("was encrypted after this program opened it"), "{error}");
        assert_eq!(leaks(&cluster, "rekeyed"), 0);
        assert_eq!(read(&cluster, options("rekeyed").encrypt(first_key())).await.unwrap(), before);

        // Programs have both keys, and one still writes with the older one.
        let old = KeyRing::new("first", Key::new([1; 32])).and("second", Key::new([2; 32]));
        let open = registered(Arc::new(options("rekeyed").encrypt(old).open(&url).await.unwrap())).await;
        let again = || options("rekeyed").encrypt(both_keys()).rekey(&url, Form::Encrypted);
        let rekeyed = again().await.unwrap();
        assert_eq!((rekeyed.retired, rekeyed.in_use), (vec!["first".to_owned()], Vec::new()));
        assert_eq!(read(&cluster, options("rekeyed").encrypt(second_key())).await.unwrap(), before);
        let next = advance(&open, "v", None, [set(1, "1")]).await;
        let both = options("rekeyed").encrypt(both_keys()).open(&url).await.unwrap();
        assert_eq!(head_of(&both, "v").await, next.id);
        again().await.unwrap();
        let new = options("rekeyed").encrypt(second_key()).open(&url).await.unwrap();
        assert_eq!(head_of(&new, "v").await, next.id);
        new.delete(&graph().name.as_str().into(), &thread("v")).await.unwrap();

        let keyed =
            registered(Arc::new(options("rekeyed").encrypt(second_key()).open(&url).await.unwrap())).await;
        options("rekeyed").encrypt(second_key()).rekey(&url, Form::Plain).await.unwrap();
        let error = keyed.commit(commit_of("t", &step(Some(&head), [set(1, "1")]))).await.unwrap_err();
        assert!(error.to_string().contains("was decrypted after this program opened it"), "{error}");
        assert_eq!(read(&cluster, options("rekeyed")).await.unwrap(), before);
        let reader = PostgresReader::open(format!("{url} schema=rekeyed")).unwrap();
        assert_eq!(reader.verify().unwrap().findings, []);
        let again = options("rekeyed").encrypt(second_key()).rekey(&url, Form::Plain).await.unwrap_err();
        assert_eq!(problem(again), KeyProblem::NotEncrypted);
    });
}

async fn head_of(saver: &PostgresSaver, name: &str) -> superstep_core::id::CheckpointId {
    let saver: Saver = Arc::new(saver.clone());
    head(&saver, name).await.checkpoint.id
}

/// The numbers of results are random, so a commit reads them after the results that were not yet sent are stored.
#[test]
fn a_commit_of_the_holder_of_a_lease_knows_its_own_results() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let saver = options("leased").encrypt(first_key()).open(cluster.url("superstep")).await.unwrap();
        let saver = registered(Arc::new(saver)).await;
        let first = advance(&saver, "t", None, [set(0, "[]")]).await;
        let claim = Claim { thread: thread("t"), holder: "it".into(), ttl: Duration::from_secs(60) };
        let Acquired::Now(lease) = saver.acquire(claim).await.unwrap() else { panic!("it is free") };
        let holder = saver.fenced(&lease).unwrap();
        let results = [result(1, "1"), result(2, "2")];
        for result in &results {
            holder.record_result(&thread("t"), first.id, result.clone()).await.unwrap();
        }
        let recorded = Some(Recorded::of(&results, &[]));
        let commit = Commit { recorded, ..commit_of("t", &step(Some(&first), [set(0, "[1]")])) };
        assert!(matches!(holder.commit(commit).await.unwrap(), Committed::New));
    });
}

#[test]
fn an_encrypted_schema_has_no_store() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = cluster.url("superstep");
        let namespace = Namespace::new(&["a"]).unwrap();
        let put =
            || Put { namespace: namespace.clone(), key: "k".into(), value: json("1"), expires_ms: None };
        let secret = options("no_store").encrypt(first_key()).open(&url).await.unwrap();
        let error = secret.store().put(put(), 1).await.unwrap_err().to_string();
        assert!(error.contains("cannot be encrypted and contain a store"), "{error}");
        let plain = options("with_store").open(&url).await.unwrap();
        plain.store().put(put(), 1).await.unwrap();
        let error =
            options("with_store").encrypt(first_key()).rekey(&url, Form::Encrypted).await.unwrap_err();
        assert_eq!(problem(error), KeyProblem::Store);
        // Nothing has changed.
        assert!(plain.store().get(&namespace, "k", 2).await.unwrap().is_some());
        drop(options("with_store").open(&url).await.unwrap());
    });
}
