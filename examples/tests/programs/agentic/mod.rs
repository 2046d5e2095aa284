//! The agentic loop with a file, models behind a network, and as a program.

mod conversation;
mod program;
