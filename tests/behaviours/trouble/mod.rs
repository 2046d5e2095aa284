//! Failures inside a program: runs that are cancelled or dropped at any moment, user code that panics, and subscribers
//! that do not keep up.
//!
//! | module | what happens | what must hold |
//! |---|---|---|
//! | [`cancelled`] | a run is cancelled or dropped at each poll and each millisecond | no effect starts afterwards, and a resume leads to the same final state |
//! | [`panics`] | user code panics, at each place where it is called | the run reports it, no finished work is lost, and all threads continue |
//! | [`subscribers`] | subscribers are slow, or never read | the run is not delayed, memory is bounded, and every gap is reported |
//!
//! Each module also has a mutant without a guard, which must fail. `SUPERSTEP_TORTURE` multiplies the counts of random
//! tests.

mod cancelled;
mod panics;
mod subscribers;

/// The multiple of the gate's counts.
fn torture() -> usize {
    let asked = std::env::var("SUPERSTEP_TORTURE").ok();
    let times: usize = asked.map_or(1, |times| times.parse().expect("SUPERSTEP_TORTURE is a number"));
    times.max(1)
}
