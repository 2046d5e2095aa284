//! The driver: carries out the machine's commands.
//!
//! ```text
//! order ─► begin        loads the head, makes the machine's first event
//!          answering    checks answers and stores them
//!          idempotency  finds the input of a repeated request, and of one that lost
//!          hold         holds the thread's lease, where that is asked for
//!            │
//!            ▼
//!          drive        the one loop: a command, and what carries it out
//!          tasks        attempts under way, inline or spawned
//!          attempt      polls a node, maps its route
//!          results      keeps, records and reports the ends of tasks
//!          commit       merges, logs and stores a superstep
//!          ending       takes in what was under way, and stores what is left
//!          narration, recorder, spans     what is reported, and kept of what nodes emit
//!            │
//!          edit, edit_as, given     edits, edits as nodes, and the outcomes of those
//!          partial_run  runs a part of a run that is made up, for tests
//!          subgraph     runs a graph inside a task of another
//! ```

pub(crate) mod answering;
pub(crate) mod attempt;
pub(crate) mod basis;
pub(crate) mod begin;
pub(crate) mod cached;
mod commit;
pub(crate) mod drive;
pub(crate) mod edit;
pub(crate) mod edit_as;
mod ending;
pub(crate) mod given;
mod hold;
pub(crate) mod idempotency;
mod narration;
pub(crate) mod order;
pub(crate) mod partial_run;
pub(crate) mod recorder;
pub(crate) mod recording;
mod results;
pub(crate) mod slot;
pub(crate) mod spans;
pub(crate) mod step_clock;
pub(crate) mod subgraph;
pub(crate) mod tasks;
pub(crate) mod timers;
