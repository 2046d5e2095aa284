extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::graph::{StateGraph};
use superstep::node::{Snapshot};
use superstep::route::Route;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
    Write,
}

#[derive(State, Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

async fn write(chat: Snapshot<Chat>) -> Update<Essay> {
    let _ = Plan::Write;
    Essay::update().topic(chat.messages.join(" "))
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("write", write);
}
