//! Savers and files from outside.

mod bombs;
mod care;
mod conformance;
mod fidelity;
mod interleavings;
mod material;
mod savers;
mod sqlite;
