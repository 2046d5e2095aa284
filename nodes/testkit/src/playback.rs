//! An answer is sent step by step.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::vec;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};

use super::pacing::Step;
use super::received::{Delivery, Received};

/// The body of an answer.
pub(super) type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Severed>>>;

/// The connection is closed on purpose.
#[derive(Debug)]
pub(super) struct Severed;

/// Notes what becomes of an answer. If it is dropped before the answer is at its end, the client has gone away.
pub(super) struct Outcome {
    received: Received,
    is_stopping: Arc<AtomicBool>,
}

struct Playback {
    steps: vec::IntoIter<Step>,
    outcome: Outcome,
}

/// A body that plays the steps.
pub(super) fn play(steps: Vec<Step>, outcome: Outcome) -> Body {
    let playback = Playback { steps: steps.into_iter(), outcome };
    playback.foresee();
    StreamBody::new(stream::unfold(playback, Playback::next).boxed())
}

impl Playback {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, Severed>, Self)> {
        loop {
            match self.steps.next()? {
                Step::Wait(pause) => tokio::time::sleep(pause).await,
                Step::Send(bytes) => {
                    self.foresee();
                    return Some((Ok(Frame::data(bytes)), self));
                }
                Step::Cut => {
                    // What was sent before leaves the server while this waits.
                    tokio::task::yield_now().await;
                    return Some((Err(Severed), self));
                }
                Step::Stall => std::future::pending().await,
            }
        }
    }

    /// Notes the outcome once nothing can change it: the end of a body whose length is known is never polled.
    fn foresee(&self) {
        match self.steps.as_slice().first() {
            None => self.outcome.is(Delivery::Delivered),
            Some(Step::Cut) => self.outcome.is(Delivery::Cut),
            Some(_) => {}
        }
    }
}

impl Outcome {
    pub(super) fn of(received: Received, is_stopping: Arc<AtomicBool>) -> Self {
        Self { received, is_stopping }
    }

    pub(super) fn is(&self, delivery: Delivery) {
        self.received.settle(delivery);
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if !self.is_stopping.load(Ordering::Relaxed) {
            self.is(Delivery::Abandoned);
        }
    }
}

impl fmt::Display for Severed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reply's pacing closes the connection here")
    }
}

impl std::error::Error for Severed {}
