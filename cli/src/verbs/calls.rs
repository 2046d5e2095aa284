//! `calls`: lists the model calls of a superstep.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use superstep_core::checkpoint::{At, StepRecord};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Effect;
use crate::page::{DIM, NAME, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::source::Source;
use crate::token_usage::{Cost, ModelCall, TokenUsage};

/// List the model calls that led to a checkpoint: model, tokens, duration and response
///
/// A model call is an effect whose outcome has a member `usage` with the tokens. Calls of the subgraphs that the
/// superstep ran are listed, too. SUPERSTEP_PRICES can name a JSON file with prices; then costs are shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep calls essays.db rust@3")]
pub(crate) struct Calls {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelCalls {
    checkpoint: CheckpointId,
    thread: ThreadId,
    calls: Vec<Call>,
    /// The sum over all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<TokenUsage>,
}

/// A model call.
#[derive(Debug, Serialize)]
struct Call {
    /// The thread of the task that called, which may be a subgraph's.
    thread: ThreadId,
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    subgraph: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeName>,
    /// The name of the effect.
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    key: String,
    /// The checkpoint with the state from which the request was made.
    planned_on: CheckpointId,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
    /// The part of the input that was in the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    /// The cost, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    /// The milliseconds until the reply began to arrive, if the outcome has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<u64>,
    /// The recorded outcome.
    response: Value,
}

impl Calls {
    pub(crate) fn answer(&self) -> Result<ModelCalls, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let steps = source.reader.steps(&place.thread, &place.at(), 2)?;
        let (mut calls, mut usages) = (Vec::new(), Vec::new());
        // The effects that led to a checkpoint are stored with its parent.
        if let Some(base) = steps.get(1) {
            let redaction = Redaction::at(&source, &place)?;
            usages.extend(TokenUsage::by(&base.work.effects, &source.prices));
            calls.extend(calls_on(&source, base, &place.thread, &redaction)?);
            let mut below = VecDeque::from([(base.thread.clone(), Some(base.checkpoint.id))]);
            while let Some((above, planned_on)) = below.pop_front() {
                for run in source.subgraphs(&above)?.iter() {
                    if planned_on.is_some_and(|planned_on| run.planned_on != planned_on) {
                        continue;
                    }
                    let redaction = Redaction::of(&source, &run.thread, None)?;
                    let inner = source.reader.steps(&run.thread, &At::Head, usize::MAX)?;
                    // A subgraph that keeps its state continues another thread.
                    let own = inner.iter().take_while(|step| step.thread == run.thread).count();
                    for base in inner[..own].iter().rev() {
                        usages.extend(TokenUsage::by(&base.work.effects, &source.prices));
                        calls.extend(calls_on(&source, base, &run.thread, &redaction)?);
                    }
                    below.push_back((run.thread.clone(), None));
                }
            }
        }
        Ok(ModelCalls { checkpoint: place.id, thread: place.thread, calls, used: TokenUsage::sum(usages) })
    }
}

/// Returns the model calls of the superstep that was planned on a checkpoint.
fn calls_on(
    source: &Source,
    base: &StepRecord,
    thread: &ThreadId,
    redaction: &Redaction,
) -> Result<Vec<Call>, Failure> {
    let checkpoint = &base.checkpoint;
    let tasks = checkpoint.frontier.tasks.iter();
    let nodes: Vec<_> =
        tasks.map(|task| (task.id(checkpoint.id, checkpoint.step), task.node.clone())).collect();
    let mut calls = Vec::new();
    for effect in &base.work.effects {
        let mut effect = effect.clone();
        redaction.in_effect(&mut effect);
        let Effect { node, name, key, ok: Some(response), .. } = Effect::of(&effect, &nodes)? else {
            continue;
        };
        let Ok(call) = ModelCall::deserialize(&response) else { continue };
        let cost = call.cost(&source.prices);
        let ModelCall { model, usage, elapsed_ms, first_token_ms } = call;
        calls.push(Call {
            thread: thread.clone(),
            subgraph: source.name_below(thread),
            node,
            name,
            key,
            planned_on: checkpoint.id,
            model,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            elapsed_ms,
            cost,
            first_token_ms,
            response,
        });
    }
    Ok(calls)
}

impl Answer for ModelCalls {
    fn show(&self, page: &mut Page) {
        if self.calls.is_empty() {
            return page.line([span(DIM, "no model was called")]);
        }
        for call in &self.calls {
            let node = call.node.as_ref().map_or("?", NodeName::as_str);
            let model = call.model.as_deref().unwrap_or("an unnamed model");
            let mut spans = vec![
                span(NAME, node),
                plain(format!("  {model}  {}+{} tokens", call.input_tokens, call.output_tokens)),
            ];
            spans.extend(call.cache_read_tokens.map(|cached| span(DIM, format!(", {cached} cached"))));
            spans.extend(call.elapsed_ms.map(|ms| span(DIM, format!(", {ms} ms"))));
            spans.extend(call.cost.map(|cost| span(DIM, format!(", {cost}"))));
            spans.extend(call.subgraph.as_ref().map(|name| span(DIM, format!("  in {name}"))));
            page.line(spans);
            page.line([plain(format!("    {}", call.response))]);
        }
        if let Some(used) = self.used {
            used.show(page, "");
        }
    }
}
