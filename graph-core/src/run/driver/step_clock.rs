//! The timer of a superstep.

use std::boxed::Box;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A timer that ends when a superstep exceeds its timeout. It exists only in a run with such a timeout.
pub(crate) struct StepClock {
    pub(crate) timeout: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl StepClock {
    pub(crate) fn new(timeout: Duration) -> Box<Self> {
        Box::new(Self { timeout, sleep: Box::pin(tokio::time::sleep(timeout)) })
    }

    /// Restarts the timer for the next superstep.
    pub(crate) fn restart(&mut self) {
        // A time that is too far away to be represented never comes; tokio's own sleep is then as long as it can
        // be.
        match Instant::now().checked_add(self.timeout) {
            Some(deadline) => self.sleep.as_mut().reset(deadline),
            None => self.sleep = Box::pin(tokio::time::sleep(self.timeout)),
        }
    }

    /// Waits until the timer ends.
    pub(crate) async fn run_out(&mut self) {
        poll_fn(|context| self.sleep.as_mut().poll(context)).await;
    }
}
