extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(Clone, Default)]
struct Fact;

#[derive(State, Clone, Default)]
struct Essay {
    #[reducer(Append)]
    facts: Vec<Fact>,
}

fn main() {}
