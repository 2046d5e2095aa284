//! The savers of this repository against the suite that every store must pass, and broken stores, which must not.

mod broken;
mod defect;
mod defects;
mod savers;
