extern crate superstep_core as superstep;

use superstep::node::node;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

struct Planner;

impl Planner {
    #[node]
    async fn plan(&self) -> Update<Essay> {
        Essay::update()
    }
}

fn main() {}
