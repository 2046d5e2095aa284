//! The tool that asks servers.
//!
//! ```text
//! input ──Hosts: scheme, name, address──▶ client ──PublicResolver: addresses──▶ connection
//!            ▲                                                                     │
//!            └───────────────────────────── redirect ◀─────────────────────────────┘
//! ```

mod address_policy;
mod exchange;
mod hosts;
mod request;

pub use hosts::HttpRuleError;
pub use request::{HttpMethod, HttpRequest, HttpRequestInput};
