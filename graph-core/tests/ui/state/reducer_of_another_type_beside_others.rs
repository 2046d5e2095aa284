extern crate superstep_core as superstep;

use std::collections::BTreeMap;

use superstep::reducer::{Append, Merge, Sum};
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    #[reducer(Merge)]
    sources: Vec<String>,
    #[reducer(Sum)]
    tokens: u64,
    #[reducer(Merge)]
    notes: BTreeMap<String, String>,
}

fn main() {
    let _ = Essay::update().topic("Rust").facts(["typed"]).sources(["the book"]).tokens(1);
    let _ = Essay::default().notes.len();
}
