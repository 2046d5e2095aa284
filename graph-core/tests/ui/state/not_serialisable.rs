extern crate superstep_core as superstep;

use superstep::state::State;

#[derive(Clone, Default)]
struct Session {
    socket: u32,
}

#[derive(State, Clone, Default)]
struct Essay {
    session: Session,
}

fn main() {}
