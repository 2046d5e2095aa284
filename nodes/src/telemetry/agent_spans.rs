//! The observer that makes traces.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanBuilder, SpanKind, Status as SpanStatus, TraceContextExt, Tracer};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use superstep_core::id::{NodeName, RunId, ThreadId};
use superstep_core::run::{EventKind, Observer, PathSegment, RunEvent};

use super::gen_ai;
use super::signal::{Signal, name_of};
use crate::model::Usage;
use crate::node::{ModelCall, ToolRun};
use crate::tool::ToolOutcome;

/// Makes spans of the runs that it observes, with a tracer of OpenTelemetry. The tracer's provider decides where they
/// are sent: this crate has no exporter, and no network.
///
/// | span | for | kind |
/// |---|---|---|
/// | `invoke_agent {graph}` | a run, or that of a subgraph | internal |
/// | `{node}` | an attempt of a task | internal |
/// | `chat {model}` | a call of a model | client |
/// | `execute_tool {tool}` | a tool call | internal |
///
/// A call is inside its task's span, that inside its run's, and that inside the span that is active where the run is
/// started. The attributes are those of version 1.41.0 of the semantic conventions for generative AI, and
/// `superstep.*`. They contain no text of the conversation, no input or output of tools, no writes of nodes and no
/// texts of errors.
///
/// Outcomes taken from the record were in the trace of the run that recorded them, and are not in this one.
///
/// ```
/// use opentelemetry::global;
/// use superstep_nodes::graphs::{EvaluatorConfig, evaluator};
/// use superstep_nodes::model::Scripted;
/// use superstep_nodes::telemetry::AgentSpans;
///
/// // Without a provider, as here, the spans go nowhere.
/// let spans = AgentSpans::new(global::tracer_with_scope(AgentSpans::scope())).provider("claude", "anthropic");
/// let graph = evaluator(EvaluatorConfig::new(Scripted::new().say("Hello, world.")))?.observe(spans);
/// # Ok::<(), superstep_core::graph::BuildError>(())
/// ```
pub struct AgentSpans<T> {
    tracer: T,
    /// Providers, by the beginning of the names of their models.
    providers: BTreeMap<String, String>,
    open: Mutex<BTreeMap<RunId, OpenTrace>>,
}

/// The spans of a run that have not ended.
struct OpenTrace {
    thread: ThreadId,
    usage: Usage,
    /// The spans of graphs, by their place.
    agents: HashMap<Vec<PathSegment>, Context>,
    tasks: HashMap<(Vec<PathSegment>, i64, u32), Context>,
}

/// The maximum number of runs that are remembered: a run that is dropped has no end that could be observed.
const MOST: usize = 4_096;

impl AgentSpans<()> {
    /// Returns what to ask a provider of tracers for: the name and the version of this crate, and the version of the
    /// conventions.
    pub fn scope() -> InstrumentationScope {
        InstrumentationScope::builder("superstep")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(gen_ai::SCHEMA)
            .build()
    }
}

impl<T: Tracer> AgentSpans<T> {
    /// Makes an observer that makes its spans with this tracer.
    pub fn new(tracer: T) -> Self {
        Self { tracer, providers: BTreeMap::new(), open: Mutex::default() }
    }

    /// Says whose the models are whose names begin so: a name of the conventions, such as `anthropic` or `openai`. Of
    /// several beginnings the longest counts.
    #[must_use]
    pub fn provider(mut self, models: impl Into<String>, provider: impl Into<String>) -> Self {
        self.providers.insert(models.into(), provider.into());
        self
    }

    fn provider_of(&self, model: &str) -> Option<KeyValue> {
        let found = self.providers.iter().rfind(|(begins, _)| model.starts_with(begins.as_str()));
        found.map(|(_, provider)| KeyValue::new(gen_ai::PROVIDER, provider.clone()))
    }
}

impl<T> AgentSpans<T>
where
    T: Tracer,
    T::Span: Send + Sync + 'static,
{
    /// Begins a span that others may be inside of.
    fn begin(
        &self,
        name: String,
        at: SystemTime,
        attributes: Vec<KeyValue>,
        around: Option<&Context>,
    ) -> Context {
        let around = around.cloned().unwrap_or_else(Context::current);
        let span = SpanBuilder::from_name(name).with_kind(SpanKind::Internal).with_start_time(at);
        around.with_span(span.with_attributes(attributes).start_with_context(&self.tracer, &around))
    }

    fn begin_agent(
        &self,
        trace: &mut OpenTrace,
        path: &[PathSegment],
        graph: &NodeName,
        run: RunId,
        at: SystemTime,
    ) {
        let attributes = vec![
            KeyValue::new(gen_ai::OPERATION, gen_ai::INVOKE_AGENT),
            KeyValue::new(gen_ai::AGENT, graph.to_string()),
            KeyValue::new(gen_ai::CONVERSATION, trace.thread.to_string()),
            KeyValue::new("superstep.run", run.to_string()),
        ];
        let around = path
            .split_last()
            .and_then(|(task, above)| trace.tasks.get(&(above.to_vec(), task.step, task.task)));
        let span = self.begin(format!("{} {graph}", gen_ai::INVOKE_AGENT), at, attributes, around);
        trace.agents.insert(path.to_vec(), span);
    }

    /// Makes the span of a call that has ended and took so long.
    fn call(&self, name: String, kind: SpanKind, ended: SystemTime, ms: u64, call: Call, around: &Context) {
        let began = ended.checked_sub(Duration::from_millis(ms)).unwrap_or(UNIX_EPOCH);
        let span = SpanBuilder::from_name(name).with_kind(kind).with_start_time(began);
        let span = span.with_attributes(call.attributes).start_with_context(&self.tracer, around);
        let span = around.with_span(span);
        end(&span, ended, call.error);
    }

    fn told(&self, signal: &Signal, trace: &mut OpenTrace, around: &Context, at: SystemTime) {
        match signal {
            Signal::ModelCall(call) if !call.recorded => {
                trace.add(&call.usage);
                let name = format!("{} {}", gen_ai::CHAT, call.asked);
                let told = Call::of_model(call, self.provider_of(&call.model), &trace.thread);
                self.call(name, SpanKind::Client, at, call.elapsed_ms, told, around);
            }
            Signal::ToolRun(run) if !run.recorded => {
                let name = format!("{} {}", gen_ai::EXECUTE_TOOL, run.tool.as_deref().unwrap_or("unknown"));
                self.call(name, SpanKind::Internal, at, run.elapsed_ms, Call::of_tool(run), around);
            }
            Signal::ModelCall(_) | Signal::ToolRun(_) => {}
            Signal::Compaction(compacted) => {
                around.span().set_attributes([
                    KeyValue::new("superstep.compaction.by", compacted.by()),
                    KeyValue::new("superstep.compaction.threshold", int(compacted.threshold)),
                    KeyValue::new("superstep.compaction.tokens_before", int(compacted.tokens_before)),
                    KeyValue::new("superstep.compaction.tokens_after", int(compacted.tokens_after)),
                ]);
            }
            Signal::Routing(routed) => {
                around.span().set_attributes([
                    KeyValue::new("superstep.routing.action", name_of(&routed.decision.action)),
                    KeyValue::new("superstep.routing.confidence", routed.decision.confidence),
                    KeyValue::new("superstep.routing.by", name_of(&routed.by)),
                ]);
            }
            Signal::Verification(verified) => {
                let label = match verified.passed {
                    Some(true) => "pass",
                    Some(false) => "fail",
                    None => "unjudged",
                };
                let mut attributes = vec![
                    KeyValue::new(gen_ai::EVALUATION_NAME, "verification"),
                    KeyValue::new(gen_ai::SCORE_LABEL, label),
                ];
                attributes.extend(verified.score.map(|score| KeyValue::new(gen_ai::SCORE, score)));
                around.span().add_event_with_timestamp(gen_ai::EVALUATION, at, attributes);
            }
            Signal::Refinement(refined) => {
                let attempt = KeyValue::new("superstep.refinement.attempt", i64::from(refined.attempt));
                around.span().set_attribute(attempt);
            }
            Signal::Conversation(length) => {
                let messages = KeyValue::new("superstep.conversation.messages", int(length.messages));
                around.span().set_attribute(messages);
            }
        }
    }
}

impl<T> Observer for AgentSpans<T>
where
    T: Tracer + Send + Sync + 'static,
    T::Span: Send + Sync + 'static,
{
    fn on_event(&self, event: &RunEvent) {
        let at = UNIX_EPOCH + Duration::from_millis(event.at_ms);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let EventKind::RunStarted { graph, thread, .. } = &event.kind {
            if event.path.is_empty() {
                while open.len() >= MOST {
                    // Ids of runs begin with their time.
                    open.pop_first();
                }
                open.insert(event.run, OpenTrace::of(thread));
            }
            if let Some(trace) = open.get_mut(&event.run) {
                self.begin_agent(trace, &event.path, graph, event.run, at);
            }
            return;
        }
        let Some(trace) = open.get_mut(&event.run) else { return };
        match &event.kind {
            EventKind::TaskStarted { step, task, node, attempt } if !node.is_start() => {
                let attributes = vec![
                    KeyValue::new("superstep.node", node.to_string()),
                    KeyValue::new("superstep.step", *step),
                    KeyValue::new("superstep.task", i64::from(*task)),
                    KeyValue::new("superstep.attempt", i64::from(*attempt)),
                ];
                let span = self.begin(node.to_string(), at, attributes, trace.agents.get(&event.path));
                trace.tasks.insert((event.path.clone(), *step, *task), span);
            }
            EventKind::Custom { step, task, name, data, .. } => {
                let around = trace.tasks.get(&(event.path.clone(), *step, *task)).cloned();
                if let (Some(signal), Some(around)) = (Signal::of(name, data), around) {
                    self.told(&signal, trace, &around, at);
                }
            }
            EventKind::TaskFinished { step, task, route, .. } => {
                let Some(span) = trace.tasks.remove(&(event.path.clone(), *step, *task)) else { return };
                if let Some(route) = route {
                    span.span().set_attribute(KeyValue::new("superstep.route", route.clone()));
                }
                end(&span, at, None);
            }
            EventKind::TaskPaused { step, task, .. } => {
                let Some(span) = trace.tasks.remove(&(event.path.clone(), *step, *task)) else { return };
                span.span().set_attribute(KeyValue::new("superstep.outcome", "paused"));
                end(&span, at, None);
            }
            EventKind::TaskFailed { step, task, error, .. } => {
                let Some(span) = trace.tasks.remove(&(event.path.clone(), *step, *task)) else { return };
                end(&span, at, Some(name_of(&error.kind)));
            }
            EventKind::RunFinished { status } => {
                let outcome = KeyValue::new("superstep.outcome", status.name());
                trace.end_agent(&event.path, at, [outcome], None);
            }
            EventKind::RunFailed { .. } => trace.end_agent(&event.path, at, [], Some("failed".into())),
            _ => {}
        }
        if trace.agents.is_empty() {
            open.remove(&event.run);
        }
    }
}

impl OpenTrace {
    fn of(thread: &ThreadId) -> Self {
        let (agents, tasks) = (HashMap::new(), HashMap::new());
        Self { thread: thread.clone(), usage: Usage::default(), agents, tasks }
    }

    fn add(&mut self, usage: &Usage) {
        self.usage.input_tokens = self.usage.input_tokens.saturating_add(usage.input_tokens);
        self.usage.output_tokens = self.usage.output_tokens.saturating_add(usage.output_tokens);
    }

    /// Ends the span of a graph, and the spans inside of it that have not ended: a cancelled run emits no ends for its
    /// tasks.
    fn end_agent(
        &mut self,
        path: &[PathSegment],
        at: SystemTime,
        attributes: impl IntoIterator<Item = KeyValue>,
        error: Option<String>,
    ) {
        for (_, task) in self.tasks.extract_if(|(of, _, _), _| of.starts_with(path)) {
            task.span().set_attribute(KeyValue::new("superstep.outcome", "cancelled"));
            end(&task, at, None);
        }
        for (_, agent) in self.agents.extract_if(|of, _| of.len() > path.len() && of.starts_with(path)) {
            end(&agent, at, None);
        }
        let Some(agent) = self.agents.remove(path) else { return };
        agent.span().set_attributes(attributes);
        if path.is_empty() {
            agent.span().set_attributes(tokens(&self.usage));
        }
        end(&agent, at, error);
    }
}

/// The span data of a call.
struct Call {
    attributes: Vec<KeyValue>,
    error: Option<String>,
}

impl Call {
    fn of_model(call: &ModelCall, provider: Option<KeyValue>, thread: &ThreadId) -> Self {
        let mut attributes = vec![
            KeyValue::new(gen_ai::OPERATION, gen_ai::CHAT),
            KeyValue::new(gen_ai::REQUEST_MODEL, call.asked.clone()),
            KeyValue::new(gen_ai::CONVERSATION, thread.to_string()),
            KeyValue::new("superstep.purpose", call.purpose.as_str()),
        ];
        attributes.extend(provider);
        if call.error.is_none() {
            attributes.push(KeyValue::new(gen_ai::RESPONSE_MODEL, call.model.clone()));
            attributes.extend(tokens(&call.usage));
            let cached = [
                (gen_ai::CACHE_READ_TOKENS, call.usage.cache_read_tokens),
                (gen_ai::CACHE_WRITE_TOKENS, call.usage.cache_write_tokens),
            ];
            let cached = cached.into_iter().filter(|(_, tokens)| *tokens > 0);
            attributes.extend(cached.map(|(name, tokens)| KeyValue::new(name, int(tokens))));
        }
        Self { attributes, error: call.error.clone() }
    }

    fn of_tool(run: &ToolRun) -> Self {
        let mut attributes = vec![
            KeyValue::new(gen_ai::OPERATION, gen_ai::EXECUTE_TOOL),
            KeyValue::new(gen_ai::TOOL_CALL, run.call.clone()),
            KeyValue::new(gen_ai::TOOL_TYPE, "function"),
        ];
        attributes.extend(run.tool.clone().map(|tool| KeyValue::new(gen_ai::TOOL, tool)));
        let error = (run.outcome != ToolOutcome::Ok).then(|| name_of(&run.outcome));
        Self { attributes, error }
    }
}

fn tokens(usage: &Usage) -> [KeyValue; 2] {
    [
        KeyValue::new(gen_ai::INPUT_TOKENS, int(usage.input_tokens)),
        KeyValue::new(gen_ai::OUTPUT_TOKENS, int(usage.output_tokens)),
    ]
}

/// Ends a span, with the kind of its error if there is one: the error's text may say anything.
fn end(span: &Context, at: SystemTime, error: Option<String>) {
    let span = span.span();
    if let Some(error) = error {
        span.set_status(SpanStatus::error(error.clone()));
        span.set_attribute(KeyValue::new(gen_ai::ERROR, error));
    }
    span.end_with_timestamp(at);
}

fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl<T> fmt::Debug for AgentSpans<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSpans").field("providers", &self.providers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
