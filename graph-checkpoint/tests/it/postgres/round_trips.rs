//! The number of times that a call waits for the server.

use std::sync::Arc;

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Claim, Commit, Committed, Recorded};
use superstep_core::store::{Search, Store};

use super::cluster::Cluster;
use super::proxy::Proxy;
use super::run;
use crate::material::{commit_of, effect, extend, graph, ok, result, set, step, thread};

#[test]
fn each_call_waits_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = Proxy::to(cluster.folder());
    run(async {
        let saver = PostgresSaver::options().schema("round_trips").open(proxy.url()).await.expect("it opens");
        let since = || proxy.waits();
        since();
        saver.register(&graph()).await.expect("it is registered");
        assert_eq!(since(), 1, "the registration");

        let name = thread("t");
        let input = step(None, [set(0, "[]")]);
        let start = step(Some(&input), [extend(0, "[0]")]);
        let begun = Commit { expected: None, input: Some(Arc::new(input)), ..commit_of("t", &start) };
        assert!(matches!(saver.commit(begun).await, Ok(Committed::New)));
        assert_eq!(since(), 1, "an input with its start");
        let mut last = start;
        for number in 1..200 {
            let next = step(Some(&last), [extend(0, &format!("[{number}]"))]);
            let known = Commit { recorded: Some(Recorded::default()), ..commit_of("t", &next) };
            assert!(matches!(saver.commit(known).await, Ok(Committed::New)));
            assert_eq!(since(), 1, "a superstep");
            last = next;
        }
        let head = saver.read(&name, At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.values[0].value.decode::<Vec<u32>>().expect("a list").len(), 200);
        assert_eq!(since(), 1, "a head with a long past");
        assert_eq!(saver.history(&name, At::Head, 100).await.expect("it is read").len(), 100);
        assert_eq!(since(), 1, "a page of the history");
        assert_eq!(saver.steps(&name, At::Head, 100).await.expect("it is read").len(), 100);
        assert_eq!(since(), 1, "a page of the steps");
        saver.begin_effect(&name, last.id, effect(1)).await.expect("it begins");
        saver.end_effect(&name, last.id, &effect(1).id, ok("1")).await.expect("it ends");
        assert_eq!(since(), 2, "an effect");

        let claim =
            Claim { thread: name.clone(), holder: "it".into(), ttl: std::time::Duration::from_secs(60) };
        let lease = saver.acquire(claim).await.expect("it is free");
        assert_eq!(since(), 1, "a lease");
        let superstep_core::checkpoint::Acquired::Now(lease) = lease else { panic!("{lease:?}") };
        let holder = saver.fenced(&lease).expect("it has leases");
        let next = step(Some(&last), []);
        assert!(matches!(holder.commit(commit_of("t", &next)).await, Ok(Committed::New)));
        assert_eq!(since(), 1, "a superstep of the holder of a lease");
        saver.record_result(&name, next.id, result(1, "1")).await.expect("it is stored");
        assert_eq!(since(), 1, "a result");

        let store = Store::new(saver.store());
        store.put(&["a"], "k", "strong coffee").await.expect("it is stored");
        assert_eq!(since(), 1, "a put");
        assert!(store.entry(&["a"], "k").await.expect("it is read").is_some());
        assert_eq!(since(), 1, "a get");
        let words = Search::under(&["a"]).expect("a name").words("coffee").limit(1);
        assert_eq!(store.search(words).await.expect("it is read").len(), 1);
        assert_eq!(since(), 1, "a search");
        assert_eq!(store.namespaces(&[]).await.expect("they are read").len(), 1);
        assert_eq!(since(), 1, "the namespaces");
        assert!(store.delete(&["a"], "k").await.expect("it is deleted"));
        assert_eq!(since(), 1, "a deletion");
        assert_eq!(store.sweep().await.expect("it sweeps"), 0);
        assert_eq!(since(), 1, "a sweep");
    });
}
