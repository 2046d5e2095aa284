//! The invariants of a thread, after any failures of its drivers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, EffectOutcome, Source, StepRecord};
use superstep::driver::checkpoint::TaskResult;
use superstep::driver::state::{Logged, LoggedWrite, Op};
use superstep::id::{CheckpointId, TaskId, ThreadId};
use superstep::state::Json;

use crate::driver::THREAD;
use crate::facts::{Deed, Facts};
use crate::graphs::{Ledger, of_effect};

/// The content of a store, compared with the known events.
pub(crate) struct Check<'f> {
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) facts: &'f Facts,
}

/// A thread according to its history.
struct Told {
    steps: Vec<StepRecord>,
    /// The state after each checkpoint.
    states: BTreeMap<CheckpointId, Ledger>,
}

type Verdict = Result<(), String>;

fn holds(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Check<'_> {
    /// Checks all invariants; returns the violation, if there is one.
    pub(crate) async fn run(&self) -> Verdict {
        if let Some(violation) = self.facts.violations.first() {
            return Err(violation.clone());
        }
        let mut threads = BTreeSet::from([ThreadId::from(THREAD)]);
        for deed in &self.facts.deeds {
            if let Deed::Committed { thread, .. } = deed {
                threads.insert(thread.clone());
            }
        }
        let mut all = BTreeMap::new();
        for thread in threads {
            let told = self.told(&thread).await?;
            self.is_linear(&thread, &told.steps)?;
            self.keeps_what_was_acknowledged(&thread, &told.steps)?;
            self.uses_what_was_recorded(&thread, &told.steps)?;
            agrees_with_its_journal(&thread, &told.steps)?;
            let head = self.store.read(&thread, At::Head).await.map_err(|error| error.to_string())?;
            let head = head.ok_or_else(|| format!("{thread} is gone"))?;
            let folded = &told.states[&head.checkpoint.id];
            let stored: BTreeMap<&str, &Json> = head
                .values
                .iter()
                .map(|value| (head.schema.field(value.field).name.as_str(), &value.value))
                .collect();
            let log =
                stored.get("log").map(|log| log.decode()).transpose().map_err(|error| error.to_string())?;
            let total = stored
                .get("total")
                .map(|total| total.decode())
                .transpose()
                .map_err(|error| error.to_string())?;
            let stored = Ledger { log: log.unwrap_or_default(), total: total.unwrap_or_default() };
            holds(stored == *folded, || {
                format!("{thread} holds {stored:?}, and its history says {folded:?}")
            })?;
            let distinct: BTreeSet<&String> = folded.log.iter().collect();
            holds(distinct.len() == folded.log.len(), || {
                format!("a result was used twice on {thread}: {:?}", folded.log)
            })?;
            all.insert(thread, told);
        }
        self.agrees_with_what_was_returned(&all[&ThreadId::from(THREAD)])
    }

    async fn told(&self, thread: &ThreadId) -> Result<Told, String> {
        let mut steps =
            self.store.steps(thread, At::Head, usize::MAX).await.map_err(|error| error.to_string())?;
        steps.reverse();
        let mut state = Ledger::default();
        let mut states = BTreeMap::new();
        for step in &steps {
            for task in &step.checkpoint.tasks {
                apply(&mut state, &task.writes, step)?;
            }
            states.insert(step.checkpoint.id, state.clone());
        }
        Ok(Told { steps, states })
    }

    /// One checkpoint per step, each with the previous one as its parent, and no others.
    fn is_linear(&self, thread: &ThreadId, steps: &[StepRecord]) -> Verdict {
        for pair in steps.windows(2) {
            let [before, after] = pair else { continue };
            holds(after.checkpoint.parent == Some(before.checkpoint.id), || format!("{thread} has a gap"))?;
            holds(after.checkpoint.step == before.checkpoint.step + 1, || {
                format!("{thread}: step {} follows step {}", after.checkpoint.step, before.checkpoint.step)
            })?;
        }
        let is_commit =
            |deed: &&Deed| matches!(deed, Deed::Committed { thread: other, .. } if other == thread);
        let commits = self.facts.deeds.iter().filter(is_commit).count();
        holds(commits == steps.len(), || {
            format!("{thread} has a history of {}, and {commits} commits", steps.len())
        })
    }

    fn keeps_what_was_acknowledged(&self, thread: &ThreadId, steps: &[StepRecord]) -> Verdict {
        let kept: BTreeSet<CheckpointId> = steps.iter().map(|step| step.checkpoint.id).collect();
        let of_thread = self.facts.acknowledged.iter().filter(|(other, _)| other == thread);
        let mut lost = of_thread.filter(|(_, id)| !kept.contains(id));
        holds(lost.next().is_none(), || format!("{thread}: an acknowledged commit is gone"))
    }

    /// The first recorded result of a task is the one that was used. An unrecorded result is that of the last task of
    /// the committing driver: the checkpoint is its record.
    fn uses_what_was_recorded(&self, thread: &ThreadId, steps: &[StepRecord]) -> Verdict {
        let mut first: BTreeMap<(CheckpointId, TaskId), &TaskResult> = BTreeMap::new();
        let mut over: BTreeSet<CheckpointId> = BTreeSet::new();
        for deed in &self.facts.deeds {
            match deed {
                Deed::Committed { parent: Some(parent), .. } => {
                    over.insert(*parent);
                }
                Deed::Recorded { thread: other, base, result }
                    if other == thread && !over.contains(base) && result.is_finished() =>
                {
                    first.entry((*base, result.task)).or_insert(result);
                }
                _ => {}
            }
        }
        for pair in steps.windows(2) {
            let [base, after] = pair else { continue };
            if after.checkpoint.source != Source::Loop {
                continue;
            }
            let (id, step) = (base.checkpoint.id, base.checkpoint.step);
            for (next, did) in base.checkpoint.frontier.tasks.iter().zip(&after.checkpoint.tasks) {
                let task = next.id(id, step);
                let Some(counts) = first.get(&(id, task)) else { continue };
                let is_used = counts.writes == did.writes && counts.route == did.route;
                holds(is_used, || {
                    format!("{thread}: {:?} was recorded, and {:?} was used", counts.writes, did.writes)
                })?;
            }
        }
        Ok(())
    }

    /// The results of drivers match the store.
    fn agrees_with_what_was_returned(&self, told: &Told) -> Verdict {
        for returned in &self.facts.returned {
            let checkpoint = returned.checkpoint.ok_or("a run returned no checkpoint")?;
            let state = told.states.get(&checkpoint).ok_or("a run returned a checkpoint that is gone")?;
            holds(*state == *returned.state, || {
                format!(
                    "a run that ended as {:?} returned {:?}, not {state:?}",
                    returned.status, returned.state
                )
            })?;
        }
        Ok(())
    }
}

/// The values of effects in the used results are those in the journal.
fn agrees_with_its_journal(thread: &ThreadId, steps: &[StepRecord]) -> Verdict {
    for pair in steps.windows(2) {
        let [base, after] = pair else { continue };
        let (id, step) = (base.checkpoint.id, base.checkpoint.step);
        for (next, did) in base.checkpoint.frontier.tasks.iter().zip(&after.checkpoint.tasks) {
            if after.checkpoint.source != Source::Loop {
                continue;
            }
            let task = next.id(id, step);
            let mut written = Ledger::default();
            apply(&mut written, &did.writes, after)?;
            for (name, key, value) in written.log.iter().filter_map(|text| of_effect(text)) {
                let in_journal =
                    base.work.effects.iter().find(|effect| {
                        effect.id.task == task && effect.id.name == name && effect.id.key == key
                    });
                // The effects of a subgraph's tasks are in the journal of the subgraph.
                let Some(effect) = in_journal else { continue };
                let agrees = match &effect.outcome {
                    Some(EffectOutcome::Ok(held)) => held.as_str() == value,
                    _ => false,
                };
                holds(agrees, || {
                    format!("{thread}: {name} {key} was {value}, and the journal says {:?}", effect.outcome)
                })?;
            }
        }
    }
    Ok(())
}

/// Applies writes as the reducers of [`Ledger`] do.
fn apply(state: &mut Ledger, writes: &[LoggedWrite], step: &StepRecord) -> Verdict {
    for LoggedWrite { field, write } in writes {
        let wrong = |error| format!("a write does not decode: {error}");
        match (step.schema.field(*field).name.as_str(), write) {
            ("log", Logged::Op(Op::Extend(items))) => {
                state.log.extend(items.decode::<Vec<String>>().map_err(wrong)?);
            }
            ("log", Logged::Op(Op::Set(items))) => state.log = items.decode().map_err(wrong)?,
            ("total", Logged::Op(Op::Set(total))) => state.total = total.decode().map_err(wrong)?,
            ("total", Logged::Reduce(more)) => state.total += more.decode::<u64>().map_err(wrong)?,
            (field, other) => return Err(format!("no node writes {other:?} to {field}")),
        }
    }
    Ok(())
}
