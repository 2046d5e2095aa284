extern crate superstep_core as superstep;

use superstep::state::Update;

struct Essay;

fn write() -> Update<Essay> {
    todo!()
}

fn main() {}
