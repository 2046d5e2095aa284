extern crate superstep_core as superstep;

use superstep::state::{Input, IntoInput, State};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(State, Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

fn run(input: impl IntoInput<Essay>) -> Input<Essay> {
    input.into_input()
}

fn main() {
    run(Essay::update());
    run(Essay::default());
    run(Chat::update());
    run("Rust");
}
