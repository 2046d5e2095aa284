extern crate superstep_core as superstep;

use std::cell::Cell;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    score: Cell<u32>,
}

fn main() {}
