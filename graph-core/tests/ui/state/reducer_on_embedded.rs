extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

#[derive(State, Clone, Default)]
struct Essay {
    #[state(flatten)]
    #[reducer(Append)]
    chat: Chat,
}

fn main() {}
