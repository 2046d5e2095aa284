//! Analyses of a thread's history: pure functions over its checkpoints, which read no file.

#![forbid(unsafe_code)]

mod bisect;
mod blame;
mod diff;
mod grep;
mod insert;
mod layout;
mod lineage;
#[cfg(test)]
pub(crate) mod material;
mod owned;
mod path;
mod walk;
mod why;

pub use bisect::{Bisection, FirstState, Search, bisect};
pub use blame::{Author, Blame, Overwritten, blame};
pub use diff::{ApplyError, Difference, Edit, apply, diff};
pub use grep::{Match, MatchPlace, Part, grep};
pub use insert::InsertError;
pub use layout::{
    Activity, Drawing, DrawnEdge, DrawnNode, INNER_MARGIN, INNER_TOP, Sketch, SketchNode, Stretch, StripSpan,
    layout, strip,
};
pub use lineage::{Row, lanes, parting};
pub use path::{Path, PathError, Segment};
pub use walk::{Walk, Written};
pub use why::{NotPlanned, Reason, Via, Why, WhyStep, why};
