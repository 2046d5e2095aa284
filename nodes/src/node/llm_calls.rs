//! The number of model calls, by purpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Addend, Overflow};

use super::tally::Tally;
use crate::model::{Ledger, Purpose};

/// The number of model calls, by purpose.
///
/// A field of this type has the reducer `Sum`: each node adds its own calls. Counted are replies: a call that
/// failed, and was made again by a retry, adds nothing, as its node wrote nothing. A reply that was no
/// judgement, and was asked for again, counts like any other.
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
            | Purpose::Classifier => {}
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
