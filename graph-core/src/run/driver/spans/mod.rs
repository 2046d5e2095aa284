//! Spans of the `tracing` crate. Without the feature `tracing`, they do nothing.
//!
//! | span | fields |
//! |---|---|
//! | `run` | `graph`, `thread`, `run`: its id, `outcome`: `finished`, `interrupted`, …, or the error |
//! | `superstep` | `step`, as its checkpoint is numbered; `tasks`: how many |
//! | `task` | `node`, `step`, `task`: its position, `attempt`, `outcome`: `finished`, `paused` or the error |
//!
//! All have the target `superstep` and the level INFO. A task's span is inside its superstep's span, which is
//! inside the run's span. The run of a subgraph is inside the span of the task that runs it. A node's code, with
//! its own spans and events, is inside its task's span.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(in crate::run) use off::Span;
#[cfg(feature = "tracing")]
pub(in crate::run) use on::Span;
