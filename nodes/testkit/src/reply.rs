//! The answers of the server.

use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::said::{BreakOff, Part, Said};
use super::vendor_error::VendorError;
use super::{HttpError, Pacing};

/// An answer of the mock server: a model's reply, an error, or raw bytes.
///
/// A model's reply is converted to the protocol of the request, and streamed if the request asks for it.
///
/// ```
/// use serde_json::json;
/// use superstep_testkit::{Reply, Stop, Usage};
///
/// let calls = Reply::new()
///     .thinking("I need the weather.")
///     .say("Let me check.")
///     .tool_call("call_1", "get_weather", json!({ "city": "Paris" }))
///     .usage(Usage::new(40, 87).cache_read(1200));
/// let cut_off = Reply::text("Once upon a").stop(Stop::MaxTokens);
/// let busy = Reply::error(529, "overloaded_error", "Overloaded").header("retry-after", "1");
/// ```
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) what: What,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) pacing: Pacing,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Said(Said),
    HttpError(HttpError),
    VendorError(VendorError),
    Transcript(Bytes),
    Raw { status: u16, body: Bytes },
}

impl Reply {
    /// A model that says nothing yet.
    pub fn new() -> Self {
        Self::of(What::Said(Said::default()))
    }

    /// A model that says a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().say(text)
    }

    /// An error, in the envelope of the protocol that is asked. The kind is the member `type`.
    ///
    /// # Panics
    ///
    /// Panics if the status is not from 200 to 599.
    pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        check_status(status);
        Self::of(What::HttpError(HttpError::new(status, kind, message)))
    }

    /// Sends this stream of events unchanged.
    pub fn sse(transcript: impl Into<Vec<u8>>) -> Self {
        Self::of(What::Transcript(transcript.into().into()))
    }

    /// Sends this body unchanged.
    ///
    /// # Panics
    ///
    /// Panics if the status is not from 200 to 599, or HTTP does not allow the content type.
    pub fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        check_status(status);
        Self::of(What::Raw { status, body: body.into().into() }).header("content-type", content_type)
    }

    /// No answer at all, until the client goes away.
    pub fn never() -> Self {
        Self::new().pacing(Pacing::never())
    }

    pub(super) fn of(what: What) -> Self {
        Self { what, headers: Vec::new(), pacing: Pacing::new() }
    }

    /// Adds a text, as a part of its own.
    ///
    /// # Panics
    ///
    /// As all that concerns what a model says: if the reply is an error or bytes.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// Adds thinking. Chat Completions does not send it, unless with [`Quirk::ReasoningContent`].
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.part(Part::Thinking { text: text.into(), signature: None })
    }

    /// Adds thinking and its signature, which for OpenAI is the encrypted content.
    #[must_use]
    pub fn signed_thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        self.part(Part::Thinking { text: text.into(), signature: Some(signature.into()) })
    }

    /// Adds redacted thinking.
    #[must_use]
    pub fn redacted_thinking(self, data: impl Into<String>) -> Self {
        self.part(Part::Redacted(data.into()))
    }

    /// Adds a call of a tool.
    #[must_use]
    pub fn tool_call(self, id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        self.tool_call_text(id, name, input.to_string())
    }

    /// Adds a call of a tool whose input is any text, as `{"path": "a.` of one that was cut off.
    #[must_use]
    pub fn tool_call_text(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        self.part(Part::Call { id: id.into(), name: name.into(), input: input.into() })
    }

    /// Declines in words, and stops for that.
    #[must_use]
    pub fn decline(self, text: impl Into<String>) -> Self {
        self.part(Part::Refusal(text.into())).stop(Stop::Refusal)
    }

    /// Says why the answer ends. Otherwise it ends for its tool calls, if there are any, or by itself.
    #[must_use]
    pub fn stop(self, stop: Stop) -> Self {
        self.with_said(|said| said.stop = Some(stop))
    }

    /// Says what the answer cost: otherwise 20 tokens of input and 5 of output.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.with_said(|said| said.usage = usage)
    }

    /// Says that another model answers than the one that is asked.
    #[must_use]
    pub fn model(self, name: impl Into<String>) -> Self {
        self.with_said(|said| said.model = Some(name.into()))
    }

    /// Says how many letters of a text or an input come in one event: otherwise 12.
    #[must_use]
    pub fn letters_per_event(self, letters: usize) -> Self {
        self.with_said(|said| said.delta = Some(letters))
    }

    /// Does something that only some servers do. There may be several.
    #[must_use]
    pub fn quirk(self, quirk: Quirk) -> Self {
        self.with_said(|said| said.quirks.push(quirk))
    }

    /// Ends the stream with an error after so many events. An answer that is not streamed is an error with
    /// status 500.
    #[must_use]
    pub fn error_after(self, events: usize, kind: impl Into<String>, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.into(), message.into());
        self.with_said(|said| said.breaks_off = Some(BreakOff { events, kind, message }))
    }

    /// Gives an error its code. Only OpenAI tells it.
    ///
    /// # Panics
    ///
    /// Panics if the reply is no [`error`](Self::error).
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        let What::HttpError(error) = self.what else {
            panic!("only an error has a code: begin with `Reply::error`");
        };
        self.what = What::HttpError(error.coded(code));
        self
    }

    /// Adds a header. It replaces what the server would say by itself, as the request's id.
    ///
    /// # Panics
    ///
    /// Panics if HTTP does not allow the name or the value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).expect("the name of a header has letters, digits and dashes");
        let value = HeaderValue::try_from(value).expect("the value of a header is visible text");
        self.headers.push((name, value));
        self
    }

    /// Says when the client is to try again: the header `retry-after`, in seconds.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        self.header("retry-after", &wait.as_secs_f64().to_string())
    }

    /// Says how fast and in which pieces the answer comes.
    #[must_use]
    pub fn pacing(self, pacing: Pacing) -> Self {
        Self { pacing, ..self }
    }

    fn part(self, part: Part) -> Self {
        self.with_said(|said| said.parts.push(part))
    }

    fn with_said(mut self, change: impl FnOnce(&mut Said)) -> Self {
        let What::Said(said) = &mut self.what else {
            panic!("an error and bytes are not what a model says: begin with `Reply::text` or `Reply::new`");
        };
        change(said);
        self
    }
}

fn check_status(status: u16) {
    assert!((200..600).contains(&status), "{status} is no status of an answer: those are from 200 to 599");
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// The reason for which an answer ends, in the words of each vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model has said what it had to say.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It was cut off at the most tokens that the request allows.
    MaxTokens,
    /// It came to a text at which it was to stop. Only Anthropic tells which.
    StopSequence(String),
    /// It is to be asked to go on. OpenAI has no word for it and tells an end.
    Pause,
    /// It declines, or a filter does.
    Refusal,
    /// It was cut off at the end of its context window. OpenAI tells it as [`MaxTokens`](Self::MaxTokens).
    ContextWindow,
    /// It failed after the answer had begun: an error event, or `response.failed`.
    Failed {
        /// The code of the error with OpenAI, its type with the other vendors.
        code: String,
        /// The message of the error.
        message: String,
    },
}

/// The tokens of an answer, which the server tells and does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_written: u64,
    pub(super) reasoning: u64,
}

impl Usage {
    /// Tokens of the input that were neither read from a cache nor written to one, and tokens of the output.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, cache_read: 0, cache_written: 0, reasoning: 0 }
    }

    /// Says how many more tokens of the input were read from a cache.
    #[must_use]
    pub fn cache_read(self, tokens: u64) -> Self {
        Self { cache_read: tokens, ..self }
    }

    /// Says how many more tokens of the input were written to a cache.
    #[must_use]
    pub fn cache_written(self, tokens: u64) -> Self {
        Self { cache_written: tokens, ..self }
    }

    /// Says how many tokens of the output were thinking.
    #[must_use]
    pub fn reasoning(self, tokens: u64) -> Self {
        Self { reasoning: tokens, ..self }
    }

    /// All of the input, which is what OpenAI calls the input.
    pub(super) fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_written
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self::new(20, 5)
    }
}

/// Something that some servers do, though no document says so. All but the last two are of Chat Completions and
/// change nothing elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quirk {
    /// The parts of tool calls come without their `index`.
    MissingIndex,
    /// A tool call comes whole, in one chunk.
    WholeCalls,
    /// The parts of several tool calls come in turn, as they may.
    InterleavedCalls,
    /// Tool calls have empty ids.
    EmptyIds,
    /// The answer ends with `stop`, though there are tool calls.
    StopWithCalls,
    /// Nothing tells the usage, asked for or not.
    NoUsage,
    /// The usage is in the last chunk that has a choice, asked for or not.
    UsageWithChoice,
    /// The stream ends without `[DONE]`.
    NoDone,
    /// The thinking of the model is sent as `reasoning_content`.
    ReasoningContent,
    /// Status 200 and a stream with nothing in it.
    EmptyStream,
    /// Between the events there are some that no document names, and objects have members that none names.
    UnknownEvents,
}
