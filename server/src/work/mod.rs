//! Workers: claim runs, drive them, and end them.
//!
//! ```text
//! claim_run ──► Begun ──► plan: input, resume, answer ──► engine ──► finish_run ──► Ended
//!                            │                              ▲ │
//!                     fork, edit first              cancel ─┘ └─ events ──► log
//! ```

mod control;
mod drive;
#[cfg(feature = "restate")]
mod followed;
#[cfg(feature = "restate")]
mod handed;
mod heart;
mod hold;
mod outcome;
mod plan;
mod pool;
mod recovered;
mod rollback;

pub(crate) use control::Stop;
pub(crate) use outcome::resting;
pub(crate) use plan::{ASKED, RUN_ID, by_id};
pub(crate) use pool::{WorkOptions, Worker};
pub(crate) use rollback::{BRANCH_OF, BRANCH_TIP, branched, original};
