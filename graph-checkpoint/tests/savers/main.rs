//! What every saver must do, each family of behaviours in a file of its own, run against all savers.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod deadlines;
mod deletion;
mod folding;
mod heads;
mod material;
mod round_trip;
mod steps;
mod work;
