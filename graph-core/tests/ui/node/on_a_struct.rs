extern crate superstep_core as superstep;

use superstep::node::node;

#[node]
struct Planner;

fn main() {}
