//! The debugger of a program: the verbs of `superstep`, and those that need the program's code.
//!
//! ```text
//! debugger(&[&essays, &mails]) ─► Debugger ─ main, subcommand, run ─► arguments ─► a verb of superstep: reads the file
//!                                                                          └─► a verb of a run ─► Session ─► AnyGraph
//!                                                                                  which file, which graph ┘
//! ```

mod arguments;
mod debugger;
mod known_secrets;
mod progress;
mod session;
mod verbs;

pub use debugger::{Debugger, debugger};
pub(crate) use session::file_of;
#[cfg(all(feature = "agent", unix))]
pub(crate) use verbs::Replayed;
pub(crate) use verbs::replayed;
