extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    #[reducer("Append")]
    facts: Vec<String>,
}

fn main() {}
