extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone)]
struct Essay {
    topic: String,
}

fn main() {}
