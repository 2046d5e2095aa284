extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(FromRef, Clone)]
enum Deps {
    Test,
    Live,
}

fn main() {}
