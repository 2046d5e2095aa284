extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Default)]
struct Essay {
    topic: String,
}

fn main() {}
