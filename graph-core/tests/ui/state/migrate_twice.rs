extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[state(version = 3, migrate = from_v1, migrate = from_v2)]
struct Essay {
    topic: String,
}

fn main() {}
