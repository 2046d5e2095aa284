//! The conformance suite: the savers of this repository must pass it, and broken stores must not.

mod broken;
mod defect;
mod defects;
mod row_defects;
mod savers;
