//! Decode bombs: texts that are small in a file and would take much memory.
//!
//! Each row of the table creates a malicious file or text: its rows have correct checksums, so only the limits protect
//! the memory. A separate process then reads everything that can be read of it, and reports the errors and its maximum
//! memory: at most 9 times the 64 MiB that a record may have, and the error in the table. None of the processes aborts.
//!
//! The mutant is a reader without limits: it accepts what is otherwise refused, and uses more memory than allowed.
//!
//! In the gate, limits and bombs have a sixteenth of their size; with `SUPERSTEP_TORTURE` they have their full size.
//! `SUPERSTEP_TORTURE=1 cargo test --release -p superstep-checkpoint --test it bombs:: -- --nocapture` prints the table
//! with the memory of each row.
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
