extern crate superstep_core as superstep;

use superstep::reducer::Append;
use superstep::state::State;

struct Vec;
struct Option;
struct Result;
struct Write;
trait Default {}
trait Clone {}

#[derive(State, std::clone::Clone, std::default::Default)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: std::vec::Vec<String>,
    #[state(transient)]
    cache: std::option::Option<u8>,
}

fn main() {}
