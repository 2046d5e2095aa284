//! A server that restarts, and programs that start at once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Committed};
use superstep_core::records::life::Ending;
use superstep_core::records::{Records, RunClaim, Signal};

use super::cluster::Cluster;
use super::run;
use crate::material::{commit_of, extend, graph, set, step, thread};
use crate::records::fill;

/// Commits until a disturbance has ended, and checks that every commit is stored once. One whose answer was lost is sent
/// again.
async fn commits_go_on(url: String, disturb: impl FnOnce() + Send + 'static) {
    let saver = PostgresSaver::options().busy_limit(Duration::from_secs(60)).open(url).await;
    let saver = saver.expect("it opens");
    saver.register(&graph()).await.expect("it is registered");
    let disturbing = tokio::task::spawn_blocking(disturb);
    let mut all = Vec::new();
    while !disturbing.is_finished() || all.len() < 100 {
        let items = format!("[{}]", all.len());
        let next = step(all.last(), [if all.is_empty() { set(0, &items) } else { extend(0, &items) }]);
        let committed = saver.commit(commit_of("t", &next)).await.expect("it is tried again");
        assert!(matches!(committed, Committed::New | Committed::Already), "{committed:?}");
        all.push(next);
    }
    disturbing.await.expect("the server starts each time");
    let ids: Vec<_> = all.iter().rev().map(|checkpoint| checkpoint.id).collect();
    let history = saver.history(&thread("t"), At::Head, usize::MAX).await.expect("it is read");
    assert_eq!(history.iter().map(|line| line.id).collect::<Vec<_>>(), ids);
    let head = saver.read(&thread("t"), At::Head).await.expect("it is read").expect("it is there");
    let items: Vec<usize> = head.values[0].value.decode().expect("a list of numbers");
    assert_eq!(items, (0..all.len()).collect::<Vec<_>>());
}

#[test]
fn commits_go_on_while_the_server_crashes() {
    let Some(cluster) = Cluster::own() else { return };
    let crashed = Arc::clone(&cluster);
    run(commits_go_on(cluster.url("superstep"), move || (0..3).for_each(|_| crashed.crash())));
}

/// With a synchronous replica, nothing that was acknowledged is lost with the primary.
#[test]
fn commits_go_on_with_a_promoted_replica() {
    let Some(primary) = Cluster::own() else { return };
    let replica = primary.standby();
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.execute("SELECT pg_reload_conf()");
    let folders = format!("{},{}", primary.folder().display(), replica.folder().display());
    let url = format!("host={folders} user=superstep dbname=postgres target_session_attrs=read-write");
    let promoted = Arc::clone(&replica);
    run(commits_go_on(url, move || {
        let count = "SELECT count(*) FROM superstep.checkpoint";
        while primary.execute(count).parse::<u32>().expect("a number") < 50 {}
        primary.stop();
        assert_eq!(promoted.execute("SELECT pg_promote()"), "t");
    }));
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

/// Returns rows that have begun to listen, and what they hear.
async fn listening(cluster: &Cluster) -> (Arc<dyn Records>, Receiver<Signal>) {
    let options = PostgresSaver::options().schema("told").connections(2);
    let saver = options.open(cluster.url("superstep")).await.expect("it opens");
    let (rows, (heard, signals)) = (saver.records().expect("it has rows"), channel());
    assert!(rows.listen(Box::new(move |signal| heard.send(signal).is_ok())));
    assert_eq!(signals.recv(), Ok(Signal::Open));
    (rows, signals)
}

/// A server that stops gives its runs back and ends. Others found them a second later, because nothing had told them.
#[test]
fn a_run_that_is_given_back_is_told_before_the_process_ends() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let saver = PostgresSaver::options().schema("told").open(cluster.url("superstep")).await;
        let rows = saver.expect("it opens").records().expect("it has rows");
        fill(&*rows, "t").await;
        let claim =
            RunClaim { owner: "it".into(), graphs: vec!["graph".into()], left: Vec::new(), until_ms: 9 };
        let held = rows.claim_run(&claim, 2).await.expect("it is claimed").expect("it waits");
        let (_other, signals) = listening(&cluster).await;
        let ends = std::thread::spawn(move || {
            // Its tasks end with it.
            run(async {
                let (rows, _signals) = listening(&cluster).await;
                let finished = rows.finish_run(&held.id, held.attempt, Ending::GivenBack, None, 3).await;
                assert!(finished.expect("it is stored"));
            });
        });
        ends.join().expect("it ends");
        assert_eq!(signals.recv_timeout(Duration::from_secs(20)), Ok(Signal::Queue));
    });
}
