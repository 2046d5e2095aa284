//! The engine with a store on disk.
