//! Tests of the core's public interface: its derives, the engine against an interpreter, and the interleavings of
//! its threads.

extern crate alloc;
extern crate superstep_core as superstep;

mod derive;
mod interleavings;
#[cfg(feature = "tokio")]
mod model;
