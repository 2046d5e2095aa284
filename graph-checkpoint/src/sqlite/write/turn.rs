//! The requests of a saver, as they run inside the writer's transaction.

use superstep_core::checkpoint::{
    AskRecord, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord, LeaseReply,
    LeaseRequest, StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

use crate::sqlite::options::LeaseClock;
use crate::sqlite::pending::{ask, effect, results};
use crate::sqlite::write::cache::WriteCache;
use crate::sqlite::write::deferred_errors::DeferredErrors;
use crate::sqlite::write::lease;
use crate::sqlite::write::queue::Outcome;

/// The writer's state during one request: the open transaction, and the cached data.
pub(crate) struct Turn<'l> {
    pub(crate) cache: &'l mut WriteCache,
    pub(crate) deferred_errors: &'l mut DeferredErrors,
    pub(crate) clock: Option<&'l LeaseClock>,
}

impl Turn<'_> {
    pub(crate) fn commit(&mut self, commit: &Commit) -> Outcome<Committed> {
        match self.deferred_errors.of_commit(commit) {
            Some(fault) => Ok(Err(fault)),
            None => self.cache.commit(commit).map(Ok),
        }
    }

    pub(crate) fn record(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        result: &TaskResult,
    ) -> Result<(), StoreError> {
        let fault = match self.cache.record(thread, base, result) {
            Ok(true) | Err(StoreError::Superseded { .. }) => None,
            // Another driver's result of this task was first, and the run has already used this one: the superstep
            // cannot be committed with it.
            Ok(false) => Some(StoreError::Superseded { thread: thread.clone(), base }),
            Err(error) => Some(error),
        };
        self.deferred_errors.unwaited(thread, base, fault)
    }

    pub(crate) fn fail(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: &FailureRecord,
    ) -> Result<(), StoreError> {
        let place = self.cache.place(thread, base);
        let failed = place.and_then(|place| results::fail(&self.cache.connection, place, failure));
        let fault = match failed {
            Ok(()) | Err(StoreError::Superseded { .. }) => None,
            Err(error) => Some(error),
        };
        self.deferred_errors.unwaited(thread, base, fault)
    }

    pub(crate) fn ask(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: &[AskRecord],
    ) -> Result<(), StoreError> {
        let place = self.cache.place(thread, base)?;
        ask::instead(&self.cache.connection, place, asks)
    }

    pub(crate) fn begin_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let place = self.cache.place_of_effect(thread, base)?;
        effect::begin(&self.cache.connection, place, effect)
    }

    pub(crate) fn end_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: &EffectOutcome,
    ) -> Result<(), StoreError> {
        let place = self.cache.place_of_effect(thread, base);
        match place.and_then(|place| effect::end(&self.cache.connection, place, effect, outcome)) {
            Ok(true) | Err(StoreError::Superseded { .. }) => Ok(()),
            // Another run's success was first.
            Ok(false) => Err(StoreError::Superseded { thread: thread.clone(), base }),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn note_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectRecord,
    ) -> Result<(), StoreError> {
        let fault = match self.begin_effect(thread, base, effect) {
            // Another run's value was first, and the run has already used this one.
            Ok(Some(held)) if held.outcome != effect.outcome => {
                Some(StoreError::Superseded { thread: thread.clone(), base })
            }
            Ok(_) | Err(StoreError::Superseded { .. }) => None,
            Err(error) => Some(error),
        };
        self.deferred_errors.unwaited(thread, base, fault)
    }

    pub(crate) fn delete(&mut self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.cache.delete(graph, thread)?;
        drop(self.deferred_errors.take(thread));
        Ok(())
    }

    pub(crate) fn lease(&mut self, request: &LeaseRequest) -> Result<LeaseReply, StoreError> {
        let connection = &self.cache.connection;
        match request {
            LeaseRequest::Acquire(claim) => {
                lease::acquire(connection, claim, lease::now(connection, self.clock)?)
            }
            LeaseRequest::Renew(held) => {
                let renewed = lease::renew(connection, held, lease::now(connection, self.clock)?)?;
                Ok(LeaseReply::Held(renewed))
            }
            LeaseRequest::RenewAll(all) => {
                let now_ms = lease::now(connection, self.clock)?;
                let renew = |held| match lease::renew(connection, held, now_ms) {
                    Ok(renewed) => Ok(Some(renewed)),
                    Err(StoreError::LeaseLost { .. }) => Ok(None),
                    Err(error) => Err(error),
                };
                all.iter().map(renew).collect::<Result<_, _>>().map(LeaseReply::Renewed)
            }
            LeaseRequest::Release(held) => lease::release(connection, held).map(|()| LeaseReply::Free(None)),
            LeaseRequest::Break(thread) => {
                // A damaged lease is deleted, too.
                let broken = lease::find(connection, thread).unwrap_or(None);
                lease::take(connection, thread).map(|()| LeaseReply::Free(broken))
            }
        }
    }

    pub(crate) fn flush(&mut self, thread: &ThreadId) -> Outcome<()> {
        Ok(self.deferred_errors.take(thread).map_or(Ok(()), Err))
    }
}
