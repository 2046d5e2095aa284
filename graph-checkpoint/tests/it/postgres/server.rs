//! A server that restarts, and one that refuses.

use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Committed, StoreError};

use super::cluster::Cluster;
use super::{execute, run};
use crate::material::{commit_of, extend, graph, set, step, thread};

/// A commit whose answer was lost is sent again. So every commit succeeds, and is stored once.
#[test]
fn commits_go_on_while_the_server_crashes() {
    let Some(cluster) = Cluster::own() else { return };
    run(async {
        let saver = PostgresSaver::open(cluster.url("superstep")).await.expect("it opens");
        saver.register(&graph()).await.expect("it is registered");
        let crashing = tokio::task::spawn_blocking({
            let cluster = Arc::clone(&cluster);
            move || (0..3).for_each(|_| cluster.crash())
        });
        let mut all = Vec::new();
        while !crashing.is_finished() || all.len() < 100 {
            let items = format!("[{}]", all.len());
            let next = step(all.last(), [if all.is_empty() { set(0, &items) } else { extend(0, &items) }]);
            let committed = saver.commit(commit_of("t", &next)).await.expect("it is tried again");
            assert!(matches!(committed, Committed::New | Committed::Already), "{committed:?}");
            all.push(next);
        }
        crashing.await.expect("the server starts each time");
        let ids: Vec<_> = all.iter().rev().map(|checkpoint| checkpoint.id).collect();
        let history = saver.history(&thread("t"), At::Head, usize::MAX).await.expect("it is read");
        assert_eq!(history.iter().map(|line| line.id).collect::<Vec<_>>(), ids);
        let head = saver.read(&thread("t"), At::Head).await.expect("it is read").expect("it is there");
        let items: Vec<usize> = head.values[0].value.decode().expect("a list of numbers");
        assert_eq!(items, (0..all.len()).collect::<Vec<_>>());
    });
}

async fn refusal(options: superstep_checkpoint::PostgresOptions, url: &str) -> String {
    let opened = options.busy_limit(Duration::from_secs(2)).open(url).await;
    let error = opened.expect_err("it is refused");
    assert!(matches!(error, StoreError::Io(_)), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("hunter2"), "{error:?}");
    error.to_string()
}

#[test]
fn what_is_wrong_is_said_with_its_remedy() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let options = PostgresSaver::options;
        let url = cluster.url("superstep");
        let refused = async |options, url: &str, texts: &[&str]| {
            let error = refusal(options, url).await;
            assert!(texts.iter().all(|text| error.contains(text)), "{texts:?} in {error}");
        };
        refused(options(), "postgres:/x", &["the address of the database is not valid"]).await;
        let nowhere = "host=/nowhere user=superstep password=hunter2";
        refused(options(), nowhere, &["failed to connect to the database", "check its address"]).await;
        let elsewhere = url.replace("dbname=postgres", "dbname=elsewhere");
        refused(options(), &elsewhere, &["the database does not exist", "elsewhere", "create it first"])
            .await;
        refused(options(), &cluster.url("nobody_here"), &["refused the user", "nobody_here"]).await;
        refused(options().schema("a b"), &url, &["\"a b\" is not a name for a schema"]).await;
        refused(options().schema("none").no_migrate(), &url, &["the schema none does not exist"]).await;

        let roles = "CREATE ROLE poor LOGIN; CREATE ROLE strict LOGIN; \
                     ALTER ROLE strict SET default_transaction_isolation TO 'serializable';";
        execute(&cluster, roles).await;
        let poor = &["lacks a right: permission denied for database postgres", "grant it"];
        refused(options().schema("of_poor"), &cluster.url("poor"), poor).await;
        refused(options(), &cluster.url("strict"), &["isolation level", "serializable", "read committed"])
            .await;

        execute(&cluster, "CREATE SCHEMA theirs; CREATE TABLE theirs.thread(id integer);").await;
        refused(options().schema("theirs"), &url, &["the schema theirs contains tables of another program"])
            .await;
        let saver = options().schema("newer").open(&url).await.expect("it is created");
        execute(&cluster, "UPDATE newer.format SET version = 7").await;
        let newer = &["the schema newer has format 7; this program supports up to 1: update the program"];
        refused(options().schema("newer"), &url, newer).await;
        // The tables of another user.
        saver.register(&graph()).await.expect("it is the owner");
        execute(&cluster, "UPDATE newer.format SET version = 1").await;
        refused(options().schema("newer"), &cluster.url("poor"), &["permission denied for schema newer"])
            .await;

        let read_only = format!("{url} options='-c default_transaction_read_only=on'");
        let replica = options().schema("newer").open(&read_only).await.expect("it is read");
        let error = replica.commit(commit_of("t", &step(None, []))).await.expect_err("it is read-only");
        assert!(error.to_string().contains("does not accept writes"), "{error}");
    });
}

#[test]
fn the_password_is_never_shown() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = format!("{} password=hunter2", cluster.url("superstep"));
        let saver = PostgresSaver::options().schema("shown").open(url).await.expect("it opens");
        let shown = format!("{saver:?}");
        assert!(shown.contains("superstep@") && !shown.contains("hunter2"), "{shown}");
    });
}

/// Programs that start at once create the schema once, and all of them can use it.
#[test]
fn programs_may_start_at_once() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let mut programs = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let url = cluster.url("superstep");
            programs.spawn(async move {
                let saver = PostgresSaver::options().schema("at_once").open(url).await?;
                saver.register(&graph()).await
            });
        }
        for ended in programs.join_all().await {
            ended.expect("it can use the schema");
        }
    });
}
