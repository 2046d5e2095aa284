//! The requests of graphs to the saver.

use std::sync::Arc;

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    LeaseRecord, LeaseReply, LeaseRequest, Load, Mark, Naming, Page, Record, Scan, StoreError, TaskResult,
    Watch, Work,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::records::Records;

use super::SqliteSaver;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::FileError;
use crate::sqlite::pending::ask;
use crate::sqlite::read::named;
use crate::sqlite::read::reader;
use crate::sqlite::snapshots;
use crate::sqlite::write::answers::latest;
use crate::sqlite::write::queue::Kind;
use crate::sqlite::write::turn::Turn;

#[async_trait]
impl Checkpointer for SqliteSaver {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let graph = graph.clone();
        self.request(move |turn| turn.cache.register(&graph)).await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let name = thread.clone();
        self.query(Some(thread), move |connection| reader::load(connection, &name, &at, known)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let thread = commit.thread.clone();
        let (checkpoint, recorded, is_last) =
            (Arc::clone(&commit.checkpoint), commit.recorded, commit.is_last);
        let kind = Kind::Commit { thread: thread.clone(), checkpoint, recorded, is_last };
        let committed = self.write(kind, move |turn| turn.commit(&commit)).await;
        self.shared().sessions.end(&thread);
        self.shared().drawn.end(&thread);
        if let (Some(pruner), Ok(Committed::New)) = (self.pruner(), &committed) {
            pruner.committed();
        }
        committed
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        let thread = thread.clone();
        match work {
            Work::Finished(result) => {
                result.check(&self.limits())?;
                self.record_result(&thread, base, result).await.map(Some)
            }
            Work::Failure(failure) => {
                failure.check(&self.limits())?;
                self.hand_over(Kind::Short, move |turn| turn.fail(&thread, base, &failure));
                Ok(None)
            }
            Work::Asks(asks) => {
                asks.iter().try_for_each(|ask| ask.check(&self.limits()))?;
                self.request(move |turn| turn.ask(&thread, base, &asks)).await.map(|()| None)
            }
        }
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let thread = thread.clone();
        match write {
            EffectWrite::Begin(effect) => {
                effect.check(&self.limits())?;
                self.request(move |turn| turn.begin_effect(&thread, base, &effect)).await
            }
            EffectWrite::End { effect, outcome } => {
                outcome.check(&self.limits())?;
                let end =
                    move |turn: &mut Turn<'_>| turn.end_effect(&thread, base, &effect, &outcome).map(Ok);
                self.write(Kind::Outcome, end).await.map(|()| None)
            }
            EffectWrite::Note(effect) => {
                effect.check(&self.limits())?;
                if !self.shared().drawn.counts(&thread, base, self.fence(), &effect) {
                    return Err(StoreError::Superseded { thread, base });
                }
                self.hand_over(Kind::Short, move |turn| turn.note_effect(&thread, base, &effect));
                Ok(None)
            }
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } => {
                answers.iter().try_for_each(|(_, answer)| answer.check(&self.limits()))?;
                let (head, work) = self.request(move |turn| turn.cache.answer(&thread, &answers)).await?;
                Ok(Answered::OnHead { head, work })
            }
            Answers::Overdue { graph, thread, now_ms } => {
                let name = graph.clone();
                // Usually there is none, and then nothing is written.
                let due = move |connection: &Connection| {
                    ask::open(connection, &name, ask::Open::Due(latest(now_ms)))
                };
                if self.query(None, due).await?.is_empty() {
                    return Ok(Answered::Expired(Vec::new()));
                }
                let expire = move |turn: &mut Turn<'_>| turn.cache.expire(&graph, thread.as_ref(), now_ms);
                self.request(expire).await.map(Answered::Expired)
            }
        }
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let name = thread.clone();
        self.write(Kind::Flush(thread.clone()), move |turn| turn.flush(&name)).await?;
        // Everything is written: if the superstep continues, it starts from the contents of the file.
        self.shared().sessions.end(thread);
        Ok(())
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        let thread = match &scan {
            Scan::History(past) | Scan::Steps(past) => Some(past.thread.clone()),
            _ => None,
        };
        self.query(thread.as_ref(), move |connection| snapshots::scan(connection, &scan)).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.request(move |turn| named::change(&turn.cache.connection, &thread, &naming)).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.request(move |turn| turn.cache.fork(&from, at, &to)).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let (graph, name) = (graph.clone(), thread.clone());
        let deleted = self.write(Kind::Long, move |turn| turn.delete(&graph, &name).map(Ok)).await;
        self.shared().sessions.end_on_or_below(thread);
        self.shared().drawn.end_on_or_below(thread);
        deleted
    }

    async fn keep_latest(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        self.prune_to_latest(threads).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        self.request_unsynced(move |turn| turn.lease(&request)).await
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { open: Arc::clone(&self.open), lease: Some(Arc::new(lease.clone())) }))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(self.rows())
    }

    async fn watch(&self, Watch { since, .. }: Watch) -> Result<Mark, StoreError> {
        let answer = self.open.watcher.ask(self.shared(), since)?;
        answer.await.map_err(|_| FileError::WriterGone)?
    }
}
