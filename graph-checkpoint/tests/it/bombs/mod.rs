//! Decode bombs: texts that are small in a file and would be very much in memory.
//!
//! Each row of the table makes a file, or a text, that somebody prepared: the rows have the checksums that they should have, so
//! nothing but the limits is between it and the memory. A process of its own then reads all that can be read of it, and tells
//! what it was refused with and how much memory it ever took: at most 8 times the 64 MiB that a record may have, and the error
//! that the table says. None of them aborts.
//!
//! The mutant is a reader whose limits were lifted: it is seen to take in what is refused otherwise, and to take more memory
//! for it than it may.
//!
//! In the gate, limits and bombs have a sixteenth of their size; with `SUPERSTEP_TORTURE` they have all of it.
//! `SUPERSTEP_TORTURE=1 cargo test --release -p superstep-checkpoint --test it bombs:: -- --nocapture` shows the table with what each
//! row took.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail at any line, and tells what it saw"
)]

mod documents;
mod forge;
mod reading;
mod table;
mod values;
