extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[state(version = 0)]
struct Zero {
    topic: String,
}

#[derive(State, Clone, Default)]
#[state(version = "2")]
struct Text {
    topic: String,
}

#[derive(State, Clone, Default)]
struct OnField {
    #[state(version = 2)]
    topic: String,
}

fn main() {}
