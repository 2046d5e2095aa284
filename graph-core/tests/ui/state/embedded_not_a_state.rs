extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

#[derive(State, Clone, Default)]
struct Essay {
    #[state(flatten)]
    chat: Chat,
}

fn main() {}
