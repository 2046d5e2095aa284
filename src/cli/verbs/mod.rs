//! The verbs, each with its arguments, its answer, and what that looks like.

mod bisect;
mod blame;
mod compare;
mod delete;
mod diff;
mod edit;
mod export;
mod fork;
mod graph;
mod grep;
mod import;
mod interrupts;
mod log;
mod show;
mod threads;
mod why;

pub(super) use bisect::Bisect;
pub(super) use blame::Blame;
pub(super) use compare::Compare;
pub(super) use delete::Delete;
pub(super) use diff::Diff;
pub(super) use edit::Edit;
pub(super) use export::Export;
pub(super) use fork::Fork;
pub(super) use graph::Graph;
pub(super) use grep::Grep;
pub(super) use import::Import;
pub(super) use interrupts::Interrupts;
pub(super) use log::Log;
pub(super) use show::Show;
pub(super) use threads::Threads;
pub(super) use why::Why;
