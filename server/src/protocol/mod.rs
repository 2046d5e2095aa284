//! The thread protocol: events of a thread's log on channels, with filters, and commands.

mod command;
mod filter;
mod message;
mod projection;

pub(crate) use command::{Code, Command, CommandRequest, Respond, failed, succeeded};
pub(crate) use filter::EventFilter;
pub(crate) use projection::Protocol;
