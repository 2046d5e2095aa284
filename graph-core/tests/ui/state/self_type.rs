extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Tree {
    children: Vec<Self>,
}

fn main() {}
