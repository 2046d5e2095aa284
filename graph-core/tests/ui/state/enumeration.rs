extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone)]
enum Essay {
    Draft(String),
    Done(String),
}

fn main() {}
