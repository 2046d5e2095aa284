//! The verbs, each with its arguments, its answer, and the text of that for people.

mod backup;
mod bisect;
mod blame;
mod calls;
mod compare;
mod delete;
mod diff;
mod du;
mod edit;
mod export;
mod fork;
pub(crate) mod gc;
mod graph;
mod grep;
mod import;
mod interrupts;
mod log;
mod migrate;
mod name;
#[cfg(feature = "encryption")]
mod rekey;
mod release;
mod show;
mod test;
mod threads;
mod vacuum;
mod verify;
mod why;

pub(super) use backup::Backup;
pub(super) use bisect::Bisect;
pub(super) use blame::Blame;
pub(super) use calls::Calls;
pub(super) use compare::Compare;
pub(super) use delete::Delete;
pub(super) use diff::Diff;
pub(super) use du::Du;
pub(super) use edit::Edit;
pub(super) use export::Export;
pub(super) use fork::Fork;
pub(super) use gc::Gc;
pub(super) use graph::Graph;
pub(super) use grep::Grep;
pub(super) use import::Import;
pub(super) use interrupts::Interrupts;
pub(super) use log::Log;
pub(super) use migrate::Migrate;
pub(super) use name::Name;
#[cfg(feature = "encryption")]
pub(super) use rekey::Rekey;
pub(super) use release::Release;
pub(super) use show::Show;
pub(super) use test::Test;
pub(super) use threads::Threads;
pub(super) use vacuum::Vacuum;
pub(super) use verify::Verify;
pub(super) use why::Why;
