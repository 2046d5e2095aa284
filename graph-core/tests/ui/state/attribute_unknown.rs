extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(State, Clone, Default)]
#[state(name = "essay")]
struct Essay {
    #[state(sekret)]
    token: String,
    #[state(secret = true)]
    key: String,
}

fn main() {}
