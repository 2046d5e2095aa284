//! The store that an item works with, and the calls that most items make.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Commit, Committed, Loaded, StepRecord, Summary,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::Change;

use super::material::{self, GRAPH, commit_of, graph, thread};
use super::subject::Opened;
use super::verdict::{Stop, Verdict, failed, is, unopened};

/// A store that contains only the [graph](material::graph).
pub(super) struct Bench<'b> {
    pub(super) saver: Arc<dyn Checkpointer>,
    opened: &'b dyn Opened,
}

impl<'b> Bench<'b> {
    pub(super) async fn new(saver: Arc<dyn Checkpointer>, opened: &'b dyn Opened) -> Result<Self, Stop> {
        saver.register(&graph()).await?;
        Ok(Self { saver, opened })
    }

    /// Opens the same store once more.
    pub(super) async fn reopened(&self) -> Result<Bench<'b>, Stop> {
        match self.opened.reopen().await {
            Ok(Some(saver)) => Ok(Bench { saver, opened: self.opened }),
            Ok(None) => Err(Stop::NotApplicable("the store cannot be opened a second time")),
            Err(error) => Err(unopened(&error)),
        }
    }

    /// Opens another store, whose clock the item controls.
    pub(super) async fn with_clock(&self) -> Result<(Bench<'b>, Hand), Stop> {
        let hand = Hand(Arc::new(AtomicU64::new(Hand::START)));
        let now = Arc::clone(&hand.0);
        match self.opened.fresh_at(Arc::new(move || now.load(Ordering::Relaxed))).await {
            Ok(Some(saver)) => Ok((Bench::new(saver, self.opened).await?, hand)),
            Ok(None) => Err(Stop::NotApplicable("the clock of the store cannot be moved")),
            Err(error) => Err(unopened(&error)),
        }
    }

    /// Commits, and expects the checkpoint to be new.
    #[track_caller]
    pub(super) fn put(&self, name: &str, checkpoint: &Checkpoint) -> impl Future<Output = Verdict> + Send {
        self.put_as(commit_of(name, checkpoint))
    }

    /// Commits, and expects the checkpoint to be new.
    pub(super) fn put_as(&self, commit: Commit) -> impl Future<Output = Verdict> + Send {
        let saver = self.saver.clone();
        async move {
            is!("a commit that continues the head", saver.commit(commit).await?, Committed::New);
            Ok(())
        }
    }

    /// Commits a step after `parent`, and returns it.
    pub(super) async fn advance(
        &self,
        name: &str,
        parent: Option<&Checkpoint>,
        changes: impl Into<Vec<Change>>,
    ) -> Result<Checkpoint, Stop> {
        let next = material::step(parent, changes);
        self.put(name, &next).await?;
        Ok(next)
    }

    /// Returns the head of a thread, which must exist.
    pub(super) async fn head(&self, name: &str) -> Result<Loaded, Stop> {
        self.load(name, At::Head).await
    }

    /// Returns a checkpoint of a thread, which must exist.
    pub(super) async fn at(&self, name: &str, id: CheckpointId) -> Result<Loaded, Stop> {
        self.load(name, At::Id(id)).await
    }

    async fn load(&self, name: &str, at: At) -> Result<Loaded, Stop> {
        let shown = format!("thread {name} at {at:?}");
        let found = self.saver.read(&thread(name), at).await?;
        found.ok_or_else(|| failed(shown, "a checkpoint", "none"))
    }

    pub(super) async fn is_there(&self, name: &ThreadId) -> Result<bool, Stop> {
        Ok(self.saver.read(name, At::Head).await?.is_some())
    }

    /// Returns a thread's past, newest first.
    pub(super) async fn history(&self, name: &str) -> Result<Vec<Summary>, Stop> {
        Ok(self.saver.history(&thread(name), At::Head, usize::MAX).await?)
    }

    /// Returns the ids of a thread's past, newest first.
    pub(super) async fn ids(&self, name: &str) -> Result<Vec<CheckpointId>, Stop> {
        Ok(self.history(name).await?.iter().map(|line| line.id).collect())
    }

    pub(super) async fn steps(&self, name: &str) -> Result<Vec<StepRecord>, Stop> {
        Ok(self.saver.steps(&thread(name), At::Head, usize::MAX).await?)
    }

    /// Returns the names of all threads in the list.
    pub(super) async fn names(&self) -> Result<Vec<String>, Stop> {
        Ok(self.saver.threads().await?.iter().map(|summary| summary.thread.to_string()).collect())
    }

    pub(super) async fn delete(&self, name: &str) -> Verdict {
        Ok(self.saver.delete(&NodeName::from(GRAPH), &thread(name)).await?)
    }
}

/// A handle that moves the clock of a store.
pub(super) struct Hand(Arc<AtomicU64>);

impl Hand {
    /// The initial time of the clock, in milliseconds since the Unix epoch.
    pub(super) const START: u64 = 1_700_000_000_000;

    pub(super) fn turn(&self, millis: i64) {
        self.0.fetch_add(millis.cast_unsigned(), Ordering::Relaxed);
    }
}

/// Returns the values as text, by field id.
pub(super) fn values(loaded: &Loaded) -> Vec<(u16, &str)> {
    loaded.values.iter().map(|value| (value.field.0, value.value.as_str())).collect()
}
