//! How runs behave: one family of behaviours a file, each test a sentence.
//!
//! No test sleeps or reads a clock: what takes time runs on tokio's paused clock.

mod cancellation;
mod effects;
mod failure;
mod fan_out;
mod interrupts;
mod supersteps;
mod support;
