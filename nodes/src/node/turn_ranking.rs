//! A ranking as a state keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ranking;

/// A ranking in a state, with the turn whose responses it compares.
///
/// In JSON all fields are members of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRanking {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The comparison.
    #[serde(flatten)]
    pub ranking: Ranking,
}
