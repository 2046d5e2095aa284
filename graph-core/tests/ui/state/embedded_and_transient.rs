extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

#[derive(State, Clone, Default)]
struct Essay {
    #[state(flatten, transient)]
    chat: Chat,
    #[state(flatten, secret)]
    private: Chat,
}

fn main() {}
