//! The material of the tests: a small graph description, checkpoints, and the savers they run against.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::future::Future;
use std::sync::Arc;

use superstep_checkpoint::{Key, KeyRing, SqliteSaver};
pub(crate) use superstep_conformance::material::*;
use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Committed, Loaded, MemorySaver,
};
use superstep_core::id::CheckpointId;
use superstep_core::state::Change;

pub(crate) type Saver = Arc<dyn Checkpointer>;

/// Runs one test against a saver.
pub(crate) fn run<F: Future<Output = ()>>(test: F) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(test);
}

/// Runs `test` against every saver.
pub(crate) fn on_every_saver<F: Future<Output = ()>>(test: impl Fn(Saver) -> F) {
    run(async {
        test(registered(Arc::new(MemorySaver::new())).await).await;
        test(registered(Arc::new(SqliteSaver::in_memory().await.unwrap())).await).await;
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteSaver::open(folder.path().join("on_every_saver.db")).await.unwrap();
        test(registered(Arc::new(file)).await).await;
        let sealed = SqliteSaver::options().encrypt(KeyRing::new("2026", Key::new([7; 32])));
        let file = sealed.open(folder.path().join("encrypted.db")).await.unwrap();
        test(registered(Arc::new(file)).await).await;
    });
}

/// A saver that knows [`graph`].
pub(crate) async fn registered(saver: Saver) -> Saver {
    saver.register(&graph()).await.unwrap();
    saver
}

/// Commits, expecting it to be new.
pub(crate) async fn put(saver: &Saver, name: &str, checkpoint: &Checkpoint) {
    let committed = saver.commit(commit_of(name, checkpoint)).await.unwrap();
    assert!(matches!(committed, Committed::New), "{committed:?}");
}

/// Commits a step after `parent` and returns it.
pub(crate) async fn advance(
    saver: &Saver,
    name: &str,
    parent: Option<&Checkpoint>,
    changes: impl Into<Vec<Change>>,
) -> Checkpoint {
    let next = step(parent, changes);
    put(saver, name, &next).await;
    next
}

pub(crate) async fn head(saver: &Saver, name: &str) -> Loaded {
    saver.read(&thread(name), At::Head).await.unwrap().unwrap()
}

pub(crate) async fn at(saver: &Saver, name: &str, id: CheckpointId) -> Loaded {
    saver.read(&thread(name), At::Id(id)).await.unwrap().unwrap()
}

/// The values as text, by field id.
pub(crate) fn values(loaded: &Loaded) -> Vec<(u16, String)> {
    loaded.values.iter().map(|value| (value.field.0, value.value.as_str().to_owned())).collect()
}
