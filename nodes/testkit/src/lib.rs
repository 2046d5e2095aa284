//! For tests of clients: a server on loopback that speaks the protocols of model vendors, as strictly as they do.
//!
//! ```text
//!  client ──▶ path, method, key, version ──▶ JSON ──▶ shape ──▶ memory ──▶ next reply ──▶ rendered ──▶ paced ──▶ client
//!                      └────────────────────────┴───────┴──────────┴─▶ the vendor's error
//! ```
//!
//! A [`MockServer`] has the endpoints of Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, and those
//! that count, embed and make images. What it says is a queue of [`Reply`]s, which do not depend on the protocol:
//! each request takes one, and gets it in the words of its protocol, as a stream or not. How fast it comes, in which
//! pieces, and whether it is complete, is the reply's [`Pacing`]; deviations of servers that are only compatible are
//! [`Quirk`]s.
//!
//! A request whose shape the vendor would not take gets the vendor's status and text, and takes no reply. So does one
//! whose thinking is not what the server has sent before. The checks of shapes are functions as well:
//! [`anthropic::check`], [`chat::check`], [`responses::check`], [`embeddings::check`], [`images::check`].
//!
//! Afterwards, [`received`](MockServer::received) has all requests, with what became of their answers: a client that
//! went away before the end is noticed.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use superstep_testkit::{Delivery, MockServer, Reply};
//!
//! let server = MockServer::builder().key("secret").start_in_thread()?;
//! server.reply(Reply::text("Paris."));
//!
//! let ask = |body: &str| -> std::io::Result<String> {
//!     let mut client = TcpStream::connect(server.address())?;
//!     write!(
//!         client,
//!         "POST /v1/messages HTTP/1.1\r\nhost: mock\r\nx-api-key: secret\r\nanthropic-version: 2023-06-01\r\n\
//!          connection: close\r\ncontent-length: {}\r\n\r\n{body}",
//!         body.len(),
//!     )?;
//!     let mut answer = String::new();
//!     client.read_to_string(&mut answer)?;
//!     Ok(answer)
//! };
//!
//! let question = r#"[{"role": "user", "content": "What is the capital of France?"}]"#;
//! let refused = ask(&format!(r#"{{"model": "claude-test-1", "messages": {question}}}"#))?;
//! assert!(refused.starts_with("HTTP/1.1 400 "));
//! assert!(refused.contains("max_tokens: Field required"));
//!
//! let answer = ask(&format!(r#"{{"model": "claude-test-1", "max_tokens": 64, "messages": {question}}}"#))?;
//! assert!(answer.contains(r#""text":"Paris.""#));
//!
//! assert_eq!(server.errors()[0].message(), "max_tokens: Field required");
//! assert_eq!(server.received()[1].delivery(), Delivery::Delivered);
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod admission;
mod answer;
pub mod anthropic;
pub mod chat;
mod connection;
mod desk;
pub mod embeddings;
mod endpoint;
mod function;
mod http_error;
mod image;
pub mod images;
mod pacing;
mod playback;
mod received;
mod reply;
mod request_value;
pub mod responses;
mod said;
mod schema;
mod server;
mod sse;
mod vendor_error;

pub use endpoint::Endpoint;
pub use http_error::HttpError;
pub use pacing::Pacing;
pub use received::{Delivery, Received};
pub use reply::{Quirk, Reply, Stop, Usage};
pub use server::{MockServer, MockServerBuilder};

#[cfg(test)]
mod tests;
