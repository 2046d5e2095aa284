extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::node::IntoOutcome;
use superstep::route::Route;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    #[route(exampel = Plan::Write)]
    Write,
}

fn main() {
    let _ = IntoOutcome::<Essay>::into_outcome(Plan::Write);
    let _ = Plan::Write.case();
}
