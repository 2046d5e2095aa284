extern crate superstep_core as superstep;

use superstep::route::Route;

#[derive(Route)]
enum Plan {
    Research,
    Write,
}

fn main() {}
