extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(FromRef, Clone)]
struct Deps<M> {
    model: M,
}

fn main() {}
