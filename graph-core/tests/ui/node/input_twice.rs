extern crate superstep_core as superstep;

use superstep::node::{Input, node};

#[node]
async fn plan(topic: Input<String>, count: Input<u32>) {
    let _ = (topic, count);
}

fn main() {}
