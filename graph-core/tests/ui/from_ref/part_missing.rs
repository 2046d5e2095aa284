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

fn part<T: FromRef<Deps>>(deps: &Deps) -> T {
    T::from_ref(deps)
}

fn main() {
    let deps = Deps { llm: Llm };
    let _: Llm = part(&deps);
    let _: Web = part(&deps);
}
