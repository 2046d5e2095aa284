extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[state(version = 2, version = 3)]
struct Essay {
    topic: String,
}

fn main() {}
