extern crate superstep_core as superstep;

use superstep::node::{Input, node};

struct Query;

#[node]
async fn plan(query: Input<Query>) {
    let _ = query;
}

fn main() {}
