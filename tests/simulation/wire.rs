//! The store as one driver sees it: every call travels there and back, and may be lost on either way.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use superstep::checkpoint::{
    AskRecord, At, Checkpointer, CheckpointerExt, EffectId, EffectOutcome, EffectRecord, GraphDescription,
    Source, StoreError,
};
use superstep::driver::checkpoint::{
    Answered, Answers, Around, Commit, Committed, EffectWrite, FailureRecord, Load, Page, Scan, TaskResult,
    Work as Pending,
};
use superstep::id::{CheckpointId, InterruptId, ThreadId};
use superstep::state::Json;
use tokio::sync::oneshot;

use crate::facts::Deed;
use crate::world::{Fate, Parcel, Reply, World, failure};

/// The connection of one driver to the store.
pub(crate) struct Wire {
    pub(crate) world: World,
    pub(crate) driver: usize,
    pub(crate) store: Arc<dyn Checkpointer>,
    /// `true` if the store queues some calls without waiting for them. Then the simulation waits, because it determines
    /// the order.
    pub(crate) defers: bool,
}

/// Waits until a store has executed its queued calls: it reads its own writes.
async fn settle(store: &dyn Checkpointer, thread: &ThreadId, defers: bool) -> Result<(), StoreError> {
    if defers {
        store.history(thread, At::Head, 1).await?;
    }
    Ok(())
}

type Work<T> = BoxFuture<'static, Result<T, StoreError>>;

impl Wire {
    /// Sends a call to the store, and waits for the reply.
    async fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        may_repeat: bool,
        work: impl Fn(Arc<dyn Checkpointer>) -> Work<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = oneshot::channel();
        let store = Arc::clone(&self.store);
        let travels = move |fate: Fate| -> BoxFuture<'static, Reply> {
            Box::pin(async move {
                let result = match fate {
                    Fate::Refused => Err(failure()),
                    Fate::Done => work(store).await,
                    Fate::Unacknowledged => work(store).await.and_then(|_| Err(failure())),
                    // A refused call is not retried.
                    Fate::Repeated => match work(Arc::clone(&store)).await {
                        Ok(_) => work(store).await,
                        Err(error) => Err(error),
                    },
                };
                // A crashed driver receives nothing.
                Box::new(move || drop(tell.send(result))) as Reply
            })
        };
        let parcel = Parcel { driver: self.driver, what, may_repeat, work: Box::new(travels) };
        self.world.lock().parcels.push(parcel);
        match told.await {
            Ok(result) => result,
            Err(_) => pending().await,
        }
    }

    async fn send_result(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        let (world, thread) = (self.world.clone(), thread.clone());
        let defers = self.defers;
        self.call("record", true, move |store| {
            let (world, thread, result) = (world.clone(), thread.clone(), result.clone());
            Box::pin(async move {
                let counts = store.record_result(&thread, base, result.clone()).await?;
                settle(&*store, &thread, defers).await?;
                let facts = &mut world.lock().facts;
                if counts != result {
                    facts.see("a result that came second");
                }
                facts.deeds.push(Deed::Recorded { thread, base, result });
                Ok(counts)
            })
        })
        .await
    }

    async fn send_failure(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        let (thread, defers) = (thread.clone(), self.defers);
        self.call("fail", true, move |store| {
            let (thread, failure) = (thread.clone(), failure.clone());
            Box::pin(async move {
                store.fail(&thread, base, failure).await?;
                settle(&*store, &thread, defers).await
            })
        })
        .await
    }

    async fn send_asks(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        let (world, thread) = (self.world.clone(), thread.clone());
        self.call("ask", true, move |store| {
            let (world, thread, asks) = (world.clone(), thread.clone(), asks.clone());
            Box::pin(async move {
                store.ask(&thread, base, asks.clone()).await?;
                world.lock().facts.asked(&thread, &asks);
                Ok(())
            })
        })
        .await
    }

    async fn send_answers(
        &self,
        thread: ThreadId,
        answers: Vec<(InterruptId, Json)>,
    ) -> Result<Answered, StoreError> {
        let (world, driver) = (self.world.clone(), self.driver);
        self.call("answer", false, move |store| {
            let (world, thread, answers) = (world.clone(), thread.clone(), answers.clone());
            Box::pin(async move {
                let (head, work) = store.answer_all(&thread, answers.clone()).await?;
                let facts = &mut world.lock().facts;
                facts.answered(&thread, &answers);
                facts.learns(driver, &work.effects);
                Ok(Answered::OnHead { head, work })
            })
        })
        .await
    }

    async fn send_begin(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let (world, driver, thread) = (self.world.clone(), self.driver, thread.clone());
        self.call("begin_effect", false, move |store| {
            let (world, thread, effect) = (world.clone(), thread.clone(), effect.clone());
            Box::pin(async move {
                let held = store.begin_effect(&thread, base, effect).await?;
                if let Some(held) = &held {
                    let facts = &mut world.lock().facts;
                    facts.see("an effect that another driver began first");
                    facts.learns(driver, std::slice::from_ref(held));
                }
                Ok(held)
            })
        })
        .await
    }

    async fn send_end(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        let thread = thread.clone();
        let (world, driver) = (self.world.clone(), self.driver);
        self.call("end_effect", true, move |store| {
            let (world, thread, effect, outcome) =
                (world.clone(), thread.clone(), effect.clone(), outcome.clone());
            Box::pin(async move {
                let succeeds = matches!(outcome, EffectOutcome::Ok(_));
                store.end_effect(&thread, base, &effect, outcome).await?;
                if succeeds {
                    world.lock().facts.succeeds(driver, (thread, base), effect);
                }
                Ok(())
            })
        })
        .await
    }

    async fn send_note(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        let (thread, defers) = (thread.clone(), self.defers);
        let (world, driver) = (self.world.clone(), self.driver);
        self.call("note_effect", true, move |store| {
            let (world, thread, effect) = (world.clone(), thread.clone(), effect.clone());
            Box::pin(async move {
                let id = effect.id.clone();
                store.note_effect(&thread, base, effect).await?;
                settle(&*store, &thread, defers).await?;
                world.lock().facts.succeeds(driver, (thread, base), id);
                Ok(())
            })
        })
        .await
    }
}

#[async_trait]
impl Around for Wire {
    // Calls that no run makes are passed on directly.
    fn inner(&self) -> &dyn Checkpointer {
        &*self.store
    }

    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let graph = Arc::new(graph.clone());
        self.call("register", true, move |store| {
            let graph = Arc::clone(&graph);
            Box::pin(async move { store.register(&graph).await })
        })
        .await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let thread = thread.clone();
        let (world, driver) = (self.world.clone(), self.driver);
        self.call("load", true, move |store| {
            let (world, thread, at) = (world.clone(), thread.clone(), at.clone());
            Box::pin(async move {
                let load = store.load(&thread, at, known).await?;
                let effects = match &load {
                    Load::Missing => &[][..],
                    Load::Unchanged(work) => &work.effects,
                    Load::Whole(loaded) => &loaded.effects,
                };
                world.lock().facts.learns(driver, effects);
                Ok(load)
            })
        })
        .await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let (world, driver) = (self.world.clone(), self.driver);
        let stored = commit.input.iter().chain([&commit.checkpoint]);
        let places: Vec<_> = stored.map(|stored| (commit.thread.clone(), stored.id)).collect();
        let done = self
            .call("commit", true, move |store| {
                let (world, commit) = (world.clone(), commit.clone());
                Box::pin(async move {
                    let thread = commit.thread.clone();
                    let stored = commit.input.iter().chain([&commit.checkpoint]);
                    let parents: Vec<_> = stored.map(|stored| stored.parent).collect();
                    let passed = parents[0].filter(|_| commit.first().source == Source::Loop);
                    let done = store.commit(commit).await;
                    let facts = &mut world.lock().facts;
                    match &done {
                        Ok(Committed::New) => {
                            if let Some(passed) = passed {
                                facts.passes(driver, &(thread.clone(), passed));
                            }
                            let committed = |parent| Deed::Committed { thread: thread.clone(), parent };
                            facts.deeds.extend(parents.into_iter().map(committed));
                        }
                        Ok(Committed::Already) => facts.see("a commit that was there already"),
                        Ok(Committed::Outrun(loaded)) => {
                            facts.see("a commit that did not know what was recorded");
                            facts.learns(driver, &loaded.effects);
                        }
                        Ok(Committed::Adopt(loaded)) => {
                            facts.see("a checkpoint of another driver, adopted");
                            facts.learns(driver, &loaded.effects);
                        }
                        Ok(Committed::Conflict { .. }) => facts.see("a commit that was too late"),
                        Err(_) => {}
                    }
                    done
                })
            })
            .await?;
        if matches!(done, Committed::New | Committed::Already) {
            self.world.lock().facts.acknowledged.extend(places);
        }
        Ok(done)
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Pending,
    ) -> Result<Option<TaskResult>, StoreError> {
        match work {
            Pending::Finished(result) => self.send_result(thread, base, result).await.map(Some),
            Pending::Failure(failure) => self.send_failure(thread, base, failure).await.map(|()| None),
            Pending::Asks(asks) => self.send_asks(thread, base, asks).await.map(|()| None),
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } => self.send_answers(thread, answers).await,
            overdue @ Answers::Overdue { .. } => self.store.answer(overdue).await,
        }
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        match write {
            EffectWrite::Begin(effect) => self.send_begin(thread, base, effect).await,
            EffectWrite::End { effect, outcome } => {
                self.send_end(thread, base, effect, outcome).await.map(|()| None)
            }
            EffectWrite::Note(effect) => self.send_note(thread, base, effect).await.map(|()| None),
        }
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.call("flush", true, move |store| {
            let thread = thread.clone();
            Box::pin(async move { store.flush(&thread).await })
        })
        .await
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        let what = match &scan {
            Scan::History(_) => "history",
            Scan::Steps(_) => "steps",
            _ => return self.store.scan(scan).await,
        };
        let (world, driver) = (self.world.clone(), self.driver);
        self.call(what, true, move |store| {
            let (world, scan) = (world.clone(), scan.clone());
            Box::pin(async move {
                let page = store.scan(scan).await?;
                if let Page::Steps(steps) = &page {
                    let effects = steps.iter().map(|step| &step.work.effects);
                    effects.for_each(|effects| world.lock().facts.learns(driver, effects));
                }
                Ok(page)
            })
        })
        .await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.call("fork", false, move |store| {
            let (from, to) = (from.clone(), to.clone());
            Box::pin(async move { store.fork(&from, at, &to).await })
        })
        .await
    }
}
