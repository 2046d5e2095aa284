//! Algebra of the built-in reducers.
