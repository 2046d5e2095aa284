extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    #[route(default)]
    Research(u8),
    #[route(example)]
    Look(u8),
    Write,
}

fn main() {}
