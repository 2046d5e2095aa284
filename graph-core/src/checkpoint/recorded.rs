//! The results and effects recorded on a checkpoint, as one number.

use core::hash::{BuildHasher, Hash};

use foldhash::quality::FixedState;

use super::work::{EffectOutcome, EffectRecord, TaskResult};

/// A hash of the task results and the successful effects that are recorded on a checkpoint: the same number for the
/// same contents, in whatever order they were recorded, and almost certainly another number for other contents.
/// Failures of tasks and effects that did not succeed do not count: no superstep is made of them.
///
/// It is compared with one that the same program makes, and is never stored.
///
/// ```
/// use superstep_core::checkpoint::{Recorded, TaskResult};
/// # fn compare(one: &TaskResult, other: &TaskResult) {
/// let mut known = Recorded::default();
/// known.add_result(one);
/// known.add_result(other);
/// assert_eq!(known, Recorded::of(&[other.clone(), one.clone()], &[]));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded(u64);

impl Recorded {
    /// These results and effects.
    #[must_use]
    pub fn of(results: &[TaskResult], effects: &[EffectRecord]) -> Self {
        let mut all = Self::default();
        results.iter().for_each(|result| all.add_result(result));
        effects.iter().for_each(|effect| all.add_effect(effect));
        all
    }

    /// One result more.
    pub fn add_result(&mut self, result: &TaskResult) {
        self.add(Self::one(result));
    }

    /// One effect more, if it succeeded.
    pub fn add_effect(&mut self, effect: &EffectRecord) {
        self.add(Self::of_effect(effect));
    }

    /// All that is in `others`, and is not in this one.
    pub fn add(&mut self, others: Self) {
        self.0 = self.0.wrapping_add(others.0);
    }

    /// One effect fewer: its record is replaced.
    pub(crate) fn remove_effect(&mut self, effect: &EffectRecord) {
        self.0 = self.0.wrapping_sub(Self::of_effect(effect).0);
    }

    fn of_effect(effect: &EffectRecord) -> Self {
        match &effect.outcome {
            Some(EffectOutcome::Ok(value)) => Self::one(&(&effect.id, value)),
            _ => Self::default(),
        }
    }

    fn one(content: &impl Hash) -> Self {
        const SEED: u64 = 0x5354_4550;
        Self(FixedState::with_seed(SEED).hash_one(content))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::checkpoint::EffectId;
    use crate::id::{IdempotencyKey, TaskId};
    use crate::state::Json;

    fn result(task: u8, targets: bool) -> TaskResult {
        TaskResult {
            task: TaskId::from_bytes([task; 16]),
            node: "n".into(),
            writes: Vec::new(),
            route: None,
            targets: targets.then(Vec::new),
            kept: None,
            handled: None,
            emitted: None,
        }
    }

    fn effect(outcome: Option<EffectOutcome>) -> EffectRecord {
        let id = EffectId {
            task: TaskId::from_bytes([1; 16]),
            name: "send".into(),
            key: "".into(),
            occurrence: 0,
        };
        EffectRecord { id, attempt: 1, starts: 1, token: IdempotencyKey::from_bytes([0; 16]), outcome }
    }

    #[test]
    fn order_does_not_matter_and_content_does() {
        let (one, two) = (result(1, true), result(2, true));
        let both = Recorded::of(&[one.clone(), two.clone()], &[]);
        assert_eq!(both, Recorded::of(&[two.clone(), one.clone()], &[]));
        assert_ne!(both, Recorded::of(core::slice::from_ref(&one), &[]));
        // Not a sum that forgets what comes twice.
        assert_ne!(Recorded::of(&[one.clone(), one.clone()], &[]), Recorded::default());
        assert_ne!(Recorded::of(&[one], &[]), Recorded::of(&[result(1, false)], &[]));
        assert_eq!(Recorded::of(&[], &[]), Recorded::default());
    }

    #[test]
    fn effects_count_once_they_have_succeeded() {
        let ok = |text: &str| Some(EffectOutcome::Ok(Json::parse(text).expect("JSON")));
        let none = Recorded::default();
        assert_eq!(Recorded::of(&[], &[effect(None)]), none);
        assert_eq!(Recorded::of(&[], &[effect(Some(EffectOutcome::Err("no".into())))]), none);
        assert_ne!(Recorded::of(&[], &[effect(ok("1"))]), none);
        assert_ne!(Recorded::of(&[], &[effect(ok("1"))]), Recorded::of(&[], &[effect(ok("2"))]));
        let mut replaced = Recorded::of(&[], &[effect(ok("1"))]);
        replaced.remove_effect(&effect(ok("1")));
        replaced.add_effect(&effect(ok("2")));
        assert_eq!(replaced, Recorded::of(&[], &[effect(ok("2"))]));
    }
}
