//! How many model calls were made, by purpose.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Purpose;

/// How many model calls were made, by purpose.
///
/// A field of this type has the reducer `Sum`: each node adds its own calls. Counted are replies: a call that
/// failed, and was made again by a retry, adds nothing, as its node wrote nothing. A reply that was no
/// judgement, and was asked for again, counts like any other.
///
/// ```
/// use superstep_nodes::model::Purpose;
/// use superstep_nodes::node::LlmCalls;
///
/// let mut calls = LlmCalls::of(Purpose::Agent, 2);
/// calls += LlmCalls::of(Purpose::Ranker, 1);
/// assert_eq!((calls.agent, calls.ranker, calls.total()), (2, 1, 3));
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
    /// Makes a count of calls for one purpose.
    pub fn of(purpose: Purpose, calls: u32) -> Self {
        let mut count = Self::default();
        match purpose {
            Purpose::Agent => count.agent = calls,
            Purpose::Evaluator => count.evaluator = calls,
            Purpose::Ranker => count.ranker = calls,
            Purpose::Decider => count.decider = calls,
        }
        count
    }

    /// Returns how many calls were made for all purposes together.
    pub const fn total(&self) -> u32 {
        self.agent + self.evaluator + self.ranker + self.decider
    }
}

impl AddAssign for LlmCalls {
    fn add_assign(&mut self, more: Self) {
        self.agent += more.agent;
        self.evaluator += more.evaluator;
        self.ranker += more.ranker;
        self.decider += more.decider;
    }
}
