//! The store: values that outlive threads, by namespace and key.
//!
//! A thread's state is its own; what several threads share, such as what is known of a user, is kept here.
//!
//! ```text
//! ["users", "ada"]   "profile"   {"name": "Ada"}        an entry: namespace, key, value
//!  └─ namespace ─┘    └─ key ─┘   └─ any JSON ─┘
//!
//! Store ─────────► StoreBackend      MemoryStore, and SqliteStore in superstep-checkpoint
//! typed values,    texts, the time
//! the clock        as an argument
//! ```
//!
//! Nodes take it as an argument, and the graph is given it with `graph.store(..)`.
//!
//! **Writes are immediate.** They are no part of the superstep: others see them at once, in the order in which
//! they were made, and a superstep that fails does not take them back. A node that runs again writes again; that
//! does no harm where a write says all that is to be known under its key.

mod access;
mod backend;
mod handle;
#[cfg(feature = "std")]
mod memory;
mod namespace;
mod search;
#[cfg(feature = "tokio")]
mod unwritten;

pub use access::AccessError;
pub use backend::{Entry, Put, StoreBackend};
#[cfg(feature = "std")]
pub use handle::SystemClock;
pub use handle::{Clock, Store};
#[cfg(feature = "std")]
pub use memory::MemoryStore;
pub use namespace::Namespace;
pub use search::{Search, words, words_in};
