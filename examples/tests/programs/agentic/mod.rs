//! The agentic loop with a file, with models over the network, and as a program.

mod conversation;
mod program;
