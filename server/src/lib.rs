//! A server for graphs, which the clients of LangGraph's API use unchanged.
//!
//! ```text
//! request ──► guard ──► api ──► service ──► Records, Checkpointer
//!                        │         ▲             ▲
//!                        ▼         │             │
//!                      wire       work ── runs, and logs their events ──► log
//!                                                                          │
//!             SSE, WebSocket  ◄──  legacy, protocol  ◄─────────────────────┘
//! ```
//!
//! - `wire` has the JSON shapes of the clients, as pure functions.
//! - `log` has the events of each thread; `legacy` and `protocol` project them into the two streaming formats.
//! - `service` decides: it creates runs, cancels and recovers them, and reads and edits threads.
//! - `work` claims runs and drives them, or hands them through `ingress` to Restate; `webhook` calls the addresses that want to know of their ends.
//! - `api` has the routes; `guard` admits requests.
//! - `studio` serves a page on a checkpoint file, and the JSON that it asks for (feature `studio`).
#![forbid(unsafe_code)]

// The derive macros name the facade.
#[cfg(test)]
extern crate superstep_core as superstep;

mod api;
mod clock;
mod command_line;
mod counts;
mod graphs;
mod guard;
mod ingress;
pub(crate) mod legacy;
mod listen;
pub(crate) mod log;
pub(crate) mod protocol;
mod scope;
mod serve;
pub(crate) mod service;
#[cfg(feature = "studio")]
mod studio;
mod webhook;
pub(crate) mod wire;
pub(crate) mod work;

pub use axum;
pub use command_line::{CommandLineError, ServeOptions, Stopped};
pub use graphs::GraphsError;
pub use guard::{Access, Action, Auth, AuthError, Filter, Identity, Limits, Resource, Token, TokenError};
pub use listen::Listening;
pub use serve::{ServeError, Server, Workers, serve};
#[cfg(feature = "studio")]
pub use studio::StudioVerb;

#[cfg(test)]
mod tests;
