//! The savers of this repository against the suite that every store must pass, and broken stores, which must not.

#[path = "conformance/broken.rs"]
mod broken;
#[path = "conformance/defect.rs"]
mod defect;
#[path = "conformance/defects.rs"]
mod defects;
#[path = "conformance/savers.rs"]
mod savers;
