//! The core from outside: what its derives give, the engine against an interpreter, and the interleavings of its threads.

extern crate alloc;
extern crate superstep_core as superstep;

mod derive;
mod interleavings;
#[cfg(feature = "tokio")]
mod model;
