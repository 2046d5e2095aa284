//! The program `superstep`, started as a process. Its verb `agent` has a scripted model and folders of its own; the
//! other verbs are tested in `cli/tests`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

#[cfg(all(feature = "postgres", feature = "server"))]
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
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
