//! Trouble inside a program: runs that are cancelled or dropped at any moment, user code that panics, and subscribers
//! that do not keep up.
//!
//! | module | what happens | what must hold |
//! |---|---|---|
//! | [`cancelled`] | a run is cancelled or dropped at each poll and each millisecond | no effect starts afterwards, and a resume comes to the same end |
//! | [`panics`] | user code panics, at each place where it is called | the run says so, nothing finished is lost, and everything goes on |
//! | [`subscribers`] | subscribers are slow, or never come | the run is not held up, memory is bounded, and every gap is told |
//!
//! Each module also has a mutant, in which a guard is gone, and sees it fail. `SUPERSTEP_TORTURE` multiplies how much is
//! done where chance decides.

mod cancelled;
mod panics;
mod subscribers;

/// So many times what the gate does.
fn torture() -> usize {
    let asked = std::env::var("SUPERSTEP_TORTURE").ok();
    let times: usize = asked.map_or(1, |times| times.parse().expect("SUPERSTEP_TORTURE is a number"));
    times.max(1)
}
