//! The barrier: merges the writes of a superstep into one change of the state.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::state::{
    Change, CodecError, ErasedState, ErasedUpdate, FieldId, Indexes, Json, Lifetime, Logged, LoggedWrite, Op,
    Schema, WriteKind, Writers,
};

/// A conflict: two tasks of one superstep wrote a field that allows one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The field.
    pub field: FieldId,
    /// The first of the tasks, by position.
    pub first: u32,
    /// The second.
    pub second: u32,
    /// `true` if both overwrote a field that several tasks may reduce into.
    pub overwrites: bool,
}

/// The overwrites of a superstep, which decide which writes count.
///
/// An overwrite replaces what other tasks reduced in the superstep, in whatever order, and the earlier writes of
/// its own task. Later writes of its own task are applied on top of it.
#[derive(Debug, Default)]
pub struct Overwrites(Vec<(FieldId, u32)>);

impl Overwrites {
    /// Finds the overwrites among the updates of several tasks.
    ///
    /// # Errors
    /// Returns the first conflict, in task order.
    pub fn find<'u>(
        updates: impl Iterator<Item = (u32, &'u dyn ErasedUpdate)>,
        schema: &Schema,
    ) -> Result<Self, Conflict> {
        let writes = updates.flat_map(|(task, update)| {
            (0..update.len()).map(move |index| {
                let (field, kind) = update.shape(index);
                (task, field, kind)
            })
        });
        Self::among(writes, schema)
    }

    /// Finds the overwrites among the writes of several tasks.
    ///
    /// # Errors
    /// Returns the first conflict, in task order.
    pub fn among(
        writes: impl Iterator<Item = (u32, FieldId, WriteKind)>,
        schema: &Schema,
    ) -> Result<Self, Conflict> {
        let mut overwrites = Vec::new();
        let mut writers: Vec<Option<u32>> = alloc::vec![None; schema.fields.len()];
        for (task, field, kind) in writes {
            let one_writer = schema.field(field).writers == Writers::One;
            match writers[field.index()] {
                Some(first) if first != task && one_writer => {
                    return Err(Conflict { field, first, second: task, overwrites: false });
                }
                _ => writers[field.index()] = Some(task),
            }
            if kind == WriteKind::Overwrite {
                match overwrites.iter().find(|(overwritten, _)| *overwritten == field) {
                    Some(&(_, first)) if first != task => {
                        return Err(Conflict { field, first, second: task, overwrites: true });
                    }
                    Some(_) => {}
                    None => overwrites.push((field, task)),
                }
            }
        }
        Ok(Self(overwrites))
    }

    /// Returns `true` if a write of `task` to `field` counts.
    fn counts(&self, task: u32, field: FieldId) -> bool {
        self.0.iter().all(|&(overwritten, by)| overwritten != field || by == task)
    }
}

/// Applies the updates of a superstep's tasks, given in merge order, to a state with these indexes.
pub fn apply(
    state: &mut dyn ErasedState,
    indexes: &mut Indexes,
    updates: impl Iterator<Item = (u32, Box<dyn ErasedUpdate>)>,
    overwrites: &Overwrites,
) {
    for (task, update) in updates {
        if overwrites.0.is_empty() {
            state.apply(indexes, update, &|_| true);
            continue;
        }
        let counts: Vec<bool> =
            (0..update.len()).map(|index| overwrites.counts(task, update.shape(index).0)).collect();
        state.apply(indexes, update, &|index| counts[index]);
    }
}

/// Returns the logged changes of a superstep whose updates have been applied to `state`. `writes` are the tasks'
/// logged writes in merge order.
///
/// # Errors
/// Returns an error if the new value of a field has no JSON form.
pub fn changes<'w>(
    state: &dyn ErasedState,
    writes: impl Iterator<Item = (u32, &'w [LoggedWrite])>,
    overwrites: &Overwrites,
) -> Result<Vec<Change>, CodecError> {
    logged(|field| state.encode_field(field), writes, overwrites)
}

/// Returns the logged changes of a superstep. `value` returns the new value of a field; it is called for fields
/// whose operations do not determine their value.
///
/// # Errors
/// Returns the errors of `value`.
pub fn logged<'w, E>(
    value: impl Fn(FieldId) -> Result<Json, E>,
    writes: impl Iterator<Item = (u32, &'w [LoggedWrite])>,
    overwrites: &Overwrites,
) -> Result<Vec<Change>, E> {
    // Most supersteps change one field, and stored changes should not reserve space for more.
    let mut changes: Vec<Change> = Vec::with_capacity(1);
    // Fields whose reducer logs no operations. Their whole new value is logged.
    let mut whole: Vec<FieldId> = Vec::new();
    for (task, writes) in writes {
        for write in writes.iter().filter(|write| overwrites.counts(task, write.field)) {
            let at = match changes.iter().position(|change| change.field == write.field) {
                Some(at) => at,
                None => {
                    changes.push(Change { field: write.field, ops: Vec::with_capacity(1) });
                    changes.len() - 1
                }
            };
            match &write.write {
                Logged::Reduce(_) => whole.push(write.field),
                Logged::Op(op) => {
                    if op.is_whole() {
                        changes[at].ops.clear();
                        whole.retain(|field| *field != write.field);
                    }
                    changes[at].ops.push(op.clone());
                }
            }
        }
    }
    for change in changes.iter_mut().filter(|change| whole.contains(&change.field)) {
        change.ops = alloc::vec![Op::Set(value(change.field)?)];
    }
    changes.sort_unstable_by_key(|change| change.field);
    Ok(changes)
}

/// Resets the fields that live for one superstep: those in `ephemeral`, which the previous superstep set, unless
/// they are `written` again. Then `ephemeral` contains the fields that this superstep set. Returns the fields that
/// were reset.
pub fn reset_ephemeral(
    state: &mut dyn ErasedState,
    initial: &dyn ErasedState,
    ephemeral: &mut Vec<FieldId>,
    written: &[FieldId],
) -> Vec<FieldId> {
    let gone: Vec<FieldId> = ephemeral.iter().copied().filter(|field| !written.contains(field)).collect();
    for &field in &gone {
        state.reset_field(field);
    }
    *ephemeral = set_fields(state, initial, written);
    gone
}

/// Returns the given fields whose value differs from the `initial` one.
pub fn set_fields(state: &dyn ErasedState, initial: &dyn ErasedState, fields: &[FieldId]) -> Vec<FieldId> {
    let is_set = |field: &FieldId| state.encode_field(*field) != initial.encode_field(*field);
    fields.iter().copied().filter(is_set).collect()
}

/// Returns the fields of `schema` that live for one superstep.
pub fn one_step_fields(schema: &Schema) -> Vec<FieldId> {
    schema.ids().filter(|field| schema.field(*field).lifetime == Lifetime::OneStep).collect()
}

/// Returns every stored field as a whole value: the changes of the first checkpoint under another schema.
///
/// # Errors
/// Returns an error if the value of a field has no JSON form.
pub fn whole(state: &dyn ErasedState, schema: &Schema) -> Result<Vec<Change>, CodecError> {
    let stored = schema.ids().filter(|id| schema.field(*id).lifetime != Lifetime::Unstored);
    stored.map(|field| Ok(Change { field, ops: alloc::vec![Op::Set(state.encode_field(field)?)] })).collect()
}

/// Returns the initial values that the first checkpoint of a thread must contain although nothing wrote them.
/// Readers fold a field's operations from an empty collection, so a field that initially contains items is stored
/// before items are added.
pub fn seeds(schema: &Schema, initial: &dyn ErasedState) -> Vec<Change> {
    let folded = |field: &FieldId| {
        let field = schema.field(*field);
        field.lifetime == Lifetime::Stored && field.writers == Writers::Many
    };
    let seed = |field: FieldId| {
        // A value without a JSON form causes an error when it is first stored whole, and that error names the
        // field.
        let value = initial.encode_field(field).ok()?;
        let is_begun = value.as_str().starts_with(['[', '{']) && value.as_str().len() > "[]".len();
        is_begun.then(|| Change { field, ops: alloc::vec![Op::Set(value)] })
    };
    schema.ids().filter(folded).filter_map(seed).collect()
}

#[cfg(test)]
mod tests;
