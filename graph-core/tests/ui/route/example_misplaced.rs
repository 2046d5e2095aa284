extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Route, Serialize, Deserialize)]
#[route(example = Plan::Write)]
enum Plan {
    #[route(example = Plan::Research(1, 2))]
    Research(#[route(example = 1)] u8, u8),
    #[route(example = Plan::Write)]
    Write,
}

fn main() {}
