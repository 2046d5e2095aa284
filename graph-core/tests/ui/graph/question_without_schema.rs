extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::graph::StateGraph;
use superstep::node::Ask;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(Serialize, Deserialize)]
struct Question {
    text: String,
}

async fn review(editor: Ask<Question, bool>) -> Update<Essay> {
    let fine = editor.ask(Question { text: "Fine?".into() }).await;
    Essay::update().topic(fine.to_string())
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("review", review);
}
