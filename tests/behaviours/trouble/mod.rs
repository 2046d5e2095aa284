//! Failures inside a program: runs that are cancelled or dropped at any moment, user code that panics, and subscribers
//! that do not keep up.
//!
//! | module | failure | requirement |
//! |---|---|---|
//! | [`cancelled`] | a run is cancelled or dropped, at each poll and millisecond | no later effects, the same final state |
//! | [`panics`] | user code panics, in each place | an error, no lost work, all threads continue |
//! | [`subscribers`] | subscribers are slow, or never read | no delay, bounded memory, every gap is reported |
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
