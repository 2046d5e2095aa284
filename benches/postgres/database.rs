//! The database, and the graphs that are stored in it.

use std::time::Instant;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::PostgresSaver;
use superstep::prelude::*;
use tokio_postgres::{Client, NoTls};

use crate::cluster::Cluster;

/// The settings that the figures depend on.
const SETTINGS: &str = "SELECT string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name = 'server_version' DESC, name)
    FROM pg_settings WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers',
    'wal_buffers', 'max_wal_size', 'wal_sync_method', 'jit')";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counter {
    pub(crate) count: u64,
}

/// A loop of one node, which ends after this many supersteps.
pub(crate) fn cycle(steps: u64) -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("cycle");
    let work = g.node("work", async |counter: Snapshot<Counter>| Counter::update().count(counter.count + 1));
    g.edge(START, work);
    g.edge(work, work);
    g.edge(work, END);
    g.compile().expect("a loop is a sound graph").recursion_limit(steps)
}

/// Opens a saver at an address, with a schema of its own.
pub(crate) async fn saver(url: &str, schema: &str, connections: usize) -> PostgresSaver {
    let options = PostgresSaver::options().schema(schema).connections(connections);
    options.open(url).await.expect("the server takes it")
}

/// Opens a plain connection.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server takes it");
    tokio::spawn(connection);
    client
}

/// Returns the version of the server, and its settings.
pub(crate) fn settings(cluster: Arc<Cluster>) -> String {
    block_on(async move {
        let client = connect(&cluster.url("superstep")).await;
        client.query_one(SETTINGS, &[]).await.expect("a sound query").get(0)
    })
}

/// Returns the bytes that a superstep has in the columns of its rows, in a schema with this many supersteps.
pub(crate) async fn bytes_per_step(client: &Client, schema: &str, steps: u64) -> usize {
    let query = format!(
        "SELECT ((SELECT sum(pg_column_size(c.*)) FROM {schema}.checkpoint c)
            + (SELECT sum(pg_column_size(h.*)) FROM {schema}.change h))::bigint"
    );
    let bytes: i64 = client.query_one(&query, &[]).await.expect("a sound query").get(0);
    usize::try_from(bytes).expect("a sum of sizes") / usize::try_from(steps).expect("a number of rows")
}

/// Runs a future on a runtime with two threads.
pub(crate) fn block_on<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(async move { tokio::spawn(work).await.expect("a workload does not panic") })
}

/// Returns a time in milliseconds.
pub(crate) fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
