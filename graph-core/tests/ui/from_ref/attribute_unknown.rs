extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(Clone)]
struct Llm;

#[derive(FromRef, Clone)]
#[from_ref(skip)]
struct Deps {
    #[from_ref(ignore)]
    llm: Llm,
}

fn main() {}
