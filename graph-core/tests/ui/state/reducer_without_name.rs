extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    #[reducer]
    facts: Vec<String>,
    #[reducer()]
    drafts: Vec<String>,
}

fn main() {}
