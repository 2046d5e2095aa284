extern crate superstep_core as superstep;

use serde::Serialize;
use superstep::route::Route;

#[derive(Route, Serialize)]
enum Plan<'a> {
    Research(&'a str),
    Write,
}

fn main() {}
