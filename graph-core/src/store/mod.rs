//! The store: values that outlive threads, by namespace and key.
//!
//! A thread's state belongs to that thread. Data that several threads share, such as facts about a user, belongs in
//! the store.
//!
//! ```text
//! ["users", "ada"]   "profile"   {"name": "Ada"}        an entry: namespace, key, value
//!  └─ namespace ─┘    └─ key ─┘   └─ any JSON ─┘
//!
//! Store ─────────► StoreBackend      MemoryStore; SqliteStore and PostgresStore in superstep-checkpoint
//! typed values,    texts, the time
//! the clock        as an argument
//! ```
//!
//! Give the store to a graph with `graph.store(..)`; nodes take it as an argument.
//!
//! **Writes are immediate.** They are not part of the superstep: other nodes see them at once, in the order in
//! which they were made, and they remain if the superstep fails. A node that runs again writes again, which does no
//! harm if each write replaces the whole value of its key.

mod backend;
mod handle;
#[cfg(feature = "std")]
mod memory;
mod namespace;
mod search;
#[cfg(feature = "tokio")]
mod unwritten;

pub use backend::{AccessError, Entry, Put, StoreBackend};
#[cfg(feature = "std")]
pub use handle::SystemClock;
pub use handle::{Clock, Store};
#[cfg(feature = "std")]
pub use memory::MemoryStore;
pub use namespace::Namespace;
pub use search::{Search, words, words_in};
