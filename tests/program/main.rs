//! The program `superstep`, started as a process. Its verb `agent` has a scripted model and folders of its own; the
//! other verbs are tested in `cli/tests`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod components;
mod demo;
mod desk;
mod exits;
mod import;
mod past;
mod picture;
mod pseudo_terminal;
#[cfg(feature = "server")]
mod serve;
mod sessions;
mod settings;
mod streaming;
#[cfg(feature = "studio")]
mod studio;
mod terminal;
mod terminal_commands;
mod terminal_ends;
