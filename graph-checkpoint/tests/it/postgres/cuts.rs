//! Connections that end after any number of bytes of a request, or of its answer.

use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{
    Acquired, At, Checkpoint, Checkpointer, CheckpointerExt, Claim, Committed, StoreError,
};
use superstep_core::id::ThreadId;
use superstep_core::store::{Namespace, Put, StoreBackend};

use super::cluster::Cluster;
use super::proxy::{Proxy, Way};
use super::run;
use crate::material::{ask, commit_of, effect, ended, graph, json, ok, result, set, step, thread};

/// The distance of the places at which the connections of the gate end. `SUPERSTEP_TORTURE` tests every byte.
const STRIDE: usize = 23;

/// A thread with its first checkpoint, on which a request writes.
struct Written {
    saver: PostgresSaver,
    /// A saver whose connections do not end.
    other: Arc<PostgresSaver>,
    name: ThreadId,
    first: Checkpoint,
}

/// The requests that are tested.
#[derive(Clone, Copy, Debug)]
enum Request {
    Commit,
    Record,
    BeginEffect,
    EndEffect,
    Ask,
    Answer,
    Fork,
    Acquire,
    Put,
    Load,
}

impl Request {
    const ALL: [Self; 10] = [
        Self::Commit,
        Self::Record,
        Self::BeginEffect,
        Self::EndEffect,
        Self::Ask,
        Self::Answer,
        Self::Fork,
        Self::Acquire,
        Self::Put,
        Self::Load,
    ];

    /// Stores what the request needs.
    async fn prepare(self, at: &Written) -> Result<(), StoreError> {
        match self {
            Self::EndEffect => at.other.begin_effect(&at.name, at.first.id, effect(1)).await.map(drop),
            Self::Answer => at.other.ask(&at.name, at.first.id, vec![ask(1)]).await,
            _ => Ok(()),
        }
    }

    /// Sends the request, and checks its result and what is stored.
    async fn send(self, at: &Written) -> Result<(), StoreError> {
        let Written { saver, other, name, first } = at;
        match self {
            Self::Commit => {
                let next = step(Some(first), [set(0, "[1]")]);
                let done = saver.commit(commit_of(name.as_str(), &next)).await?;
                assert!(matches!(done, Committed::New | Committed::Already), "{done:?}");
                let line = other.history(name, At::Head, 9).await?;
                assert_eq!(line.iter().map(|it| it.id).collect::<Vec<_>>(), [next.id, first.id]);
            }
            Self::Record => {
                assert_eq!(saver.record_result(name, first.id, result(2, "2")).await?, result(2, "2"));
                assert_eq!(other.read(name, At::Head).await?.expect("it is there").results.len(), 1);
            }
            Self::BeginEffect => {
                assert_eq!(saver.begin_effect(name, first.id, effect(1)).await?, None);
                assert_eq!(other.begin_effect(name, first.id, effect(1)).await?, Some(effect(1)));
            }
            Self::EndEffect => {
                saver.end_effect(name, first.id, &effect(1).id, ok("1")).await?;
                let held = other.begin_effect(name, first.id, effect(1)).await?;
                assert_eq!(held, Some(ended(effect(1), "1")));
            }
            Self::Ask => {
                saver.ask(name, first.id, vec![ask(1)]).await?;
                assert_eq!(other.read(name, At::Head).await?.expect("it is there").asks, [ask(1)]);
            }
            Self::Answer => {
                let (head, work) = saver.answer_all(name, vec![(ask(1).id, json("1"))]).await?;
                assert_eq!((head, work.asks[0].answer.clone()), (first.id, Some(json("1"))));
            }
            Self::Fork => {
                let fork = thread(&format!("{}, forked", name.as_str()));
                saver.fork(name, first.id, &fork).await?;
                assert_eq!(other.read(&fork, At::Head).await?.expect("it is there").checkpoint.id, first.id);
            }
            Self::Acquire => {
                let claim = Claim { thread: name.clone(), holder: "me".into(), ttl: Duration::from_secs(60) };
                let acquired = saver.acquire(claim).await?;
                assert!(matches!(acquired, Acquired::Now(_)), "{acquired:?}");
            }
            Self::Put => {
                let namespace = Namespace::new(&[name.as_str()]).expect("a name");
                let (key, value) = ("k".to_owned(), json("1"));
                let put = Put { namespace: namespace.clone(), key, value, expires_ms: None };
                saver.store().put(put, 0).await.expect("it is stored");
                assert!(other.store().get(&namespace, "k", 0).await.expect("it is read").is_some());
            }
            Self::Load => {
                let head = saver.read(name, At::Head).await?.expect("it is there");
                assert_eq!(head.checkpoint.id, first.id);
            }
        }
        Ok(())
    }
}

/// Each request succeeds, and is carried out once.
#[test]
fn a_request_is_carried_out_once_wherever_its_connection_ends() {
    let Some(cluster) = Cluster::shared() else { return };
    let stride = if std::env::var_os("SUPERSTEP_TORTURE").is_some() { 1 } else { STRIDE };
    run(async {
        let options = || PostgresSaver::options().schema("cuts").connections(1);
        let other = options().open(cluster.url("superstep")).await.expect("it opens");
        other.register(&graph()).await.expect("it is registered");
        let other = Arc::new(other);
        let proxy = Proxy::to(cluster.folder());
        let saver = options().busy_limit(Duration::from_secs(60)).open(proxy.url()).await.expect("it opens");
        for request in Request::ALL {
            for way in [Way::Request, Way::Answer] {
                let mut cuts = 0;
                for after in (0..).step_by(stride) {
                    let name = thread(&format!("{request:?}, {way:?}, {after}"));
                    let first = step(None, [set(0, "[]")]);
                    let put = other.commit(commit_of(name.as_str(), &first)).await.expect("it is stored");
                    assert!(matches!(put, Committed::New));
                    let at = Written { saver: saver.clone(), other: Arc::clone(&other), name, first };
                    request.prepare(&at).await.expect("it is stored");
                    // The connection exists, so that it is the request that is cut.
                    saver.read(&thread("none"), At::Head).await.expect("it connects");
                    proxy.cut(way, after);
                    request.send(&at).await.unwrap_or_else(|error| panic!("{}: {error}", at.name));
                    if !proxy.has_cut(way) {
                        break;
                    }
                    cuts += 1;
                }
                println!("{request:?}: {cuts} connections ended in its {way:?}");
                assert!(cuts > 0, "the request was not cut");
            }
        }
    });
}
