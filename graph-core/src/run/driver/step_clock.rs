//! The time that a superstep may take.

use std::boxed::Box;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Runs out when a superstep takes too long. Exists only for a run with such a limit.
pub(crate) struct StepClock {
    pub(crate) timeout: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl StepClock {
    pub(crate) fn new(timeout: Duration) -> Box<Self> {
        Box::new(Self { timeout, sleep: Box::pin(tokio::time::sleep(timeout)) })
    }

    /// Another superstep begins.
    pub(crate) fn restart(&mut self) {
        // A time too far away to be told never comes: tokio's own sleep is then as long as it can be.
        match Instant::now().checked_add(self.timeout) {
            Some(deadline) => self.sleep.as_mut().reset(deadline),
            None => self.sleep = Box::pin(tokio::time::sleep(self.timeout)),
        }
    }

    /// Waits until it has run out.
    pub(crate) async fn run_out(&mut self) {
        poll_fn(|context| self.sleep.as_mut().poll(context)).await;
    }
}
