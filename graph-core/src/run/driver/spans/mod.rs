//! Spans of the `tracing` crate, with its feature; without, nothing.
//!
//! | span | fields |
//! |---|---|
//! | `run` | `graph`, `thread`, `run`: its id, `outcome`: `finished`, `interrupted`, …, or the error |
//! | `superstep` | `step`, as its checkpoint is numbered; `tasks`: how many |
//! | `task` | `node`, `step`, `task`: its position, `attempt`, `outcome`: `finished`, `paused` or the error |
//!
//! All have the target `superstep` and the level INFO. A task's span is inside its superstep's, and that inside the
//! run's; the run of a subgraph is inside the span of the task that runs it. What a node does, its own spans and
//! events included, is inside its task's span.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(in crate::run) use off::Span;
#[cfg(feature = "tracing")]
pub(in crate::run) use on::Span;
