extern crate superstep_core as superstep;

use superstep::state::State;

#[allow(non_snake_case)]
#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    TOPIC: String,
}

fn main() {}
