extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Route, Serialize, Deserialize)]
struct Plan {
    research: bool,
}

fn main() {}
