//! Output of `superstep test`, with its one line filled in. `UPDATE_GOLDEN=1` regenerates it.

mod branch;
mod file;
mod step;
mod turn;

/// The line that is filled in.
fn graph() -> superstep::prelude::Graph<crate::testing::program::Essay> {
    crate::testing::program::essays(&crate::testing::program::World::absent())
}
