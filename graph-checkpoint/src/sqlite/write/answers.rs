//! Answers to open questions, by a caller or by a deadline.

use superstep_core::checkpoint::{AnsweredBy, AskRecord, Carried, StoreError};
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::state::Json;

use crate::error::corrupt;
use crate::pending::Seen;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::pending::{self, ask};
use crate::sqlite::write::cache::WriteCache;

impl WriteCache {
    pub(crate) fn answer(
        &mut self,
        thread: &ThreadId,
        answers: &[(InterruptId, Json)],
    ) -> Result<(CheckpointId, Carried), StoreError> {
        let known = self.know(thread)?;
        let place = self.threads.get_mut(thread).filter(|_| known).map(|known| {
            known.work.touch();
            (WorkKey { thread: known.row, base: known.head }, known.head_id)
        });
        let seen = |place: WorkKey| Seen { seq: place.base, worker: place.thread, head: true };
        let asks = match place {
            None => Vec::new(),
            Some((place, _)) => ask::on(&self.connection, seen(place))?,
        };
        for (position, (interrupt, _)) in answers.iter().enumerate() {
            let ask = asks.iter().find(|ask| ask.id == *interrupt);
            let ask =
                ask.ok_or_else(|| StoreError::NoInterrupt { thread: thread.clone(), interrupt: *interrupt })?;
            let twice = answers[..position].iter().any(|(earlier, _)| earlier == interrupt);
            if ask.answer.is_some() || twice {
                return Err(StoreError::AlreadyAnswered(*interrupt));
            }
        }
        let Some((place, head)) = place else {
            return Err(StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: "its head".into() });
        };
        for (interrupt, answer) in answers {
            let asked = asks.iter().find(|ask| ask.id == *interrupt);
            let asked = asked.ok_or_else(|| corrupt("a question", "it was there and is gone"))?;
            let answered = AskRecord { answer: Some(answer.clone()), ..asked.clone() };
            ask::answer(&self.connection, place, &answered)?;
        }
        Ok((head, pending::on(&self.connection, seen(place))?))
    }

    /// Answers the questions whose deadline has passed with their defaults, and returns them.
    pub(crate) fn expire(
        &mut self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let due = ask::open(&self.connection, graph, ask::Open::Due(latest(now_ms)))?;
        let mut expired = Vec::new();
        for (name, place) in due.into_iter().filter(|(name, _)| thread.is_none_or(|thread| thread == name)) {
            if let Some(known) = self.threads.get_mut(&name) {
                known.work.touch();
            }
            let asks = ask::on(&self.connection, Seen { seq: place.base, worker: place.thread, head: true })?;
            for mut asked in asks.into_iter().filter(|asked| asked.is_overdue(now_ms)) {
                asked.answer = asked.deadline.as_ref().map(|deadline| deadline.default.clone());
                asked.answered_by = AnsweredBy::Deadline;
                ask::answer(&self.connection, place, &asked)?;
                expired.push((name.clone(), asked));
            }
        }
        Ok(expired)
    }
}

/// Converts a time to SQLite's integers, for comparisons.
pub(crate) fn latest(now_ms: u64) -> i64 {
    i64::try_from(now_ms).unwrap_or(i64::MAX)
}
