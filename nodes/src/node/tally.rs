//! The counts and costs of calls that nodes add to a state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::node::NodeDescription;
use superstep_core::reducer::{Addend, Overflow};
use superstep_core::state::{Field, FieldId, State};

use crate::model::{Ledger, Purpose, Usage};

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

/// The number of model calls, by purpose.
///
/// A field of this type has the reducer `Sum`: each node adds its own calls. Only replies are counted: a call that
/// failed and was retried adds nothing. A reply that was not a usable judgement counts like any other.
///
/// ```
/// use superstep_nodes::model::Purpose;
/// use superstep_core::reducer::Addend;
/// use superstep_nodes::node::LlmCalls;
///
/// let mut calls = LlmCalls::of(Purpose::Agent, 2);
/// calls.try_add(LlmCalls::of(Purpose::Ranker, 1))?;
/// assert_eq!((calls.agent, calls.ranker, calls.total()), (2, 1, 3));
/// # Ok::<(), superstep_core::reducer::Overflow>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmCalls {
    /// Calls of the agent.
    pub agent: u32,
    /// Calls of the evaluator.
    pub evaluator: u32,
    /// Calls of the ranker.
    pub ranker: u32,
    /// Calls of the decider.
    pub decider: u32,
}

impl LlmCalls {
    /// Makes a count of calls for one purpose: nothing for one that is not counted here.
    pub fn of(purpose: Purpose, calls: u32) -> Self {
        let mut count = Self::default();
        match purpose {
            Purpose::Agent => count.agent = calls,
            Purpose::Evaluator => count.evaluator = calls,
            Purpose::Ranker => count.ranker = calls,
            Purpose::Decider => count.decider = calls,
            Purpose::Summarizer
            | Purpose::Router
            | Purpose::Verifier
            | Purpose::Refiner
            | Purpose::Classifier
            | Purpose::Image => {}
        }
        count
    }

    /// Returns how many calls were made for all purposes together.
    pub const fn total(&self) -> u32 {
        self.agent + self.evaluator + self.ranker + self.decider
    }
}

impl Tally for LlmCalls {
    fn of_calls(calls: &Ledger) -> Self {
        let of = |purpose| u32::try_from(calls.purpose(purpose).calls).unwrap_or(u32::MAX);
        Self {
            agent: of(Purpose::Agent),
            evaluator: of(Purpose::Evaluator),
            ranker: of(Purpose::Ranker),
            decider: of(Purpose::Decider),
        }
    }
}

impl Addend for LlmCalls {
    fn try_add(&mut self, more: Self) -> Result<(), Overflow> {
        let mut sum = *self;
        sum.agent.try_add(more.agent)?;
        sum.evaluator.try_add(more.evaluator)?;
        sum.ranker.try_add(more.ranker)?;
        sum.decider.try_add(more.decider)?;
        *self = sum;
        Ok(())
    }
}

/// A call that a node has made, and what it took: an entry of a log with the reducer `Append`, which
/// [`Agent::log_calls`](super::Agent::log_calls) and [`Tools::log_calls`](super::Tools::log_calls) write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallCost {
    /// A call of a model that replied.
    Model {
        /// The purpose of the call.
        purpose: Purpose,
        /// The tokens used.
        usage: Usage,
        /// The time it took, in milliseconds: from the request to the end of the reply.
        elapsed_ms: u64,
    },
    /// A call of a tool, which may have been refused.
    Tool {
        /// Its name.
        name: String,
        /// The time it took, in milliseconds.
        elapsed_ms: u64,
    },
}
