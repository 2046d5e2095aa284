//! The graph engine of [Superstep](https://docs.rs/superstep). Add `superstep` to a program, not this crate.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "tokio"), expect(dead_code, unused_imports, reason = "what only a driver uses"))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The derives name this crate `superstep`, as users do.
#[cfg_attr(
    not(any(test, feature = "tokio")),
    expect(unused_extern_crates, reason = "paths in the expansion of the derives resolve through it")
)]
extern crate self as superstep;

mod caught;
pub mod checkpoint;
pub mod engine;
pub mod error;
pub mod graph;
pub mod id;
#[cfg(feature = "tokio")]
pub mod lock;
pub mod node;
pub mod nonprinting;
pub mod reducer;
pub mod route;
#[cfg(feature = "tokio")]
pub mod run;
pub mod state;
pub mod store;
#[cfg(feature = "tokio")]
pub mod testing;

/// The names that the expansions of the derives use. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use alloc::borrow::ToOwned;
    pub use alloc::string::String;
    pub use alloc::vec;
    pub use alloc::vec::Vec;
    pub use core::clone::Clone;
    pub use core::default::Default;
    pub use core::fmt;
    pub use core::iter::{IntoIterator, Iterator};
    pub use core::mem::swap;
    pub use core::option::Option::{self, None, Some};
    pub use core::result::Result::{self, Err, Ok};

    pub use serde::Serialize;
    pub use serde::de::DeserializeOwned;

    pub use crate::error::NodeError;
    pub use crate::node::{FromRef, FromTask, IntoOutcome, Output};
    pub use crate::reducer::{LastValue, Reducer, Transient};
    pub use crate::route::{Case, Example, Route};
    pub use crate::state::derived::{Codec, FieldList, NoWrite, Part, debug_update, lift, lower, no_field};
    pub use crate::state::fitted::{Described, Fitted, Fitting, Undescribed, Unfit, assert_reducer};
    pub use crate::state::{
        CodecError, Embedded, Field, FieldId, FieldSchema, FieldWrite, Indexes, Input, IntoInput, IntoWrite,
        Json, Lifetime, Logged, LoggedWrite, Migration, Schema, State, StateUpdate, Update, Write, WriteKind,
        Writers,
    };
}
