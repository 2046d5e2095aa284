//! Superstep.
