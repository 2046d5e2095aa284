//! The results and effects recorded on a checkpoint, as one number.

use serde::Serialize;

use super::work::{EffectOutcome, EffectRecord, TaskResult};

/// A digest of the task results and the successful effects that are recorded on a checkpoint: the same number for the
/// same contents, in whatever order they were recorded, and almost certainly another number for other contents.
/// Failures of tasks and effects that did not succeed do not count: no superstep is made of them.
///
/// The number is the same in every process, so a server can compute and compare it, and a store can keep it beside its
/// rows. It is the sum, modulo 2<sup>128</sup>, of one number for each record: the first 16 bytes, little-endian, of
/// the BLAKE3 hash of the record's JSON text. For a result that text is the [`TaskResult`] as `serde` writes it,
/// without whitespace; for an effect it is the array of its [`EffectId`](super::EffectId) and its value. Values in it
/// are the texts that the driver gave, letter by letter. Nothing recorded is 0.
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
pub struct Recorded(u128);

impl Recorded {
    /// These results and effects.
    #[must_use]
    pub fn of(results: &[TaskResult], effects: &[EffectRecord]) -> Self {
        let mut all = Self::default();
        results.iter().for_each(|result| all.add_result(result));
        effects.iter().for_each(|effect| all.add_effect(effect));
        all
    }

    /// Adds a result.
    pub fn add_result(&mut self, result: &TaskResult) {
        self.add(Self::one(result));
    }

    /// Adds an effect, if it succeeded.
    pub fn add_effect(&mut self, effect: &EffectRecord) {
        self.add(Self::of_effect(effect));
    }

    /// Adds everything that is in `others`, and is not in this one.
    pub fn add(&mut self, others: Self) {
        self.0 = self.0.wrapping_add(others.0);
    }

    /// The number, little-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// The number with these [bytes](Self::to_bytes).
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes))
    }

    /// Takes an effect out: its record is replaced.
    pub(crate) fn remove_effect(&mut self, effect: &EffectRecord) {
        self.0 = self.0.wrapping_sub(Self::of_effect(effect).0);
    }

    fn of_effect(effect: &EffectRecord) -> Self {
        match &effect.outcome {
            Some(EffectOutcome::Ok(value)) => Self::one(&(&effect.id, value)),
            _ => Self::default(),
        }
    }

    fn one(content: &impl Serialize) -> Self {
        let text = serde_json::to_vec(content).expect("a record consists of texts, numbers and JSON");
        let mut first = [0; 16];
        first.copy_from_slice(&blake3::hash(&text).as_bytes()[..16]);
        Self::from_bytes(first)
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

    /// A server computes the same numbers, in whatever language: they do not change from release to release.
    #[test]
    fn the_numbers_are_fixed() {
        let hex = |recorded: Recorded| alloc::format!("{:032x}", u128::from_be_bytes(recorded.to_bytes()));
        assert_eq!(
            serde_json::to_string(&result(1, true)).expect("JSON"),
            r#"{"task":"01010101010101010101010101010101","node":"n","writes":[],"route":null,"targets":[]}"#
        );
        assert_eq!(hex(Recorded::of(&[result(1, true)], &[])), "de029108cae018abf48e6ff23859bcdb");
        let sent = effect(Some(EffectOutcome::Ok(Json::null())));
        assert_eq!(hex(Recorded::of(&[], &[sent])), "be616a7c7eea0c37af33b197ee4de659");
        let both = Recorded::of(&[result(1, true), result(2, false)], &[]);
        assert_eq!(Recorded::from_bytes(both.to_bytes()), both);
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
