extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    set_topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    clear_facts: bool,
}

fn main() {}
