//! The nodes of an assistant, one in each file with its route.

mod abandoned;
mod authorize;
mod blobs;
mod compact;
mod conversations;
mod coverage;
mod delegate;
mod early;
mod finish;
mod gate;
mod guidance;
mod hooks;
mod recover;
mod session_calls;
mod sources;
mod tool_summary;
mod tools;
mod turn;

pub(crate) use authorize::Authorize;
pub use authorize::AuthorizeNext;
pub(crate) use authorize::MAX_AGENTS;
pub(crate) use blobs::store_long_results;
pub(crate) use compact::Compact;
pub(crate) use coverage::{before_open_calls, taken_at};
pub(crate) use delegate::Delegate;
pub use delegate::DelegateNext;
pub(crate) use finish::Finish;
pub use finish::FinishNext;
pub(crate) use gate::Gate;
pub use gate::GateNext;
pub(crate) use recover::Recover;
pub use recover::RecoverNext;
pub(crate) use tools::Tools;
pub use tools::ToolsNext;
pub(crate) use turn::Turn;
pub use turn::TurnNext;
