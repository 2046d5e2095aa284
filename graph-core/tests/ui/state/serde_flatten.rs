extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::state::State;

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Chat {
    messages: Vec<String>,
}

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Essay {
    #[serde(flatten)]
    chat: Chat,
}

fn main() {}
