//! The graph engine of [Superstep](https://docs.rs/superstep). Add `superstep` to a program, not this crate.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The derives name this crate `superstep`, as users do.
#[expect(
    unused_extern_crates,
    reason = "paths in the expansion of the derives resolve through it"
)]
extern crate self as superstep;

pub mod checkpoint;
pub mod error;
pub mod id;
pub mod node;
pub mod reducer;
pub mod route;
pub mod state;

/// What the expansions of the derives name. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use alloc::borrow::ToOwned;
    pub use alloc::string::String;
    pub use alloc::vec;
    pub use alloc::vec::Vec;

    pub use crate::error::NodeError;
    pub use crate::node::{Dep, FromRef, IntoOutcome, Output};
    pub use crate::reducer::{LastValue, Reducer, Transient};
    pub use crate::route::{Case, Route};
    pub use crate::state::{
        CodecError, Embedded, Field, FieldId, FieldSchema, FieldWrite, Input, IntoInput, IntoWrite, Json,
        Lifetime, Logged, LoggedWrite, Schema, State, StateUpdate, Update, Write, WriteKind, Writers,
    };
}
