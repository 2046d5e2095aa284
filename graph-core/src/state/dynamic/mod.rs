//! A state described by data: its fields, their types and reducers are values, and its contents are JSON.
//!
//! ```text
//! {"facts": {"type": "array", "reducer": "append"}, ..}  ── JsonFields::new ──►  JsonFields
//!                                                                                  │       │
//!                     checks and names the writes of {"facts": ["a"]}   update(..) ▼       ▼ JsonState::new
//!                                                                              JsonUpdate  JsonState
//! ```
//!
//! It is logged and stored in the same form as a derived state with the same fields.

mod fields;
mod place;
mod reducer;
mod shape;
mod state;
mod update;

pub use fields::{JsonError, JsonFields};
pub use place::Found;
pub use state::JsonState;
pub use update::{JsonUpdate, JsonWrite};

pub(crate) use place::{Place, Problems, brief, suggestion};
#[cfg(feature = "tokio")]
pub(crate) use reducer::bare_name;
