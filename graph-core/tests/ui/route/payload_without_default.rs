extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Serialize, Deserialize)]
struct Query {
    text: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Query),
    Look { query: Query, count: u8 },
    Write,
}

fn main() {}
