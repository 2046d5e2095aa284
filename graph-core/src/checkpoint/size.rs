//! The size of a state, updated from superstep to superstep without reading its values.

use alloc::vec::Vec;

use crate::state::limits::Size;
use crate::state::{Change, Excess, FieldId, FieldValue, SizeLimits};

/// The maximum size of a thread's state, field by field.
///
/// The size that an operation adds is known, but the size that it removes is not, so this is an upper bound until
/// it is [measured](Self::of). A saver updates it from commit to commit, and reads the values only when it reaches
/// the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    fields: Vec<Size>,
    all: Size,
}

impl StateSize {
    /// Returns the exact size of these values.
    #[must_use]
    pub fn of(values: &[FieldValue]) -> Self {
        let mut size = Self::default();
        values.iter().for_each(|held| size.set(held.field, Size::of(held.value.as_str())));
        size
    }

    /// Adds the changes of a superstep.
    pub fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            let mut size = self.fields.get(change.field.index()).copied().unwrap_or_default();
            for op in &change.ops {
                let operand = Size::at_most(op.operand().as_str());
                size = if op.is_whole() { operand } else { size.and(operand) };
            }
            self.set(change.field, size);
        }
    }

    /// Checks that a state of this size may be stored.
    ///
    /// # Errors
    /// Returns the limit that the size exceeds.
    pub fn check(&self, limits: &SizeLimits) -> Result<(), Excess> {
        limits.check_size(self.all)
    }

    fn set(&mut self, field: FieldId, size: Size) {
        let index = field.index();
        if self.fields.len() <= index {
            self.fields.resize(index + 1, Size::default());
        }
        self.all = self.all.without(self.fields[index]).and(size);
        self.fields[index] = size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Json, Op};

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn what_is_added_counts_until_it_is_overwritten() {
        let limits = SizeLimits::default().bytes(20).values(6);
        let mut size = StateSize::default();
        let mut follow = |field, ops: &[Op]| {
            size.follow(&[Change { field: FieldId(field), ops: ops.into() }]);
            size.check(&limits)
        };
        assert_eq!(follow(2, &[Op::Set(json("[1,2]"))]), Ok(()));
        assert_eq!(follow(0, &[Op::Extend(json("[3]")), Op::Extend(json("[4]"))]), Err(Excess::Values(6)));
        assert_eq!(follow(2, &[Op::Set(json("\"twelve\""))]), Ok(()));
        assert_eq!(follow(2, &[Op::Set(json("\"fifteen bytes\""))]), Err(Excess::Bytes(20)));
        let values = [FieldValue { field: FieldId(0), value: json("[\"a,b,c,d\"]") }];
        assert_eq!(StateSize::of(&values).check(&limits), Ok(()), "as it is");
    }
}
