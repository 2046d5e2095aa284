extern crate superstep_core as superstep;

use superstep::node::FromRef;

#[derive(Clone)]
struct Llm;

#[derive(Clone)]
struct Web;

#[derive(FromRef, Clone)]
struct Deps {
    llm: Llm,
}

fn main() {
    let deps = Deps { llm: Llm };
    let _ = Llm::from_ref(&deps);
    let _ = Web::from_ref(&deps);
}
