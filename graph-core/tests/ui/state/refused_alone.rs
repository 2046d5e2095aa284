extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    #[state(sekret)]
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
}

fn write(essay: &Essay) -> superstep::state::Update<Essay> {
    Essay::update().topic("Rust").facts([essay.topic.as_str()]).set_topic("Zig").clear_facts()
}

fn main() {
    let essay = Essay::default();
    let _ = write(&essay).and(Essay::TOPIC.write(String::new()));
    println!("{}", Essay::TOPIC.get(&essay));
}
