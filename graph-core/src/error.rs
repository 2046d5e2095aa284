//! The error of a node, and the properties that decide whether it is retried.

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

/// The error of a node.
///
/// `?` converts every error into it, and the source stays downcastable. The node's retry policy decides whether it
/// is retried, unless it was created with [`retryable`](Self::retryable) or [`terminal`](Self::terminal).
/// Unclassified errors are terminal, except I/O errors and timeouts.
///
/// Like `anyhow::Error`, it does not implement [`Error`], so that `?` can convert every error. If code of the error
/// panics, such as its `Display` or its `Drop`, the panic is caught, and a replacement text says so.
pub struct NodeError {
    kind: NodeErrorKind,
    source: Returned,
    retry_after: Option<Duration>,
    /// The maximum wait of the policy, if the error asked for a longer one.
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
    /// The node returned an unclassified error.
    Failed,
    /// The node returned an error marked as retryable.
    Retryable,
    /// The node returned an error marked as terminal.
    Terminal,
    /// The node panicked.
    Panicked,
    /// An attempt took longer than its timeout, or was idle for too long. The source is a [`Timeout`].
    TimedOut,
    /// The node finished, but the routing after it failed.
    Routing,
    /// An effect's journal could not be read or written, or does not match. The source is an [`EffectError`] or the
    /// store's error.
    Effect,
    /// A value of the task could not be encoded or decoded.
    Codec,
}

impl NodeError {
    /// Creates an error of the given kind.
    pub fn new(kind: NodeErrorKind, source: impl Into<BoxError>) -> Self {
        Self { kind, source: Returned(Some(source.into())), retry_after: None, longest_wait: None }
    }

    /// Creates an error that is retried, whatever its type.
    pub fn retryable(source: impl Into<BoxError>) -> Self {
        Self::new(NodeErrorKind::Retryable, source)
    }

    /// Creates an error that is not retried, whatever its type.
    pub fn terminal(source: impl Into<BoxError>) -> Self {
        Self::new(NodeErrorKind::Terminal, source)
    }

    /// Sets the minimum wait before the next attempt. If it exceeds the maximum wait of the node's
    /// [policy](crate::node::Retry::max), the node fails without another attempt.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Records that the requested wait exceeded the maximum wait of the node's policy.
    pub(crate) fn not_waited_for(mut self, longest: Duration) -> Self {
        self.longest_wait = Some(longest);
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// Returns the minimum wait before the next attempt, if the error asks for one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the error that the node returned.
    #[must_use]
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.source.get()
    }

    /// Returns the error that the node returned, if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.source.get().downcast_ref()
    }

    /// Returns the error that the node returned, by value.
    #[must_use]
    pub fn into_source(mut self) -> BoxError {
        self.source.0.take().expect("it is taken only when it goes")
    }

    /// Replaces the texts of the error, for texts that must not be shown. It can no longer be downcast.
    pub(crate) fn retold(self, mut tell: impl FnMut(&str) -> String) -> Self {
        let ErrorReport { message, causes, .. } = self.report();
        let mut source = None;
        for text in causes.iter().rev().chain([&message]) {
            source = Some(Box::new(Retold { text: tell(text), source }));
        }
        let source: BoxError = source.expect("there is a message");
        // The new texts already contain the wait.
        Self { source: Returned(Some(source)), longest_wait: None, ..self }
    }

    /// Returns the form in which the error is stored and reported.
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
            "; the error asks for a retry after {asked_for:?}, but the node's policy waits {longest:?} at most: \
             resume the thread later, or raise the limit with Retry::max"
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

/// Returns the cause of an error.
fn source_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    caught(|| error.source()).unwrap_or_default()
}

/// An error with replaced texts, and its causes.
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
    /// The effect was started before and has no recorded end. Declare an [`OnUnknown`](crate::node::OnUnknown)
    /// policy for it.
    #[error(
        "effect `{effect}` was started before, and its outcome is unknown; if it may run again, declare \
         on_unknown(OnUnknown::Retry); to ask a person, declare on_unknown(OnUnknown::Ask)"
    )]
    Unknown {
        /// The effect.
        effect: String,
    },
    /// A person was asked about the effect's outcome, and answered that the task must fail.
    #[error("effect `{effect}` was started before, and the answer about its outcome was to fail")]
    GivenUp {
        /// The effect.
        effect: String,
    },
    /// The recorded value does not decode as the type that the code now expects. If the effect may run again, set
    /// `on_mismatch(OnMismatch::RunAgain)`.
    #[error("the recorded value of effect `{effect}` does not decode: {reason}")]
    Undecodable {
        /// The effect.
        effect: String,
        /// The reason.
        reason: String,
    },
    /// The effect succeeded in an earlier run of the node, but the code no longer runs it, because it was renamed
    /// or removed. If its value may be discarded, set `on_mismatch(OnMismatch::RunAgain)`.
    #[error(
        "the journal holds effect `{effect}`, which the node no longer runs; if it was renamed, it has now run \
         twice; to continue without it, declare on_mismatch(OnMismatch::RunAgain)"
    )]
    Gone {
        /// The effect.
        effect: String,
    },
    /// Another effect of the same name and key is in flight. Give them different keys.
    #[error(
        "effect `{effect}` was started while another of the same name and key was in flight; tell them apart with \
         run_keyed"
    )]
    Concurrent {
        /// The effect.
        effect: String,
    },
    /// A question was asked inside the effect. A question waits for the task to pause, and a task does not pause
    /// while an effect is in flight, so ask before or after the effect.
    #[error("a question was asked inside effect `{effect}`; ask before the effect, or after it")]
    Asks {
        /// The effect.
        effect: String,
    },
    /// The run is a replay, and the recording has no outcome for the effect.
    #[error("the recording has no outcome of effect `{effect}` to replay")]
    NotRecorded {
        /// The effect.
        effect: String,
    },
    /// The run uses a cassette that has no recording of the effect. The report names the nearest one.
    #[error("{report}")]
    NotOnCassette {
        /// The message with the missing recording, its place, and the nearest recording.
        report: String,
    },
    /// The effect is recorded as failed, and its error cannot be created from the recorded text. Add a constructor
    /// with `Cassette::error_as`.
    #[error(
        "effect `{effect}` is recorded as failed with {text:?}, and no `{wanted}` can be created from a text; add a \
         constructor with Cassette::error_as"
    )]
    NotRepeatable {
        /// The effect.
        effect: String,
        /// The text of the recorded error.
        text: String,
        /// The type of the error that the code expects.
        wanted: String,
    },
    /// The value of the effect cannot be stored.
    #[error("the value of effect `{effect}` cannot be recorded: {reason}")]
    Unencodable {
        /// The effect.
        effect: String,
        /// The reason.
        reason: String,
    },
}

/// The reason for which an attempt was abandoned: the source of a [`NodeError`] of kind
/// [`NodeErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Timeout {
    /// The attempt took longer than the node's timeout.
    #[error("the attempt took longer than {0:?}")]
    Run(Duration),
    /// The attempt sent no heartbeat for longer than the node's idle timeout.
    #[error("the attempt sent no heartbeat for {0:?}")]
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
