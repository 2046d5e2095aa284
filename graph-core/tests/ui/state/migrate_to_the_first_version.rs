extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct EssayV1 {
    topic: String,
}

#[derive(State, Clone, Default)]
#[state(version = 1, migrate = from_v1)]
struct Essay {
    topic: String,
}

fn from_v1(old: EssayV1) -> Essay {
    Essay { topic: old.topic }
}

fn main() {}
