//! Policies of a node: retries, timeouts, effects of unknown outcome.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::error::{NodeError, NodeErrorKind};

/// How a node is run.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) retry: Option<Retry>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_unknown: OnUnknown,
}

/// What becomes of an effect that was started and has no recorded end.
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
}

/// When and how often a failed node is tried again.
///
/// An error is retried when it was returned as [`NodeError::retryable`], when its type was named with
/// [`on`](Self::on), and otherwise when it is an I/O error or a timeout. Pauses and cancellation are never
/// retried.
#[derive(Clone)]
pub struct Retry {
    attempts: u32,
    initial: Duration,
    factor: f64,
    max: Duration,
    jitter: bool,
    on: Vec<fn(&NodeError) -> bool>,
}

impl Retry {
    /// At most `attempts` attempts in all, the first one included, waiting 0.5 s, 1 s, 2 s, … between them, at
    /// most 128 s, each wait shortened at random to between half and all of it.
    #[must_use]
    pub fn exponential(attempts: u32) -> Self {
        Self {
            attempts,
            initial: Duration::from_millis(500),
            factor: 2.0,
            max: Duration::from_secs(128),
            jitter: true,
            on: Vec::new(),
        }
    }

    /// At most `attempts` attempts in all, with the same wait between them.
    #[must_use]
    pub fn fixed(attempts: u32, wait: Duration) -> Self {
        Self { initial: wait, factor: 1.0, max: wait, jitter: false, ..Self::exponential(attempts) }
    }

    /// The first wait.
    #[must_use]
    pub fn initial(self, initial: Duration) -> Self {
        Self { initial, ..self }
    }

    /// The longest wait.
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
        self.on.push(|error| error.downcast_ref::<E>().is_some());
        self
    }

    /// The wait before the attempt after `attempt`, or `None` when there is none. `roll` is a random number in
    /// [0, 1).
    pub(crate) fn next(&self, attempt: u32, error: &NodeError, roll: f64) -> Option<Duration> {
        if attempt >= self.attempts || !self.is_retryable(error) {
            return None;
        }
        let mut wait = self.initial.min(self.max);
        for _ in 1..attempt {
            wait = wait.mul_f64(self.factor).min(self.max);
        }
        if self.jitter {
            wait = wait.mul_f64(0.5 + roll / 2.0);
        }
        Some(wait.max(error.retry_after().unwrap_or_default()))
    }

    fn is_retryable(&self, error: &NodeError) -> bool {
        match error.kind() {
            NodeErrorKind::Retryable | NodeErrorKind::TimedOut => true,
            NodeErrorKind::Failed => is_io(error) || self.on.iter().any(|matches| matches(error)),
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
        let seconds = |s| Some(Duration::from_secs_f64(s));
        assert_eq!(waits, [seconds(0.5), seconds(1.0), seconds(2.0), seconds(3.0), seconds(3.0), None]);
    }

    #[test]
    fn jitter_shortens_to_at_least_half() {
        let retry = Retry::exponential(2);
        let error = NodeError::retryable("busy");
        assert_eq!(retry.next(1, &error, 0.0), Some(Duration::from_millis(250)));
        assert!(retry.next(1, &error, 0.999).is_some_and(|wait| wait < Duration::from_millis(500)));
    }

    #[test]
    fn only_classified_errors_are_retried() {
        #[derive(Debug, thiserror::Error)]
        #[error("odd")]
        struct Odd;
        let retry = Retry::exponential(2);
        assert!(retry.next(1, &NodeError::from("plain"), 0.0).is_none());
        assert!(retry.next(1, &NodeError::terminal("final"), 0.0).is_none());
        assert!(retry.next(1, &NodeError::from(Odd), 0.0).is_none());
        assert!(retry.clone().on::<Odd>().next(1, &NodeError::from(Odd), 0.0).is_some());
        #[cfg(feature = "std")]
        assert!(retry.next(1, &NodeError::from(std::io::Error::other("disk")), 0.0).is_some());
    }

    #[test]
    fn the_error_can_ask_for_a_longer_wait() {
        let error = NodeError::retryable("slow down").after(Duration::from_secs(7));
        assert_eq!(Retry::exponential(2).next(1, &error, 0.5), Some(Duration::from_secs(7)));
    }
}
