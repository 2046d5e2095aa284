//! The error of a node, with what decides whether it is retried.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::caught::{caught, dropped, text_of, without_text};

/// Any error a node may return.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// Why a node failed.
///
/// Every error converts into it with `?`, and its source stays downcastable. Whether it is retried is decided
/// by the node's retry policy; [`retryable`](Self::retryable) and [`terminal`](Self::terminal) decide it here.
/// Unclassified errors are terminal, except I/O errors and timeouts.
///
/// Like `anyhow::Error` it does not itself implement [`Error`], so that `?` can take every error. Where the code of the
/// error panics, as its `Display` or its `Drop`, the panic ends here, and another text says so.
pub struct NodeError {
    kind: NodeErrorKind,
    source: Returned,
    retry_after: Option<Duration>,
    /// The longest wait of the policy that did not wait as long as the error asked for.
    longest_wait: Option<Duration>,
}

/// The error that a node returned.
struct Returned(Option<BoxError>);

impl Returned {
    fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.0.as_deref().expect("it is taken only when it goes")
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        dropped(self.0.take());
    }
}

/// The reason that a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeErrorKind {
    /// The node returned an error that nothing classified.
    Failed,
    /// The node returned an error that it marked as worth a retry.
    Retryable,
    /// The node returned an error that it marked as final.
    Terminal,
    /// The node panicked.
    Panicked,
    /// An attempt took longer than its timeout, or was idle for too long: the source is a [`Timeout`].
    TimedOut,
    /// The node finished, and the routing after it failed.
    Routing,
    /// An effect's journal could not be read or written, or it does not match: the source is an [`EffectError`] or
    /// the store's error.
    Effect,
    /// A value of the task could not be encoded or decoded.
    Codec,
}

impl NodeError {
    /// An error of the given kind.
    pub fn new(kind: NodeErrorKind, source: impl Into<BoxError>) -> Self {
        Self { kind, source: Returned(Some(source.into())), retry_after: None, longest_wait: None }
    }

    /// An error that is worth another attempt, whatever its type.
    pub fn retryable(source: impl Into<BoxError>) -> Self {
        Self::new(NodeErrorKind::Retryable, source)
    }

    /// An error that no further attempt can mend, whatever its type.
    pub fn terminal(source: impl Into<BoxError>) -> Self {
        Self::new(NodeErrorKind::Terminal, source)
    }

    /// Waits at least this long before the next attempt. A wait that is longer than the longest one of the node's
    /// [policy](crate::node::Retry::max) is not waited for: the node fails.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Says that the wait it asks for was longer than the longest one of the node's policy.
    pub(crate) fn not_waited_for(mut self, longest: Duration) -> Self {
        self.longest_wait = Some(longest);
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// The shortest wait before the next attempt, where the error asks for one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The error that the node returned.
    #[must_use]
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.source.get()
    }

    /// The error that the node returned, if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.source.get().downcast_ref()
    }

    /// Takes the error that the node returned.
    #[must_use]
    pub fn into_source(mut self) -> BoxError {
        self.source.0.take().expect("it is taken only when it goes")
    }

    /// The error with other texts, where those it has may not be seen. Nothing is left to downcast to.
    pub(crate) fn retold(self, mut tell: impl FnMut(&str) -> String) -> Self {
        let ErrorReport { message, causes, .. } = self.report();
        let mut source = None;
        for text in causes.iter().rev().chain([&message]) {
            source = Some(Box::new(Retold { text: tell(text), source }));
        }
        let source: BoxError = source.expect("there is a message");
        // The texts have it.
        Self { source: Returned(Some(source)), longest_wait: None, ..self }
    }

    /// The form in which the error is stored and reported.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let mut causes = Vec::new();
        let mut next = source_of(self.source.get());
        while let Some(error) = next {
            causes.push(text_of(error));
            next = source_of(error);
        }
        ErrorReport { kind: self.kind, message: text_of(self), causes }
    }
}

impl<E: Into<BoxError>> From<E> for NodeError {
    fn from(source: E) -> Self {
        Self::new(NodeErrorKind::Failed, source)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        caught(|| fmt::Display::fmt(self.source.get(), f))
            .unwrap_or_else(|panic| f.write_str(&without_text(&panic)))?;
        let (Some(asked_for), Some(longest)) = (self.retry_after, self.longest_wait) else { return Ok(()) };
        write!(
            f,
            "; it is to be tried again after {asked_for:?}, and the node's policy waits {longest:?} at most: resume \
             the thread later, or let it wait longer with Retry::max"
        )
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = caught(|| {
            let mut shown = f.debug_struct("NodeError");
            shown.field("kind", &self.kind).field("source", &self.source.get()).finish_non_exhaustive()
        });
        fields.unwrap_or_else(|panic| f.write_str(&without_text(&panic)))
    }
}

/// The cause of an error.
fn source_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    caught(|| error.source()).unwrap_or_default()
}

/// An error in other words, with those it was caused by.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Retold {
    text: String,
    source: Option<Box<Retold>>,
}

/// A problem with an effect's journal: the source of a [`NodeError`] of kind [`NodeErrorKind::Effect`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// It was started before and has no recorded end. Declare what is then to be done.
    #[error(
        "effect `{effect}` was started before, and whether it happened is not known; if it may run again, declare \
         it with on_unknown(OnUnknown::Retry), and with OnUnknown::Ask somebody is asked"
    )]
    Unknown {
        /// The effect.
        effect: String,
    },
    /// A person was asked about its outcome, and answered that the task must fail.
    #[error("effect `{effect}` was started before, and the answer to what became of it was to fail")]
    GivenUp {
        /// The effect.
        effect: String,
    },
    /// Its recorded value is not what the code expects now. Run it again with
    /// `on_mismatch(OnMismatch::RunAgain)`, where that is right.
    #[error("the recorded value of effect `{effect}` does not decode: {reason}")]
    Undecodable {
        /// The effect.
        effect: String,
        /// Why.
        reason: String,
    },
    /// It succeeded in an earlier run of the node, and the code has no place for it any more: it was renamed or
    /// removed. Where its value may be forgotten, say so with `on_mismatch(OnMismatch::RunAgain)`.
    #[error(
        "the journal holds effect `{effect}`, which the node no longer runs; if it was renamed, it has run twice \
         now; to go on without it, declare on_mismatch(OnMismatch::RunAgain)"
    )]
    Gone {
        /// The effect.
        effect: String,
    },
    /// Another effect of the same name and key is in flight. Tell them apart by a key.
    #[error(
        "effect `{effect}` was started while another of the same name and key was in flight; tell them apart with \
         run_keyed"
    )]
    Concurrent {
        /// The effect.
        effect: String,
    },
    /// Something was asked inside of it. A question waits for the task to pause, and a task does not pause while an
    /// effect is in flight: ask before the effect, or after it.
    #[error("a question was asked inside effect `{effect}`; ask before the effect, or after it")]
    Asks {
        /// The effect.
        effect: String,
    },
    /// The run is replayed, and the recording has no outcome of it that could be returned.
    #[error("the recording has no outcome of effect `{effect}` to replay")]
    NotRecorded {
        /// The effect.
        effect: String,
    },
    /// The run is given a cassette, and the cassette has no recording of it. The report names the nearest one.
    #[error("{report}")]
    NotOnCassette {
        /// The missing recording, its place, and the nearest recording.
        report: String,
    },
    /// The cassette says that it failed, and the error cannot be made from its text. Say how, with
    /// `Cassette::error_as`.
    #[error(
        "effect `{effect}` is recorded as failed with {text:?}, and no `{wanted}` is made from a text; say how with \
         Cassette::error_as"
    )]
    NotRepeatable {
        /// The effect.
        effect: String,
        /// The text of its error.
        text: String,
        /// The type of its error.
        wanted: String,
    },
    /// Its value cannot be stored.
    #[error("the value of effect `{effect}` cannot be recorded: {reason}")]
    Unencodable {
        /// The effect.
        effect: String,
        /// Why.
        reason: String,
    },
}

/// Why an attempt was given up: the source of a [`NodeError`] of kind [`NodeErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Timeout {
    /// It took longer than the node's timeout.
    #[error("the attempt took longer than {0:?}")]
    Run(Duration),
    /// It sent no heartbeat for longer than the node's idle timeout.
    #[error("the attempt showed no sign of life for {0:?}")]
    Idle(Duration),
}

/// A [`NodeError`] as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ErrorReport {
    /// The kind of the error.
    pub kind: NodeErrorKind,
    /// The error's own message.
    pub message: String,
    /// The messages of its sources, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}
