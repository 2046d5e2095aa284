//! A session for a person at a terminal.
//!
//! ```text
//!                ┌────────── Front: one thread owns the terminal ──────────┐
//! keys ────────▶ │ composer (reedline)            while the agent waits    │ ──▶ inbox, answers, commands
//!                │ keys, one status line          while it works           │
//! events ──────▶ │ screen::View ──▶ lines ──▶ terminal                     │
//!                └──────────────────────────────────────────────────────────┘
//! ```
//!
//! Runs and agents in the background work on the threads of the runtime and send their events through channels. While
//! a message is typed, output waits in the channel.

mod asking;
mod background;
mod commands;
mod completion;
mod composer;
mod front;
mod keys;
mod leaving;
mod orders;
mod past;
mod terminal;
mod working;

pub(crate) use front::run;
