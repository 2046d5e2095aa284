//! The messages an agent's conversation is made of.
//!
//! A conversation is a `Vec<Message>`. There are four kinds, told apart in JSON by their `type`:
//!
//! ```text
//! system ──▶ human ──▶ ai ──(tool calls?)──▶ tool, tool, … ──▶ ai ──▶ human ──▶ …
//! ```
//!
//! Every message has an id given by whoever makes it: nothing here draws a random number or reads a
//! clock, so a run that is executed again makes the same messages. An AI message may ask for tools; each
//! of its calls has to be answered by a tool message directly after it, or the next model request is not
//! valid. [`unanswered_tool_calls`] finds the calls that are not.
//!
//! ```
//! use superstep_nodes::message::{Message, ToolCall, unanswered_tool_calls};
//!
//! let mut messages = vec![Message::human("m1", "What is a superstep?")];
//! let call = ToolCall::new("c1", "search_docs", serde_json::json!({ "query": "superstep" }));
//! messages.push(Message::ai_with_calls("m2", "", vec![call.clone()]));
//! assert_eq!(unanswered_tool_calls(&messages), [&call]);
//!
//! messages.push(Message::tool("m3", &call, "A superstep is one round of tasks."));
//! assert!(unanswered_tool_calls(&messages).is_empty());
//! ```

mod content;
mod id;
mod kinds;
#[expect(clippy::module_inception, reason = "one main type a file, and the file is named after it")]
mod message;
mod pairing;
mod tool_call;

pub use content::{Content, Part};
pub use id::MessageId;
pub use kinds::{AiMessage, HumanMessage, SystemMessage, ToolMessage};
pub use message::Message;
pub use pairing::unanswered_tool_calls;
pub use tool_call::{ToolCall, ToolStatus};
