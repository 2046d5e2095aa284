extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(Clone)]
struct Llm;

#[derive(FromRef, Clone)]
struct Deps {
    writer: Llm,
    names: Vec<String>,
    editor: Llm,
}

fn main() {}
