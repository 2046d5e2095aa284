//! The comparison of a task with its recorded effects. On a resume, a recorded effect that the code no longer
//! reaches is an error; in a replay, every difference is noted.

use alloc::string::String;
use alloc::vec::Vec;

use spin::Mutex;

use super::{HANDLER, INSIDE, Live, TaskCell};
use crate::checkpoint::{EffectId, EffectRecord};
use crate::error::{EffectError, ErrorReport, NodeError, NodeErrorKind};
use crate::node::policy::OnMismatch;

/// The differences from the recording, by the position of the task in the superstep, in the order in which they
/// were found.
#[derive(Default)]
pub(crate) struct Tape {
    notes: Mutex<Vec<(u32, Note)>>,
}

/// A difference between a task and its recording.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// The code reached an effect without a recorded outcome. `instead` is the key of a recorded effect with the
    /// same name that the code has not reached.
    Unrecorded { effect: EffectId, instead: Option<String> },
    /// The code did not reach a recorded effect.
    Unreached(EffectId),
    /// The effect failed, and its error cannot be recreated from its text.
    Unrepeatable(EffectId),
    /// The thread of the task's subgraph is missing, or has not reached its end.
    NoSubgraph,
    /// The task failed.
    Failed(ErrorReport),
}

impl Tape {
    pub(crate) fn note(&self, task: u32, note: Note) {
        self.notes.lock().push((task, note));
    }

    /// Returns `true` if the task fails because of its notes. It is then neither retried nor passed to an error
    /// handler.
    #[cfg(feature = "tokio")]
    pub(crate) fn stops(&self, task: u32) -> bool {
        self.notes.lock().iter().any(|(of, note)| *of == task && !matches!(note, Note::Unreached(_)))
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn take(&self) -> Vec<(u32, Note)> {
        core::mem::take(&mut *self.notes.lock())
    }
}

impl TaskCell {
    /// Fails an effect without a recorded outcome in a replay: its closure must not run.
    pub(crate) fn refuse_live(&self, effect: &EffectId) -> Result<(), NodeError> {
        let Some(tape) = &self.run.tape else { return Ok(()) };
        let instead = self.live.lock().as_ref().and_then(|live| live.other_key(effect));
        tape.note(self.facts.task, Note::Unrecorded { effect: effect.clone(), instead });
        Err(not_replayed(effect))
    }

    /// Fails an effect whose recorded error cannot be recreated.
    pub(crate) fn refuse_error(&self, effect: &EffectId) -> NodeError {
        if let Some(tape) = &self.run.tape {
            tape.note(self.facts.task, Note::Unrepeatable(effect.clone()));
        }
        not_replayed(effect)
    }

    /// Returns a recorded effect of an earlier run that the attempt which has just finished did not reach.
    #[inline]
    pub(crate) fn gone_effect(&self) -> Option<String> {
        if !self.facts.is_resumed {
            return None;
        }
        if let Some(tape) = &self.run.tape {
            self.note_unreached(tape);
            return None;
        }
        if self.facts.on_mismatch == OnMismatch::RunAgain {
            return None;
        }
        let live = self.live.lock();
        let live = live.as_ref()?;
        let started = |name: &String| live.started.iter().any(|(started, _)| started == name);
        live.promised.iter().filter(|name| live.is_own(name)).find(|name| !started(name)).cloned()
    }

    /// Notes the recorded effects that the attempt which has just finished did not reach. After a failed attempt it
    /// notes none, because the missing effects may belong to the failed attempt.
    fn note_unreached(&self, tape: &Tape) {
        let live = self.live.lock();
        let Some(live) = live.as_ref() else { return };
        if live.effects.iter().any(|effect| effect.starts > 1 || effect.attempt > 1) {
            return;
        }
        for EffectRecord { id, .. } in &live.effects {
            if live.is_own(&id.name) && !live.has_started(id) && id.is_users() {
                tape.note(self.facts.task, Note::Unreached(id.clone()));
            }
        }
    }
}

impl Live {
    /// Returns `true` if an effect belongs to the code that has the task. The node and its error handler have
    /// separate effects, and effects inside another effect do not count.
    fn is_own(&self, name: &str) -> bool {
        name.starts_with(HANDLER) == self.failure.is_some() && !name.contains(INSIDE)
    }

    fn has_started(&self, id: &EffectId) -> bool {
        let same = self.started.iter().filter(|(name, key)| *name == id.name && *key == id.key);
        same.count() > id.occurrence as usize
    }

    fn other_key(&self, effect: &EffectId) -> Option<String> {
        let same_name = |record: &&EffectRecord| {
            record.id.name == effect.name && record.id.key != effect.key && !self.has_started(&record.id)
        };
        self.effects.iter().find(same_name).map(|record| record.id.key.clone())
    }
}

fn not_replayed(effect: &EffectId) -> NodeError {
    NodeError::new(NodeErrorKind::Effect, EffectError::NotRecorded { effect: effect.name.clone() })
}
