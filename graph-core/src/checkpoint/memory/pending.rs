//! The unfinished work on top of heads: results, failures, questions, effects.

use alloc::vec::Vec;

use super::store::Store;
use crate::checkpoint::commit::Carried;
use crate::checkpoint::{
    Answered, AnsweredBy, AskRecord, EffectId, EffectOutcome, EffectRecord, FailureRecord, StoreError,
    TaskResult,
};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::Json;

impl Store {
    /// Returns the work on top of `base`, if that is the head of `thread`.
    fn work(&mut self, thread: &ThreadId, base: CheckpointId) -> Result<&mut Carried, StoreError> {
        let superseded = || StoreError::Superseded { thread: thread.clone(), base };
        // A thread that does not exist was deleted.
        let held = self.threads.get_mut(thread).ok_or_else(superseded)?;
        if self.checkpoints[held.head].checkpoint.id == base {
            return Ok(&mut held.work);
        }
        if self.by_id.contains_key(&base) {
            return Err(superseded());
        }
        Err(Self::missing(thread, base))
    }

    /// Returns the work on top of `base`; `None` if the superstep on `base` is over.
    fn current_work(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
    ) -> Result<Option<&mut Carried>, StoreError> {
        match self.work(thread, base) {
            Ok(work) => Ok(Some(work)),
            Err(StoreError::Superseded { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn record(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        // If the superstep is over, the next commit reports it.
        let Some(work) = self.current_work(thread, base)? else { return Ok(result) };
        work.failures.retain(|failure| failure.task != result.task);
        let Some(held) = work.results.iter_mut().find(|held| held.task == result.task) else {
            work.results.push(result.clone());
            return Ok(result);
        };
        if held.targets.is_none() {
            held.targets = result.targets;
            held.handled = result.handled;
        }
        Ok(held.clone())
    }

    pub(super) fn fail(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        let Some(work) = self.current_work(thread, base)? else { return Ok(()) };
        if work.results.iter().all(|result| result.task != failure.task) {
            work.failures.retain(|held| held.task != failure.task);
            work.failures.push(failure);
        }
        Ok(())
    }

    pub(super) fn ask(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        let work = self.work(thread, base)?;
        let given_up = |held: &AskRecord| {
            held.answer.is_none()
                && asks.iter().any(|ask| ask.task == held.task)
                && asks.iter().all(|ask| ask.id != held.id)
        };
        work.asks.retain(|held| !given_up(held));
        for ask in asks {
            if work.asks.iter().all(|held| held.id != ask.id) {
                work.asks.push(ask);
            }
        }
        Ok(())
    }

    pub(super) fn answer(
        &mut self,
        thread: &ThreadId,
        answers: Vec<(InterruptId, Json)>,
    ) -> Result<Answered, StoreError> {
        let mut none = Carried::default();
        let held = self.threads.get_mut(thread);
        let head = held.as_ref().map(|held| held.head);
        let work = held.map_or(&mut none, |held| &mut held.work);
        let mut places = Vec::with_capacity(answers.len());
        for (interrupt, _) in &answers {
            let place = work.asks.iter().position(|ask| ask.id == *interrupt);
            let place = place
                .ok_or_else(|| StoreError::NoInterrupt { thread: thread.clone(), interrupt: *interrupt })?;
            if work.asks[place].answer.is_some() || places.contains(&place) {
                return Err(StoreError::AlreadyAnswered(*interrupt));
            }
            places.push(place);
        }
        for (place, (_, answer)) in places.into_iter().zip(answers) {
            work.asks[place].answer = Some(answer);
        }
        let work = work.clone();
        let head = head.ok_or_else(|| Self::missing(thread, "its head"))?;
        Ok(Answered::OnHead { head: self.checkpoints[head].checkpoint.id, work })
    }

    /// Answers the overdue questions of `graph` with their defaults, and returns them by thread.
    pub(super) fn expire(
        &mut self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Vec<(ThreadId, AskRecord)> {
        let is_meant = |name: &ThreadId| thread.is_none_or(|thread| thread == name) && !name.is_below();
        let threads = self.threads.iter_mut().filter(|(name, held)| is_meant(name) && held.graph == *graph);
        let mut expired = Vec::new();
        for (name, held) in threads {
            for ask in held.work.asks.iter_mut().filter(|ask| ask.is_overdue(now_ms)) {
                ask.answer = ask.deadline.as_ref().map(|deadline| deadline.default.clone());
                ask.answered_by = AnsweredBy::Deadline;
                expired.push((name.clone(), ask.clone()));
            }
        }
        expired.sort_by(|(a, _), (b, _)| a.cmp(b));
        expired
    }

    /// Lists the questions of `graph` that wait for an answer, by thread.
    pub(super) fn open_asks(&self, graph: &NodeName) -> Vec<(ThreadId, AskRecord)> {
        let threads = self.threads.iter().filter(|(name, held)| !name.is_below() && held.graph == *graph);
        let open = threads.flat_map(|(name, held)| {
            held.work.asks.iter().filter(|ask| ask.is_open()).map(move |ask| (name.clone(), ask.clone()))
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        open
    }

    pub(super) fn begin_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let work = self.work(thread, base)?;
        match work.effects.iter_mut().find(|held| held.id == effect.id) {
            Some(held) if effect.follows(Some(held)) => *held = effect,
            Some(held) => return Ok(Some(held.clone())),
            None => work.effects.push(effect),
        }
        Ok(None)
    }

    pub(super) fn end_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        let Some(work) = self.current_work(thread, base)? else { return Ok(()) };
        if let Some(held) = work.effects.iter_mut().find(|held| held.id == *effect) {
            if held.is_settled_otherwise(&outcome) {
                return Err(StoreError::Superseded { thread: thread.clone(), base });
            }
            held.outcome = Some(outcome);
        }
        Ok(())
    }

    pub(super) fn note_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        let outcome = effect.outcome.clone();
        match self.begin_effect(thread, base, effect) {
            Err(StoreError::Superseded { .. }) => Ok(()),
            Ok(Some(held)) if held.outcome != outcome => {
                Err(StoreError::Superseded { thread: thread.clone(), base })
            }
            done => done.map(drop),
        }
    }
}
