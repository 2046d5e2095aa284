//! The simulation's own record of events, independent of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::checkpoint::{AskRecord, EffectId, EffectOutcome, EffectRecord};
use superstep::driver::checkpoint::TaskResult;
use superstep::id::{CheckpointId, InterruptId, TaskId, ThreadId};
use superstep::node::{EffectAnswer, EffectQuestion, OnUnknown};
use superstep::run::Status;
use superstep::state::Json;

use crate::graphs::Ledger;
use crate::world::Counts;

#[derive(Default)]
pub(crate) struct Facts {
    /// The changes of the store, in order.
    pub(crate) deeds: Vec<Deed>,
    /// Checkpoints whose commit was acknowledged to a driver.
    pub(crate) acknowledged: Vec<(ThreadId, CheckpointId)>,
    /// The results of drivers.
    pub(crate) returned: Vec<Returned>,
    /// Each question and its task, per thread: a subgraph's questions are also questions of the outer graph.
    questions: BTreeMap<(ThreadId, InterruptId), AskRecord>,
    /// The answer that the store took.
    answers: BTreeMap<(ThreadId, InterruptId), Json>,
    /// The number of times that a person allowed an effect to happen again, by its key.
    again: BTreeMap<String, BTreeSet<InterruptId>>,
    /// The outcomes of each execution of an effect, by its key.
    happened: BTreeMap<String, Vec<Happening>>,
    /// The effects of each superstep that are known to have succeeded, by its checkpoint.
    succeeded: BTreeMap<(ThreadId, CheckpointId), BTreeSet<EffectId>>,
    /// The effects that each driver knows or reported as successful.
    known: BTreeMap<usize, BTreeSet<EffectId>>,
    /// Violations that were noticed at once.
    pub(crate) violations: Vec<String>,
    /// Counts of the failures that a simulation must contain, for checks of the tests.
    pub(crate) seen: Counts<&'static str>,
}

/// Something that changed the store.
pub(crate) enum Deed {
    Committed { thread: ThreadId, parent: Option<CheckpointId> },
    Recorded { thread: ThreadId, base: CheckpointId, result: TaskResult },
}

pub(crate) struct Returned {
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) status: Status,
    pub(crate) state: Arc<Ledger>,
}

/// One execution of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// It has not ended yet.
    UnderWay,
    Succeeded,
    Failed,
    /// It was dropped before its end.
    Abandoned,
}

impl Facts {
    pub(crate) fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    pub(crate) fn asked(&mut self, thread: &ThreadId, asks: &[AskRecord]) {
        for ask in asks {
            self.see("a question");
            self.questions.entry((thread.clone(), ask.id)).or_insert_with(|| ask.clone());
        }
    }

    pub(crate) fn answered(&mut self, thread: &ThreadId, answers: &[(InterruptId, Json)]) {
        for (id, answer) in answers {
            self.see("an answer");
            let place = (thread.clone(), *id);
            if let Some(first) = self.answers.insert(place.clone(), answer.clone()) {
                self.violations.push(format!("question {id} was answered {first}, and then {answer}"));
            }
            let question = self.questions.get(&place).map(|ask| ask.question.clone());
            if let Some(Ok(question)) = question.map(|question| question.decode::<EffectQuestion>())
                && matches!(answer.decode(), Ok(EffectAnswer::RunAgain))
            {
                self.again.entry(question.idempotency_key).or_default().insert(*id);
            }
        }
    }

    /// A driver learns of effects.
    pub(crate) fn learns(&mut self, driver: usize, effects: &[EffectRecord]) {
        let has_succeeded = |effect: &&EffectRecord| matches!(effect.outcome, Some(EffectOutcome::Ok(_)));
        let succeeded = effects.iter().filter(has_succeeded).map(|effect| effect.id.clone());
        self.known.entry(driver).or_default().extend(succeeded);
    }

    /// A driver has recorded in the store that an effect succeeded.
    pub(crate) fn succeeds(&mut self, driver: usize, place: (ThreadId, CheckpointId), effect: EffectId) {
        self.known.entry(driver).or_default().insert(effect.clone());
        self.succeeded.entry(place).or_default().insert(effect);
    }

    /// A driver has committed the superstep on a checkpoint: it must know all its effects.
    pub(crate) fn passes(&mut self, driver: usize, place: &(ThreadId, CheckpointId)) {
        let known = self.known.entry(driver).or_default();
        if let Some(unknown) = self.succeeded.get(place).and_then(|all| all.difference(known).next()) {
            let EffectId { name, key, .. } = unknown;
            self.violations.push(format!("driver {driver} overlooks the effect {name} {key} in its commit"));
        }
    }

    /// A node has the answer to a question.
    pub(crate) fn heard(&mut self, thread: &ThreadId, task: Option<TaskId>, question: &str, answer: usize) {
        let fits = |(place, ask): (&(ThreadId, InterruptId), &AskRecord)| {
            place.0 == *thread
                && Some(ask.task) == task
                && ask.question.decode::<String>().is_ok_and(|asked| asked == question)
                && self
                    .answers
                    .get(place)
                    .is_some_and(|given| given.decode().is_ok_and(|given: usize| given == answer))
        };
        if !self.questions.iter().any(fits) {
            self.violations
                .push(format!("{question:?} on {thread} was not answered {answer}, and a node heard so"));
        }
    }

    /// Records that an effect happens. Returns the number of the execution.
    pub(crate) fn happens(&mut self, token: &str, policy: OnUnknown) -> usize {
        let before = self.happened.entry(token.to_owned()).or_default();
        let again = self.again.get(token).map_or(0, BTreeSet::len);
        let failed = before.iter().filter(|happening| **happening == Happening::Failed).count();
        let allowed = match policy {
            OnUnknown::Retry => usize::MAX,
            _ => 1 + again + failed,
        };
        if before.len() >= allowed {
            let violation =
                format!("effect {token} happens once more after {before:?} ({policy:?}, {again} again)");
            self.violations.push(violation);
        }
        before.push(Happening::UnderWay);
        let time = before.len() - 1;
        self.see("an effect");
        time
    }

    pub(crate) fn happened(&mut self, token: &str, time: usize, how: Happening) {
        let times = self.happened.get_mut(token).expect("it was under way");
        times[time] = how;
        if how == Happening::Abandoned {
            self.see("an effect without a recorded outcome");
        }
    }
}
