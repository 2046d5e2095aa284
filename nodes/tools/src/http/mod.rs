//! The tool that asks servers.
//!
//! ```text
//! input ──Hosts: scheme, name, address──▶ client ──PublicResolver: addresses──▶ connection
//!            ▲                                                                     │
//!            └───────────────────────────── redirect ◀─────────────────────────────┘
//! ```

mod exchange;
mod request;
mod resolver;

pub use request::{HttpMethod, HttpRequest, HttpRequestInput, HttpRuleError};
