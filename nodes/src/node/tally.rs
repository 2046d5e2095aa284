//! The counts of their model calls that nodes add to a state.

use superstep_core::node::NodeDescription;
use superstep_core::reducer::Addend;
use superstep_core::state::{Field, FieldId, State};

use crate::model::Ledger;

/// Something that model calls are counted in: a field with the reducer `Sum`, to which each node adds its own.
pub trait Tally: Addend + Send + Sync + 'static {
    /// Makes the sum of the calls in a ledger.
    fn of_calls(calls: &Ledger) -> Self;
}

impl Tally for Ledger {
    fn of_calls(calls: &Ledger) -> Self {
        calls.clone()
    }
}

/// The fields in which a node counts its model calls.
pub(super) struct Tallies<S: State>(Vec<Tallied<S>>);

type Write<S> = Box<dyn Fn(&Ledger) -> <S as State>::Update + Send + Sync>;

struct Tallied<S: State> {
    field: FieldId,
    write: Write<S>,
}

impl<S: State> Tallies<S> {
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    pub(super) fn add<T: Tally>(&mut self, field: Field<S, T>) {
        self.0.push(Tallied {
            field: field.id(),
            write: Box::new(move |calls| field.write(T::of_calls(calls))),
        });
    }

    /// The writes that add these calls to every field.
    pub(super) fn writes(&self, calls: &Ledger) -> impl Iterator<Item = S::Update> {
        self.0.iter().map(move |tallied| (tallied.write)(calls))
    }

    pub(super) fn describe(&self, node: &mut NodeDescription) {
        self.0.iter().for_each(|tallied| node.writes_field(tallied.field));
    }
}
