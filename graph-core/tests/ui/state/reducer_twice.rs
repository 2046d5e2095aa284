extern crate superstep_core as superstep;

use superstep::reducer::{Append, Union};
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    #[reducer(Append)]
    #[reducer(Union)]
    facts: Vec<String>,
}

fn main() {}
