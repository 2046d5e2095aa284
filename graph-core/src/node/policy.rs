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
    /// The retry policies; the first one that covers an error decides.
    pub(crate) retries: Vec<Retry>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) on_mismatch: OnMismatch,
    /// `true` if the node runs only when no other node is left to run.
    pub(crate) deferred: bool,
    pub(crate) interrupt_before: bool,
    pub(crate) interrupt_after: bool,
}

impl Policy {
    /// Returns the maximum number of attempts, including the first one.
    pub(crate) fn attempts(&self) -> u32 {
        self.retries.iter().map(|retry| retry.attempts).max().unwrap_or(1).max(1)
    }
}

/// The policy for an effect that was started and has no recorded end.
///
/// After a crash it is unknown whether such an effect happened. It is never repeated silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnknown {
    /// Fails the task with an error that names the effect. The default.
    #[default]
    Fail,
    /// Runs the effect again: right for reads, and for effects that the other side deduplicates.
    Retry,
    /// Pauses the thread and asks for the outcome. The question is an [`EffectQuestion`](super::EffectQuestion),
    /// the answer an [`EffectAnswer`](super::EffectAnswer). Without a checkpointer the task fails.
    Ask,
}

/// The policy for a journal entry that no longer fits the node's code: its value does not decode, or the code no
/// longer runs the effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnMismatch {
    /// Fails the task with an error that names the effect. The default.
    #[default]
    Fail,
    /// Discards the entry. If its value does not decode, the effect runs again.
    RunAgain,
}

/// The policy for retrying a failed node.
///
/// It covers errors returned as [`NodeError::retryable`], errors of a type named with [`on`](Self::on), I/O errors,
/// and timeouts. With [`only_on`](Self::only_on) it covers only the named types. Pauses, cancellation and errors
/// returned as [`NodeError::terminal`] are never retried.
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

/// The default maximum wait between two attempts.
const LONGEST: Duration = Duration::from_secs(128);

/// The decision of a policy on a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt after this wait.
    Attempt(Duration),
    /// No further attempt, because this was the last one.
    NoneLeft,
    /// No further attempt, because the error asks for a longer wait than this maximum of the policy.
    WaitTooLong(Duration),
}

/// Returns `true` for the errors that a policy names.
type Covers = Arc<dyn Fn(&NodeError) -> bool + Send + Sync>;

impl Retry {
    /// Creates a policy with at most `attempts` attempts, including the first one. The waits between them are 0.5
    /// s, 1 s, 2 s and so on, up to 128 s, each reduced at random to between half and all of it.
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

    /// Creates a policy with at most `attempts` attempts, including the first one, and the same wait between them.
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

    /// Sets the first wait.
    #[must_use]
    pub fn initial(self, initial: Duration) -> Self {
        Self { initial, ..self }
    }

    /// Sets the maximum wait; the default is 128 s. An error that [asks for](NodeError::after) a wait up to this
    /// maximum gets it. If the error asks for a longer wait, the node fails at once, with an error that states the
    /// requested wait.
    #[must_use]
    pub fn max(self, max: Duration) -> Self {
        Self { max, ..self }
    }

    /// Disables the random reduction of the waits.
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

    /// Retries errors of this type and of the other named types only, for a node with several policies.
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

    /// Retries errors of this type for which `holds` returns `true`, and errors of the other named types only.
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

    /// Decides what follows `attempt`, which failed with an error that this policy covers. `roll` is a random
    /// number in [0, 1).
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

    /// Returns `true` if this policy covers an error.
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

    /// A server's `retry-after` of a day used to make a run sleep for a day.
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
        // The fixed wait is not the maximum wait.
        let fixed = Retry::fixed(2, Duration::from_secs(1));
        assert_eq!([0, 7, 129].map(|wait| next(fixed.clone(), wait)), [wait(1), wait(7), too_long(128)]);
        assert_eq!(next(Retry::fixed(2, Duration::from_secs(300)), 200), wait(300));
        assert_eq!(next(Retry::fixed(1, Duration::from_secs(1)), 300), Next::NoneLeft);
    }
}
