extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::route::Route;

#[derive(Route, Serialize, Deserialize)]
enum Verdict {
    Accept,
    Revise,
}

fn target(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "end",
    }
}

fn main() {}
