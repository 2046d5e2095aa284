//! The model itself: which part answers what.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use superstep_nodes::message::{Content, ToolCall};
use superstep_nodes::model::{ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, Usage};
use superstep_nodes::prompt::{RouterPrompt, SummaryPrompt};
use superstep_nodes::{NextAction, RoutingDecision};

use super::judge::{self, read, write};
use super::{agent, verifier};
use crate::text::words;

/// A model that answers questions about documents by quoting them; see the [module](super) for how.
///
/// The numbers of its [`Usage`] are words, as it has no tokens.
///
/// ```
/// use std::sync::Arc;
/// use superstep_knowledge::docs::{DocIndex, IndexOptions, SearchDocs};
/// use superstep_nodes::message::Message;
/// use superstep_knowledge::Extractive;
/// use superstep_nodes::model::{ChatModel, ModelRequest, Purpose};
/// use superstep_nodes::tool::ToolRegistry;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("fork.md"), "# Forks\n\nA fork shares the past and copies nothing.\n").unwrap();
/// let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
/// let tools = ToolRegistry::new().with(SearchDocs::new(Arc::new(index))).unwrap();
///
/// let mut messages = vec![Message::human("m1", "What does a fork copy?")];
/// let ask = |messages: &[Message]| ModelRequest::new(Purpose::Agent, messages.to_vec()).with_tools(tools.specs());
/// let reply = Extractive.complete(ask(&messages)).await.unwrap();
/// let call = reply.tool_calls[0].clone();
/// messages.push(reply.into_message("m2").into());
/// messages.push(tools.answer("m3", &call).await.into());
///
/// let answer = Extractive.complete(ask(&messages)).await.unwrap();
/// assert_eq!(answer.text(), "The documents say:\n\n\
///     > A fork shares the past and copies nothing.\n\n\
///     Sources:\n- fork.md:3 (Forks)");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extractive;

/// The response of the model: a text, or a tool call.
pub(super) enum Saying {
    Text(String),
    Call(ToolCall),
}

impl Extractive {
    /// The name of the model.
    pub const NAME: &'static str = "extractive";

    fn reply(request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let saying = match request.purpose {
            Purpose::Agent | Purpose::Refiner => agent::say(request),
            Purpose::Evaluator => Saying::Text(judge::evaluate(request)?),
            Purpose::Ranker => Saying::Text(judge::rank(request)?),
            Purpose::Decider => Saying::Text(judge::decide(request)?),
            Purpose::Summarizer => Saying::Text(summarise(request)?),
            Purpose::Router => Saying::Text(decide(request)?),
            Purpose::Verifier => Saying::Text(verifier::verify(request)?),
            other => {
                let reason = format!("`{}` has no answer for purpose `{other}`", Self::NAME);
                return Err(ModelError::InvalidRequest { reason });
            }
        };
        let (content, calls) = match saying {
            Saying::Text(text) => (Content::text(text), Vec::new()),
            Saying::Call(call) => (Content::empty(), vec![call]),
        };
        let read: usize = request.messages.iter().map(|message| words(&message.text()).count()).sum();
        let written = words(&content.to_text()).count();
        let usage = Usage::of(read as u64, written as u64);
        Ok(ModelReply::new(Self::NAME, content).with_calls(calls).with_usage(usage))
    }
}

impl ChatModel for Extractive {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let events = match Self::reply(&request) {
            Ok(reply) => reply.to_events().into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(events).boxed()
    }
}

/// Decides for tools, where there are any: what is not searched cannot be quoted.
pub(super) fn decide(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: RouterPrompt = read(request)?;
    let (action, reasoning) = match prompt.tools.is_empty() {
        true => (NextAction::Respond, "There are no tools."),
        false => (NextAction::UseTools, "Nothing is said here that was not found."),
    };
    write(&RoutingDecision { action, confidence: 1.0, reasoning: reasoning.to_owned() })
}

/// Quotes the first sentence of each message, as many of the last ones as there may be words.
pub(super) fn summarise(request: &ModelRequest) -> Result<String, ModelError> {
    let SummaryPrompt { max_words, earlier_summary, messages, .. } = read(request)?;
    let earlier = earlier_summary.iter().flat_map(|summary| summary.lines().map(str::to_owned));
    let quoted = messages.iter().filter(|said| !said.text.trim().is_empty());
    let quoted = quoted.map(|said| format!("{}: {}", said.from, first_sentence(said.text.trim())));
    let lines: Vec<String> = earlier.chain(quoted).collect();
    let mut left = usize::try_from(max_words).unwrap_or(usize::MAX);
    let fits = |line: &&String| {
        let words = line.split_whitespace().count();
        let fits = words <= left;
        left = left.saturating_sub(words);
        fits
    };
    let kept = lines.iter().rev().take_while(fits).count();
    Ok(lines[lines.len() - kept..].join("\n"))
}

/// The text up to the end of its first line or sentence.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
