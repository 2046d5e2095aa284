//! The effects of a task: those in flight, its journal, and what earlier attempts left behind.

use alloc::string::{String, ToString};
use alloc::sync::Arc;

use super::{Live, TaskCell, count};
#[cfg(feature = "tokio")]
use crate::checkpoint::Recorded;
use crate::checkpoint::{EffectId, EffectOutcome, EffectRecord};
use crate::error::{EffectError, NodeError, NodeErrorKind};
use crate::node::intent::LeftBehind;

impl TaskCell {
    /// Registers the start of an effect, and returns its id and its journal entry.
    pub(crate) fn start_effect(
        &self,
        name: &str,
        key: &str,
    ) -> Result<(EffectId, Option<EffectRecord>), NodeError> {
        // Tasks without a saver have an id too, so that a retry reuses successful effects.
        let task = self.any_task_id();
        let mut live = self.live.lock();
        let live = live.get_or_insert_default();
        let scoped = live.effect_name(name);
        let same = |id: &EffectId| id.name == scoped && id.key == key;
        if live.flying.iter().any(same) {
            return Err(NodeError::new(
                NodeErrorKind::Effect,
                EffectError::Concurrent { effect: name.to_string() },
            ));
        }
        let occurrence = count(live.started.iter().filter(|(n, k)| *n == scoped && k == key));
        live.started.push((scoped.clone(), key.to_string()));
        let id = EffectId { task, name: scoped, key: key.to_string(), occurrence };
        let known = live.effects.iter().find(|effect| effect.id == id).cloned();
        live.flying.push(id.clone());
        Ok((id, known))
    }

    /// Registers that an effect of `attempt` is no longer in flight.
    pub(crate) fn land_effect(&self, attempt: u32, id: &EffectId) {
        if attempt == self.attempt() {
            self.live.lock().get_or_insert_default().flying.retain(|flying| flying != id);
        }
    }

    /// Leaves an intent or an outcome to later attempts: it is not known to be stored, or this attempt ends before
    /// it acts on it.
    pub(crate) fn leave_behind(&self, left: LeftBehind) {
        self.live.lock().get_or_insert_default().left_behind.push(left);
    }

    /// Takes the first wanted record of an effect that an earlier attempt left behind.
    pub(crate) fn take_left_behind(
        &self,
        id: &EffectId,
        is_wanted: impl Fn(&LeftBehind) -> bool,
    ) -> Option<LeftBehind> {
        let mut live = self.live.lock();
        let left = &mut live.as_mut()?.left_behind;
        let at = left.iter().position(|left| left.effect() == id && is_wanted(left))?;
        Some(left.swap_remove(at))
    }

    /// Adds the record of an effect to the journal, and replaces an earlier one.
    pub(crate) fn keep_effect(&self, record: EffectRecord) {
        let mut live = self.live.lock();
        let live = live.get_or_insert_default();
        live.recorded.add_effect(&record);
        if let Some(old) = live.effects.iter().position(|effect| effect.id == record.id) {
            let old = live.effects.remove(old);
            live.recorded.remove_effect(&old);
        }
        live.effects.push(record);
    }

    /// Returns the journal entry of an effect.
    pub(crate) fn known_effect(&self, id: &EffectId) -> Option<EffectRecord> {
        self.live.lock().as_ref()?.effects.iter().find(|effect| effect.id == *id).cloned()
    }

    /// Sets the outcome of an effect in the journal.
    pub(crate) fn end_effect(&self, id: &EffectId, outcome: EffectOutcome) {
        let mut live = self.live.lock();
        let Live { effects, recorded, .. } = &mut **live.get_or_insert_default();
        if let Some(effect) = effects.iter_mut().find(|effect| effect.id == *id) {
            recorded.remove_effect(effect);
            effect.outcome = Some(outcome);
            recorded.add_effect(effect);
        }
    }

    /// Returns the effects of the task that have succeeded since its journal was read.
    #[cfg(feature = "tokio")]
    pub(crate) fn recorded(&self) -> Recorded {
        self.live.lock().as_ref().map_or_else(Recorded::default, |live| live.recorded)
    }

    /// Sets the effect to which effects started from now on belong, and returns the previous one.
    pub(crate) fn enter(&self, effect: Option<Arc<str>>) -> Option<Arc<str>> {
        core::mem::replace(&mut self.live.lock().get_or_insert_default().inside, effect)
    }

    /// Returns the effect whose closure is being polled.
    pub(crate) fn inside(&self) -> Option<String> {
        self.live.lock().as_ref()?.inside.as_deref().map(ToString::to_string)
    }

    /// Returns the prefix of the names of effects started inside this one.
    pub(crate) fn inside_of(id: &EffectId) -> Arc<str> {
        let EffectId { name, key, occurrence, .. } = id;
        match (key.as_str(), occurrence) {
            ("", 0) => Arc::from(name.as_str()),
            _ => alloc::format!("{name}[{key}]#{occurrence}").into(),
        }
    }
}
