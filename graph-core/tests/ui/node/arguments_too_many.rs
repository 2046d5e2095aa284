extern crate superstep_core as superstep;

use superstep::node::{TaskInfo, node};

#[node]
async fn plan(
    _1: TaskInfo,
    _2: TaskInfo,
    _3: TaskInfo,
    _4: TaskInfo,
    _5: TaskInfo,
    _6: TaskInfo,
    _7: TaskInfo,
    _8: TaskInfo,
    _9: TaskInfo,
    _10: TaskInfo,
    _11: TaskInfo,
    _12: TaskInfo,
    _13: TaskInfo,
) {
}

fn main() {}
