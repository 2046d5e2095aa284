//! A second node that was added to an edit as the last one used to be dropped silently, even if no graph has it.

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
