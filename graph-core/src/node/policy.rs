//! Policies of a node: retries, timeouts, effects of unknown outcome.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::cache::CachePolicy;
use crate::error::{NodeError, NodeErrorKind};

/// The policy for running a node.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The policy for reusing the node's result.
    pub(crate) cache: Option<CachePolicy>,
    /// The first one that covers an error decides about it.
    pub(crate) retries: Vec<Retry>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) on_mismatch: OnMismatch,
    /// `true` if it runs only when no other node is left to run.
    pub(crate) deferred: bool,
    pub(crate) interrupt_before: bool,
    pub(crate) interrupt_after: bool,
}

impl Policy {
    /// Returns the maximum number of attempts, the first one included.
    pub(crate) fn attempts(&self) -> u32 {
        self.retries.iter().map(|retry| retry.attempts).max().unwrap_or(1).max(1)
    }
}

/// The policy for an effect that was started and has no recorded end.
///
/// After a crash it is not known whether it happened. It is never repeated silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnknown {
    /// The task fails and says which effect it is. The default.
    #[default]
    Fail,
    /// It runs again: right for reads, and for effects that the other side deduplicates.
    Retry,
    /// The thread pauses and asks what became of it: the question is an [`EffectQuestion`](super::EffectQuestion),
    /// the answer an [`EffectAnswer`](super::EffectAnswer). Without a checkpointer the task fails.
    Ask,
}

/// The policy for a record of the journal that no longer fits the node's code: its value does not decode, or its place
/// in the code is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnMismatch {
    /// The task fails and says which effect it is. The default.
    #[default]
    Fail,
    /// A value that does not decode is forgotten, and the effect runs again; an effect that has no place any more is
    /// forgotten.
    RunAgain,
}

/// When and how often a failed node is tried again.
///
/// It covers an error that was returned as [`NodeError::retryable`], one whose type was named with
/// [`on`](Self::on), an I/O error, and a timeout; or, with [`only_on`](Self::only_on), the named types alone.
/// Pauses, cancellation and errors returned as [`NodeError::terminal`] are never retried.
#[derive(Clone)]
pub struct Retry {
    attempts: u32,
    initial: Duration,
    factor: f64,
    max: Duration,
    jitter: bool,
    on: Vec<Covers>,
    /// `true` if only errors of the named types are covered.
    only: bool,
}

/// The longest wait unless a policy says otherwise.
const LONGEST: Duration = Duration::from_secs(128);

/// The decision of a policy on a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt, after this wait.
    Attempt(Duration),
    /// None: that was the last one.
    NoneLeft,
    /// None: the error asks for a longer wait than the policy's longest, which is this.
    WaitTooLong(Duration),
}

/// Tells whether an error is one that a policy names.
type Covers = Arc<dyn Fn(&NodeError) -> bool + Send + Sync>;

impl Retry {
    /// At most `attempts` attempts in all, the first one included, waiting 0.5 s, 1 s, 2 s, … between them, at
    /// most 128 s, each wait shortened at random to between half and all of it.
    #[must_use]
    pub fn exponential(attempts: u32) -> Self {
        Self {
            attempts,
            initial: Duration::from_millis(500),
            factor: 2.0,
            max: LONGEST,
            jitter: true,
            on: Vec::new(),
            only: false,
        }
    }

    /// At most `attempts` attempts in all, with the same wait between them.
    #[must_use]
    pub fn fixed(attempts: u32, wait: Duration) -> Self {
        Self {
            initial: wait,
            factor: 1.0,
            max: wait.max(LONGEST),
            jitter: false,
            ..Self::exponential(attempts)
        }
    }

    /// The first wait.
    #[must_use]
    pub fn initial(self, initial: Duration) -> Self {
        Self { initial, ..self }
    }

    /// The longest wait; 128 s by default. An error that [asks for](NodeError::after) a wait up to this one gets it. One that
    /// asks for a longer wait is not retried: the node fails at once, and the error says how long the wait was to be.
    #[must_use]
    pub fn max(self, max: Duration) -> Self {
        Self { max, ..self }
    }

    /// Waits the whole time, without chance.
    #[must_use]
    pub fn without_jitter(self) -> Self {
        Self { jitter: false, ..self }
    }

    /// Also retries errors of this type.
    #[must_use]
    pub fn on<E: Error + 'static>(mut self) -> Self {
        self.on.push(Arc::new(|error| error.downcast_ref::<E>().is_some()));
        self
    }

    /// Retries errors of this type, and of the others that are named, and nothing else: for a node with several
    /// policies.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use std::time::Duration;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::node::Retry;
    /// # use superstep::state::State;
    /// # #[derive(State, Clone, Default)] struct Page { text: String }
    /// # #[derive(Debug)] struct Busy;
    /// # impl std::fmt::Display for Busy {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
    /// # }
    /// # impl std::error::Error for Busy {}
    /// # async fn fetch() {}
    /// let mut g = StateGraph::<Page>::new("page");
    /// let fetch = g.node("fetch", fetch);
    /// g.policy(fetch)
    ///     .retry(Retry::fixed(10, Duration::from_secs(1)).only_on::<Busy>())
    ///     .retry(Retry::exponential(3)); // everything else that is worth a retry
    /// # g.edge(START, fetch);
    /// # g.edge(fetch, END);
    /// ```
    #[must_use]
    pub fn only_on<E: Error + 'static>(self) -> Self {
        Self { only: true, ..self.on::<E>() }
    }

    /// Retries errors of this type for which `holds` returns `true`, and of the others that are named, and nothing else.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use std::io::{Error, ErrorKind};
    /// # use superstep::node::Retry;
    /// let retry = Retry::exponential(3).only_if(|error: &Error| error.kind() == ErrorKind::ConnectionReset);
    /// ```
    #[must_use]
    pub fn only_if<E: Error + 'static>(mut self, holds: impl Fn(&E) -> bool + Send + Sync + 'static) -> Self {
        self.on.push(Arc::new(move |error| error.downcast_ref::<E>().is_some_and(&holds)));
        Self { only: true, ..self }
    }

    /// Decides what follows `attempt`, which failed with an error that this policy covers. `roll` is a random number in [0, 1).
    pub(crate) fn next(&self, attempt: u32, error: &NodeError, roll: f64) -> Next {
        if attempt >= self.attempts {
            return Next::NoneLeft;
        }
        let asked_for = error.retry_after().unwrap_or_default();
        if asked_for > self.max {
            return Next::WaitTooLong(self.max);
        }
        let mut wait = self.initial.min(self.max);
        for _ in 1..attempt {
            wait = wait.mul_f64(self.factor).min(self.max);
        }
        if self.jitter {
            wait = wait.mul_f64(0.5 + roll / 2.0);
        }
        Next::Attempt(wait.max(asked_for))
    }

    /// Returns `true` if this policy decides about an error.
    pub(crate) fn covers(&self, error: &NodeError) -> bool {
        let named = || self.on.iter().any(|matches| matches(error));
        match error.kind() {
            NodeErrorKind::Retryable => !self.only || named(),
            NodeErrorKind::TimedOut => !self.only,
            NodeErrorKind::Failed => named() || !self.only && is_io(error),
            _ => false,
        }
    }
}

#[cfg(feature = "std")]
fn is_io(error: &NodeError) -> bool {
    error.downcast_ref::<std::io::Error>().is_some()
}

#[cfg(not(feature = "std"))]
fn is_io(_error: &NodeError) -> bool {
    false
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("initial", &self.initial)
            .field("factor", &self.factor)
            .field("max", &self.max)
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let retry = Retry::exponential(6).max(Duration::from_secs(3)).without_jitter();
        let error = NodeError::retryable("busy");
        let waits: Vec<_> = (1..7).map(|attempt| retry.next(attempt, &error, 0.0)).collect();
        let seconds = |s| Next::Attempt(Duration::from_secs_f64(s));
        let expected = [seconds(0.5), seconds(1.0), seconds(2.0), seconds(3.0), seconds(3.0), Next::NoneLeft];
        assert_eq!(waits, expected);
    }

    #[test]
    fn jitter_shortens_to_at_least_half() {
        let retry = Retry::exponential(2);
        let error = NodeError::retryable("busy");
        let wait = |roll| match retry.next(1, &error, roll) {
            Next::Attempt(wait) => wait,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait(0.0), Duration::from_millis(250));
        assert!(wait(0.999) < Duration::from_millis(500));
    }

    #[test]
    fn only_classified_errors_are_retried() {
        #[derive(Debug, thiserror::Error)]
        #[error("odd")]
        struct Odd;
        let retry = Retry::exponential(2);
        assert!(!retry.covers(&NodeError::from("plain")));
        assert!(!retry.covers(&NodeError::terminal("final")));
        assert!(!retry.covers(&NodeError::from(Odd)));
        assert!(retry.clone().on::<Odd>().covers(&NodeError::from(Odd)));
        assert!(!retry.clone().on::<Odd>().covers(&NodeError::terminal(Odd)));
        assert!(retry.clone().on::<Odd>().covers(&NodeError::retryable("busy")));
        let only = retry.clone().only_on::<Odd>();
        assert!(only.covers(&NodeError::from(Odd)) && only.covers(&NodeError::retryable(Odd)));
        assert!(!only.covers(&NodeError::retryable("busy")));
        assert!(!only.covers(&NodeError::new(NodeErrorKind::TimedOut, "late")));
        let never = retry.clone().only_if(|_: &Odd| false);
        assert!(!never.covers(&NodeError::from(Odd)) && !never.covers(&NodeError::retryable("busy")));
        assert!(never.only_if(|_: &Odd| true).covers(&NodeError::retryable(Odd)));
        #[cfg(feature = "std")]
        {
            let io = || NodeError::from(std::io::Error::other("disk"));
            assert!(retry.covers(&io()) && !only.covers(&io()));
        }
    }

    /// A server's `retry-after` of a day let a run sleep for a day.
    #[test]
    fn the_error_can_ask_for_a_longer_wait_up_to_the_longest() {
        let next = |retry: Retry, seconds| {
            let error = NodeError::retryable("slow down").after(Duration::from_secs(seconds));
            retry.next(1, &error, 0.5)
        };
        let wait = |seconds| Next::Attempt(Duration::from_secs(seconds));
        let too_long = |seconds| Next::WaitTooLong(Duration::from_secs(seconds));
        let few = Retry::exponential(2).max(Duration::from_secs(10));
        assert_eq!([7, 10, 11].map(|wait| next(few.clone(), wait)), [wait(7), wait(10), too_long(10)]);
        assert_eq!(next(Retry::exponential(2), 86_400), too_long(128));
        // A fixed wait is no longest one.
        let fixed = Retry::fixed(2, Duration::from_secs(1));
        assert_eq!([0, 7, 129].map(|wait| next(fixed.clone(), wait)), [wait(1), wait(7), too_long(128)]);
        assert_eq!(next(Retry::fixed(2, Duration::from_secs(300)), 200), wait(300));
        assert_eq!(next(Retry::fixed(1, Duration::from_secs(1)), 300), Next::NoneLeft);
    }
}
