//! The messages an agent's conversation is made of.
//!
//! There are four kinds of message, told apart in JSON by their `type`:
//!
//! ```text
//! system ──▶ human ──▶ ai ──(tool calls?)──▶ tool, tool, … ──▶ ai ──▶ human ──▶ …
//! ```
//!
//! Every message has an id given by its creator: nothing here draws a random number or reads a clock, so a run that is
//! executed again makes the same messages. An AI message may ask for tools; each of its calls has to be answered by a
//! tool message directly after it, or providers refuse the request.
//!
//! So there are two lists of messages. A [`MessageLog`] is what a state keeps: all that happened. A [`Conversation`] is
//! what a model is shown: in it every call is answered, even if the work that was to answer it was stopped.
//! [`unanswered_tool_calls`] finds the calls of a log that wait.
//!
//! ```
//! use superstep_nodes::message::{Message, MessageLog, NO_RESULT, ToolCall, unanswered_tool_calls};
//!
//! let call = ToolCall::new("c1", "search_docs", serde_json::json!({ "query": "superstep" }));
//! let mut log = MessageLog::from([
//!     Message::human("m1", "What is a superstep?"),
//!     Message::ai_with_calls("m2", "", vec![call.clone()]),
//! ]);
//! assert_eq!(unanswered_tool_calls(&log), [&call]);
//! assert_eq!(log.conversation()[2].text(), NO_RESULT);
//!
//! log.put(Message::tool("m3", &call, "A superstep is one round of tasks."));
//! assert!(unanswered_tool_calls(&log).is_empty());
//! assert_eq!(log.conversation()[2].text(), "A superstep is one round of tasks.");
//! ```

mod content;
mod conversation;
mod kinds;
pub(crate) mod log;
#[expect(clippy::module_inception, reason = "one main type a file, and the file is named after it")]
mod message;
pub(crate) mod pairing;
mod part;

pub use content::Content;
pub use conversation::{Conversation, NO_RESULT};
pub use kinds::{AiMessage, HumanMessage, MessageId, SystemMessage, ToolCall, ToolMessage, ToolStatus};
pub use log::MessageLog;
pub use message::Message;
pub(crate) use pairing::open_calls;
pub use pairing::unanswered_tool_calls;
pub use part::{Detail, Image, ImageSource, Native, Origin, Part, Thinking};
