//! The node that was added to an edit as the last one was dropped without a word, even one that no graph has.

extern crate superstep_core as superstep;

use superstep::run::Thread;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    draft: String,
}

async fn edit(thread: Thread<Essay>) {
    thread.edit_as_last(Essay::update().draft("…")).and_as_named("no such node", Essay::update()).await;
}

fn main() {}
