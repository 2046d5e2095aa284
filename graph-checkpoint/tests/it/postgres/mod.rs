//! The Postgres saver, on a server that the tests start. Where Postgres is not installed, the tests say so and pass, unless
//! `SUPERSTEP_NEEDS_POSTGRES` is set.

mod cluster;
mod conformance;
mod cuts;
mod damage;
mod errors;
mod full;
mod lost_answers;
mod pooler;
mod proxy;
mod prune;
mod reader;
mod round_trips;
mod server;
mod store;
mod tls;

use tokio_postgres::{NoTls, SimpleQueryMessage};

use self::cluster::Cluster;

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test);
}

/// Runs statements as the owner of the cluster, and returns their rows, a line each.
async fn execute(cluster: &Cluster, sql: &str) -> String {
    let (client, connection) =
        tokio_postgres::connect(&cluster.url("superstep"), NoTls).await.expect("the server accepts it");
    let serving = tokio::spawn(connection);
    let messages = client.simple_query(sql).await.expect("the statements are valid");
    drop(client);
    serving.await.expect("it ends").expect("it ends well");
    let lines = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}
