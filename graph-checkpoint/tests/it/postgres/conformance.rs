//! The Postgres saver passes every item of the suite.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep_checkpoint::PostgresSaver;
use superstep_conformance::{self as conformance, Outcome, Subject};
use superstep_core::checkpoint::{Around, Checkpointer};
use superstep_core::error::BoxError;

use super::cluster::Cluster;

/// A schema for each item.
struct Schemas {
    cluster: Arc<Cluster>,
    opened: AtomicU32,
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
    async fn open(&self, schema: String) -> Result<Named, BoxError> {
        let options = PostgresSaver::options().schema(&schema).connections(8);
        Ok(Named { saver: options.open(self.cluster.url("superstep")).await?, schema })
    }
}

#[async_trait]
impl Subject for Schemas {
    type Saver = Named;

    async fn fresh(&self) -> Result<Named, BoxError> {
        self.open(format!("item_{}", self.opened.fetch_add(1, Ordering::Relaxed))).await
    }

    async fn reopen(&self, saver: &Named) -> Result<Option<Named>, BoxError> {
        self.open(saver.schema.clone()).await.map(Some)
    }
}

#[test]
fn the_postgres_saver_conforms() {
    let Some(cluster) = Cluster::shared() else { return };
    let schemas = Schemas { cluster, opened: AtomicU32::new(0) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build();
    let runtime = runtime.expect("a runtime");
    // One item, or a group, while a saver is changed.
    let only = std::env::var("SUPERSTEP_ITEMS").unwrap_or_default();
    let report = runtime.block_on(conformance::run_only(&schemas, &only));
    report.assert();
    let skipped = report.items().filter(|(_, outcome)| matches!(outcome, Outcome::NotApplicable(_)));
    let skipped: BTreeSet<&str> = skipped.map(|(item, _)| item.group).collect();
    // The clock of the server cannot be moved.
    assert!(skipped.iter().all(|group| *group == "leases"), "{report}");
}
