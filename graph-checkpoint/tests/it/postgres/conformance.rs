//! The Postgres saver passes every item of the suite, and a schema with a defect fails those about it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep_checkpoint::{KeyRing, PostgresSaver};
use superstep_conformance::{self as conformance, Outcome, Subject};
use superstep_core::checkpoint::{Around, Checkpointer};
use superstep_core::error::BoxError;

use super::cluster::{Cluster, Defect};
use super::pooler::Pooler;
use super::run;
use crate::sqlite::encrypted::first_key;

/// A schema for each item.
struct Schemas {
    cluster: Arc<Cluster>,
    url: String,
    opened: AtomicU32,
    /// The defect of each schema.
    defect: Option<Defect>,
    /// Set if the schemas are encrypted.
    keys: Option<KeyRing>,
}

/// A saver with the name of its schema.
struct Named {
    saver: PostgresSaver,
    schema: String,
}

impl Around for Named {
    fn inner(&self) -> &dyn Checkpointer {
        &self.saver
    }
}

impl Schemas {
    fn new(cluster: Arc<Cluster>, url: String, defect: Option<Defect>) -> Self {
        Self { cluster, url, opened: AtomicU32::new(0), defect, keys: None }
    }

    async fn open(&self, schema: String) -> Result<Named, BoxError> {
        let mut options = PostgresSaver::options().schema(&schema).connections(8);
        if let Some(keys) = &self.keys {
            options = options.encrypt(keys.clone());
        }
        Ok(Named { saver: options.open(&self.url).await?, schema })
    }
}

#[async_trait]
impl Subject for Schemas {
    type Saver = Named;

    async fn fresh(&self) -> Result<Named, BoxError> {
        let of = match (self.defect, &self.keys) {
            (Some((function, ..)), _) => function,
            (None, Some(_)) => "encrypted",
            (None, None) => "item",
        };
        let schema = format!("{of}_{}_{}", self.url.len(), self.opened.fetch_add(1, Ordering::Relaxed));
        let fresh = self.open(schema.clone()).await?;
        if let Some(defect) = self.defect {
            self.cluster.replace_in(&schema, defect);
        }
        Ok(fresh)
    }

    async fn reopen(&self, saver: &Named) -> Result<Option<Named>, BoxError> {
        self.open(saver.schema.clone()).await.map(Some)
    }
}

fn conforms(schemas: &Schemas) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build();
    let runtime = runtime.expect("a runtime");
    // One item, or a group, while a saver is changed.
    let only = std::env::var("SUPERSTEP_ITEMS").unwrap_or_default();
    let report = runtime.block_on(conformance::run_only(schemas, &only));
    report.assert();
    let skipped = report.items().filter(|(_, outcome)| matches!(outcome, Outcome::NotApplicable(_)));
    let skipped: BTreeSet<&str> = skipped.map(|(item, _)| item.group).collect();
    // The clock of the server cannot be moved.
    assert!(skipped.iter().all(|group| *group == "leases"), "{report}");
}

#[test]
fn the_postgres_saver_conforms() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.url("superstep");
    conforms(&Schemas::new(cluster, url, None));
}

/// Each transaction may be carried out on another connection.
#[test]
fn it_conforms_with_encrypted_schemas_through_a_pooler_in_transaction_mode() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(pooler) = Pooler::of(&cluster) else { return };
    conforms(&Schemas { keys: Some(first_key()), ..Schemas::new(cluster, pooler.url(), None) });
}

/// Each defect, with an item that must notice it.
const NOTICED: [(Defect, &str); 7] = [
    (
        ("commit", "IF _head_id IS DISTINCT FROM _expected THEN", "IF false THEN"),
        "heads.another_run_conflicts",
    ),
    (("commit", "IF _recorded IS NOT NULL AND", "IF false AND"), "outrun.an_unknown_result_is_reported"),
    // A column of type `text` refuses a zero byte.
    (
        (
            "commit",
            "WHERE sha256(t.name) = sha256(_name) FOR NO KEY UPDATE;",
            "WHERE convert_from(t.name, 'UTF8') = convert_from(_name, 'UTF8') FOR NO KEY UPDATE;",
        ),
        "commit.thread_names_are_any_text",
    ),
    // A column of type `jsonb` changes numbers, and drops members that come twice.
    (
        (
            "commit",
            "                _texts[_n]);",
            "left(_texts[_n], 16) || substr(_texts[_n], 17)::jsonb::text);",
        ),
        "values.floats_keep_every_bit",
    ),
    // The collation of a database is not the order of bytes.
    (
        (
            "threads",
            "ORDER BY substr(t.name, 1, 200), t.name LIMIT _limit",
            "ORDER BY convert_from(t.name, 'UTF8') COLLATE \"und-x-icu\" LIMIT _limit",
        ),
        "threads.are_listed_by_name",
    ),
    (("record", "IF _held.recorded IS NULL OR", "IF true OR"), "results.the_first_counts"),
    (("record", "RETURN '';", "RETURN NULL;"), "results.late_ones_are_dropped"),
];

#[test]
fn a_schema_with_a_defect_is_noticed() {
    let Some(cluster) = Cluster::shared() else { return };
    for (defect, item) in NOTICED {
        let schemas = Schemas::new(Arc::clone(&cluster), cluster.url("superstep"), Some(defect));
        run(async {
            let report = conformance::run_only(&schemas, item).await;
            assert_eq!(report.failed().collect::<Vec<_>>(), [item], "{defect:?} is not noticed: {report}");
        });
    }
}
