extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(FromRef, Clone)]
struct Deps<'a> {
    name: &'a str,
}

fn main() {}
