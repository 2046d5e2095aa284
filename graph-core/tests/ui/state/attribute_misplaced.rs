extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[state(secret)]
struct Essay {
    #[state(crate = superstep)]
    token: String,
}

fn main() {}
