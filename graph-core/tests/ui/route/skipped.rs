extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(#[serde(skip)] u8),
    #[serde(skip)]
    Write,
}

fn main() {}
