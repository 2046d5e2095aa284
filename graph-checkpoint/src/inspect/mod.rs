//! What happened to a thread: pure functions over its checkpoints, which read no file.

mod bisect;
mod blame;
mod diff;
#[cfg(test)]
mod material;
mod owned;
mod path;

pub use bisect::{Bisection, Found, Search, bisect};
pub use blame::{Author, Blame, blame};
pub use diff::{ApplyError, Difference, Edit, apply, diff};
pub use path::{Path, PathError, Segment};
