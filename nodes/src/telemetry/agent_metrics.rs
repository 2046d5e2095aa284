//! The observer that measures.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::id::RunId;
use superstep_core::run::{EventKind, Observer, RunEvent, Status};

use super::all_metrics::*;
use super::metric::Metric;
use super::open_runs::{Loop, OpenRuns, OpenTask, Refining};
use super::rating::{AlreadyRated, Rating};
use super::signal::{Compacted, Signal, Verified, name_of};
use crate::model::Prices;
use crate::node::{ModelCall, ToolRun};
use crate::tool::ToolOutcome;

/// Measures the runs that it observes, with the [`Metric`](super::Metric)s of the list, and hands the numbers to the
/// recorder of the `metrics` facade that the program has installed. Without a recorder they go nowhere.
///
/// Nothing is counted twice. A call that is taken from the record, as when a run is resumed, was counted when it was
/// made; and the work of a node is counted when its task finishes, once, however many attempts that took.
///
/// Clones count together; the rate of errors of a graph is right where all its runs have the same one.
///
/// ```
/// use superstep_nodes::graphs::{EvaluatorConfig, evaluator};
/// use superstep_nodes::model::{Price, Prices, Scripted};
/// use superstep_nodes::telemetry::AgentMetrics;
///
/// let prices = Prices::none().with("claude-x", Price::per_million(3.0, 15.0));
/// let metrics = AgentMetrics::new().prices(prices);
/// let graph = evaluator(EvaluatorConfig::new(Scripted::new().say("Hello, world.")))?.observe(metrics);
/// # Ok::<(), superstep_core::graph::BuildError>(())
/// ```
#[derive(Clone, Default)]
pub struct AgentMetrics {
    prices: Option<Arc<Prices>>,
    seen: Arc<Mutex<Seen>>,
}

/// The data seen so far.
#[derive(Default)]
struct Seen {
    runs: OpenRuns,
    /// By graph.
    ended: HashMap<String, Ended>,
    /// The latest runs that were rated.
    rated: VecDeque<RunId>,
}

/// The number of runs that ended.
#[derive(Clone, Copy, Default)]
struct Ended {
    all: u64,
    failed: u64,
}

/// The number of rated runs that are remembered.
const RATED: usize = 4_096;

/// The number of refinements from which on it has no label of its own.
const MANY_ATTEMPTS: u32 = 10;

impl AgentMetrics {
    /// Makes an observer that has seen nothing yet, and knows no prices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts what calls of models cost, too.
    #[must_use]
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = Some(Arc::new(prices));
        self
    }

    /// Records how a user rates a run.
    ///
    /// # Errors
    /// When the run is one of the last 4,096 that were rated: each counts once, also if a button is pressed twice.
    pub fn rate(&self, run: RunId, rating: Rating) -> Result<(), AlreadyRated> {
        let mut seen = self.seen();
        if seen.rated.contains(&run) {
            return Err(AlreadyRated);
        }
        if seen.rated.len() == RATED {
            seen.rated.pop_front();
        }
        seen.rated.push_back(run);
        drop(seen);
        SATISFACTION.record(rating.get(), &[]);
        Ok(())
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn model_call(&self, call: &ModelCall) {
        let ModelCall { purpose, model, usage, elapsed_ms, error, .. } = call;
        let labels = [("model", model.as_str()), ("purpose", purpose.as_str())];
        if let Some(error) = error {
            MODEL_ERRORS.add(1, &[[("error", error.as_str())].as_slice(), &labels].concat());
            return;
        }
        MODEL_CALLS.add(1, &labels);
        MODEL_DURATION.record(seconds(*elapsed_ms), &labels);
        for (direction, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            TOKENS.add(tokens, &[[("direction", direction)].as_slice(), &labels].concat());
        }
        match self.prices.as_ref().map(|prices| prices.of(model)) {
            Some(Some(price)) => COST.add(price.micro_usd(usage), &labels),
            Some(None) => UNPRICED.add(1, &labels),
            None => {}
        }
    }
}

impl Observer for AgentMetrics {
    fn on_event(&self, event: &RunEvent) {
        let at = event.at_ms;
        let mut seen = self.seen();
        let seen = &mut *seen;
        match &event.kind {
            EventKind::RunStarted { graph, .. } if event.path.is_empty() => {
                seen.runs.begin(event.run, graph, at);
            }
            EventKind::TaskStarted { step, task, node, .. } if !node.is_start() => {
                if let Some(run) = seen.runs.get(event.run) {
                    run.begin_task((event.path.clone(), *step, *task), node, at);
                }
            }
            EventKind::Custom { step, task, name, data, .. } => {
                let Some(signal) = Signal::of(name, data) else { return };
                let key = (event.path.clone(), *step, *task);
                let task = seen.runs.get(event.run).and_then(|run| run.task(&key));
                self.told(signal, task);
            }
            EventKind::TaskFinished { step, task, cached, .. } => {
                let Some(run) = seen.runs.get(event.run) else { return };
                let Some(task) = run.end_task(&(event.path.clone(), *step, *task)) else { return };
                if !cached {
                    let labels = [("graph", run.graph.as_str()), ("node", task.node.as_str())];
                    NODE_DURATION.record(seconds(at.saturating_sub(task.began_ms)), &labels);
                }
                finished(task, run.loop_at(&event.path), at);
            }
            EventKind::TaskPaused { step, task, .. } => {
                if let Some(run) = seen.runs.get(event.run) {
                    run.end_task(&(event.path.clone(), *step, *task));
                }
            }
            EventKind::TaskFailed { step, task, node, .. } => {
                let Some(run) = seen.runs.get(event.run) else { return };
                run.end_task(&(event.path.clone(), *step, *task));
                NODE_FAILURES.add(1, &[("graph", run.graph.as_str()), ("node", node.as_str())]);
            }
            EventKind::RunFinished { status } if event.path.is_empty() => {
                seen.run_ended(event.run, at, status.name(), is_end(status));
            }
            EventKind::RunFailed { .. } if event.path.is_empty() => {
                seen.run_ended(event.run, at, "failed", Some(End::Failed));
            }
            _ => {}
        }
    }
}

impl AgentMetrics {
    /// Counts what costs something at once, and keeps all else until its task finishes.
    fn told(&self, signal: Signal, task: Option<&mut OpenTask>) {
        match signal {
            Signal::ModelCall(call) if call.recorded => {}
            Signal::ToolRun(run) if run.recorded => {}
            Signal::ModelCall(call) => {
                self.model_call(&call);
                if let Some(task) = task {
                    task.model_ms = task.model_ms.saturating_add(call.elapsed_ms);
                }
            }
            Signal::ToolRun(run) => tool_run(&run),
            signal => {
                if let Some(task) = task {
                    task.signals.push(signal);
                }
            }
        }
    }
}

impl Seen {
    fn run_ended(&mut self, run: RunId, at: u64, outcome: &str, end: Option<End>) {
        let Some(run) = self.runs.end(run) else { return };
        let graph = run.graph.clone();
        RUNS.add(1, &[("graph", &graph), ("outcome", outcome)]);
        RUN_DURATION.record(seconds(at.saturating_sub(run.began_ms)), &[("graph", &graph)]);
        let Some(end) = end else { return };
        for used in run.into_loops() {
            if let Some(messages) = used.length {
                CONVERSATION.record(messages as f64, &[]);
            }
            if used.is_verified {
                ATTEMPTS_USED.record(f64::from(used.refinements), &[]);
            }
        }
        let ended = self.ended.entry(graph.clone()).or_default();
        ended.all += 1;
        ended.failed += u64::from(end == End::Failed);
        ERROR_RATE.set(ended.failed as f64 / ended.all as f64, &[("graph", &graph)]);
    }
}

/// The end of a run that is not to be continued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Finished,
    Failed,
}

fn is_end(status: &Status) -> Option<End> {
    match status {
        Status::Finished => Some(End::Finished),
        Status::LimitReached { .. } => Some(End::Failed),
        _ => None,
    }
}

/// Counts the signals of a finished task.
fn finished(task: OpenTask, around: &mut Loop, at: u64) {
    let took = at.saturating_sub(task.began_ms);
    for signal in task.signals {
        match signal {
            Signal::Compaction(compacted) => compaction(&compacted),
            Signal::Routing(routed) => {
                let action = name_of(&routed.decision.action);
                ROUTINGS.add(1, &[("action", &action), ("by", &name_of(&routed.by))]);
                ROUTING_CONFIDENCE.record(routed.decision.confidence, &[("action", &action)]);
            }
            Signal::Verification(verified) => {
                record_parts(&VERIFICATION_DURATION, took, task.model_ms);
                verification(&verified, around, at);
            }
            Signal::Refinement(refined) => {
                REFINEMENTS.add(1, &[]);
                around.refining = Some(Refining { began_ms: task.began_ms, score_before: refined.score });
            }
            Signal::Conversation(length) => around.length = Some(length.messages),
            // They are counted when they are reported.
            Signal::ModelCall(_) | Signal::ToolRun(_) => {}
        }
    }
}

fn compaction(compacted: &Compacted) {
    COMPACTIONS.add(1, &[("by", compacted.by())]);
    // Counts of tokens are far below where a float loses ones, and what is compacted has some.
    COMPRESSION.record(compacted.tokens_after as f64 / compacted.tokens_before.max(1) as f64, &[]);
    if compacted.tokens_after <= compacted.threshold {
        OVERFLOWS_PREVENTED.add(1, &[]);
    }
    record_parts(&COMPACTION_DURATION, compacted.elapsed_ms, compacted.model_ms);
}

/// Records how much of the time was spent waiting for models, and the rest.
fn record_parts(metric: &Metric, elapsed_ms: u64, model_ms: u64) {
    for (part, ms) in [("model", model_ms), ("own", elapsed_ms.saturating_sub(model_ms))] {
        metric.record(seconds(ms), &[("part", part)]);
    }
}

fn verification(verified: &Verified, around: &mut Loop, at: u64) {
    let (outcome, counter) = match verified.passed {
        Some(true) => ("passed", PASSED),
        Some(false) => ("failed", FAILED),
        None => ("unjudged", UNJUDGED),
    };
    counter.add(1, &[]);
    if let Some(score) = verified.score {
        SCORES.record(score, &[]);
    }
    around.is_verified = true;
    around.refinements = verified.refinements();
    let attempt = match verified.refinements() {
        0 => return,
        MANY_ATTEMPTS.. => format!("{MANY_ATTEMPTS} or more"),
        few => few.to_string(),
    };
    REFINED.add(1, &[("attempt", &attempt), ("outcome", outcome)]);
    // Its beginning was not observed if that was another run.
    let Some(refining) = around.refining.take() else { return };
    REFINEMENT_DURATION.record(seconds(at.saturating_sub(refining.began_ms)), &[]);
    if let (Some(before), Some(after)) = (refining.score_before, verified.score) {
        SCORES_BEFORE.record(before, &[]);
        SCORES_AFTER.record(after, &[]);
    }
}

fn tool_run(run: &ToolRun) {
    let tool = run.tool.as_deref().unwrap_or("unknown");
    TOOL_CALLS.add(1, &[("outcome", &name_of(&run.outcome)), ("tool", tool)]);
    if !matches!(run.outcome, ToolOutcome::Invalid | ToolOutcome::Denied) {
        TOOL_DURATION.record(seconds(run.elapsed_ms), &[("tool", tool)]);
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

impl fmt::Debug for AgentMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentMetrics").field("prices", &self.prices).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
