//! The work of agents, as metrics and as traces.
//!
//! ```text
//! nodes ──emit──▶ events of the run ──┬─▶ AgentMetrics ──▶ the `metrics` facade ──▶ whatever recorder is installed
//!                                     └─▶ AgentSpans ────▶ a tracer of OpenTelemetry
//! ```
//!
//! Both are [observers](superstep_core::run::Observer): a graph that is not observed does no work for them, and no node
//! depends on them. They read the events that the nodes of [`node`](crate::node) emit, by their names, so they work for
//! every graph that has some of these nodes. Neither sends anything anywhere: that is for the recorder or the exporter
//! that a program installs. No metric and no span contains any text of a conversation.
//!
//! | type | feature | makes |
//! |---|---|---|
//! | `AgentMetrics` | `metrics` | counters, gauges and histograms, as the list of `Metric`s says |
//! | `AgentSpans` | `otel` | spans with the attributes of the semantic conventions for generative AI |

#[cfg(feature = "metrics")]
mod agent_metrics;
#[cfg(feature = "otel")]
mod agent_spans;
#[cfg(feature = "metrics")]
mod all_metrics;
#[cfg(feature = "otel")]
mod gen_ai;
#[cfg(feature = "metrics")]
mod metric;
#[cfg(feature = "metrics")]
mod open_runs;
#[cfg(feature = "metrics")]
mod rating;
mod signal;

#[cfg(feature = "metrics")]
pub use agent_metrics::AgentMetrics;
#[cfg(feature = "otel")]
pub use agent_spans::AgentSpans;
#[cfg(feature = "metrics")]
pub use metric::{Metric, MetricKind};
#[cfg(feature = "metrics")]
pub use rating::{AlreadyRated, InvalidRating, Rating};
