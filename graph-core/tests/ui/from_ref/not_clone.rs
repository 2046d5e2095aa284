extern crate superstep_core as superstep;

use superstep::node::FromRef;

struct Llm;

#[derive(FromRef)]
struct Deps {
    llm: Llm,
}

fn main() {}
