//! Savers and files from outside.

mod bombs;
mod conformance;
mod fidelity;
mod interleavings;
mod maintenance;
mod material;
mod postgres;
mod records;
mod savers;
mod sqlite;
