extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(State, Clone, Default)]
#[reducer(Append)]
struct Essay {
    #[reducer(Append)]
    facts: Vec<String>,
}

fn main() {}
