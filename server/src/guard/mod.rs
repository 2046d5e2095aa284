//! The checks that each request passes before a handler sees it.
//!
//! ```text
//! request ──► size of the head ──► host ──► origin ──► authentication ──► filter of the route ──► handler
//!                 431                403       403          401                 403
//! ```
//!
//! [`admission`] has the order of the checks, which the other files implement.

mod admission;
mod auth;
mod cors;
mod hosts;
mod limits;
mod token;

pub(crate) use admission::{Client, Guard, Peer, admit, check, json};
pub(crate) use auth::Everyone;
pub use auth::{Access, Action, Auth, AuthError, Filter, Identity, Resource};
pub(crate) use hosts::Hosts;
pub use limits::Limits;
pub(crate) use limits::{OpenStream, Streams, parse, read_json};
pub use token::{Token, TokenError};
