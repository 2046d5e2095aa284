extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
}

fn main() {
    let _ = Essay::update().topics("Rust");
    let _ = Essay::update().clear_topic();
}
