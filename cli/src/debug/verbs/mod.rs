//! The verbs that need the code of a program.

mod answer;
mod ending;
mod migrate;
mod replay;
mod run;
mod tail;

pub(super) use answer::Answer;
pub(super) use migrate::check;
pub(super) use replay::Replay;
#[cfg(all(feature = "agent", unix))]
pub(crate) use replay::Replayed;
pub(crate) use replay::replayed;
pub(super) use run::{Rerun, Resume, Run};
pub(super) use tail::Tail;
