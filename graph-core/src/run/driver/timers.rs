//! The timers that end an attempt if it takes too long or sends no heartbeat.

use std::boxed::Box;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep};

use crate::error::Timeout;
use crate::node::{Policy, TaskCell};

/// The timers of one attempt.
pub(crate) struct Timers {
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
    idle: Option<Idle>,
}

struct Idle {
    longest: Duration,
    sleep: Pin<Box<Sleep>>,
    /// The number of heartbeats seen so far.
    beats: u32,
}

impl Timers {
    /// Starts the timers; `None` for a node without timeouts.
    pub(crate) fn of(policy: &Policy, cell: &TaskCell) -> Option<Box<Self>> {
        if policy.timeout.is_none() && policy.idle_timeout.is_none() {
            return None;
        }
        let limit = policy.timeout.map(|longest| (longest, Box::pin(sleep(longest))));
        let idle = policy.idle_timeout.map(|longest| Idle {
            longest,
            sleep: Box::pin(sleep(longest)),
            beats: cell.beats(),
        });
        Some(Box::new(Self { limit, idle }))
    }

    /// Prepares for polling the node, whose heartbeats need no waker meanwhile.
    pub(crate) fn before_poll(&self, cell: &TaskCell) {
        if self.idle.is_some() {
            cell.listen(None);
        }
    }

    /// Returns the timeout that was exceeded. Call it whenever the node was polled and is not ready.
    pub(crate) fn poll(&mut self, cell: &TaskCell, context: &mut Context<'_>) -> Poll<Timeout> {
        if let Some((longest, limit)) = &mut self.limit
            && is_over(limit, context)
        {
            return Poll::Ready(Timeout::Run(*longest));
        }
        let Some(idle) = &mut self.idle else {
            return Poll::Pending;
        };
        // The waker is set before the heartbeats are counted, so that a heartbeat in between wakes the attempt.
        cell.listen(Some(context.waker().clone()));
        let beats = cell.beats();
        if beats != idle.beats {
            idle.beats = beats;
            // A time that cannot be represented never ends, and neither did the first one.
            if let Some(over) = Instant::now().checked_add(idle.longest) {
                idle.sleep.as_mut().reset(over);
            }
        }
        if is_over(&mut idle.sleep, context) {
            Poll::Ready(Timeout::Idle(idle.longest))
        } else {
            Poll::Pending
        }
    }
}

/// Returns `true` if the time is over. The timers are polled without tokio's cooperative budget, because a node
/// that used it up must not keep them from being polled.
fn is_over(sleep: &mut Pin<Box<Sleep>>, context: &mut Context<'_>) -> bool {
    let sleep = unconstrained(sleep.as_mut());
    std::pin::pin!(sleep).poll(context).is_ready()
}
