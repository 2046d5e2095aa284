//! The parts of a connection that do not depend on its transport.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::lines::CloseReason;

/// The maximum number of requests from the other end that may be unanswered.
const MOST_OPEN: usize = 64;

/// The time without reading, because too many requests are unanswered, after which the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time to wait for pending writes when a connection is closed.
const CLOSING: Duration = Duration::from_secs(1);

/// A transport that is closed in time, whether or not the other end reads what is written to it.
pub(super) struct ClosedInTime<T>(pub(super) T);

impl<R: ServiceRole, T: Transport<R>> Transport<R> for ClosedInTime<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<R>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<R>>> + Send {
        self.0.receive()
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        // What is not closed then is when it is dropped.
        tokio::time::timeout(CLOSING, self.0.close()).await.unwrap_or(Ok(()))
    }
}

/// A transport to a server that limits its unanswered requests: a server that reads no answers would fill the memory
/// with them.
pub(super) struct Answered<T> {
    inner: ClosedInTime<T>,
    /// The unanswered requests.
    asked: HashSet<RequestId>,
    written: Arc<Written>,
    /// The time since which too many wait.
    full: Option<Instant>,
    fault: CloseReason,
}

/// The answers that are being written.
#[derive(Default)]
struct Written {
    count: AtomicUsize,
    fewer: Notify,
}

/// An answer that is being written, until it is dropped.
struct Answer(Arc<Written>);

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.fewer.notify_one();
    }
}

impl<T> Answered<T> {
    pub(super) fn new(inner: T, fault: CloseReason) -> Self {
        let (asked, written) = (HashSet::new(), Arc::default());
        Self { inner: ClosedInTime(inner), asked, written, full: None, fault }
    }

    fn open(&self) -> usize {
        self.asked.len() + self.written.count.load(Ordering::Acquire)
    }

    /// Waits until fewer requests wait for their answers; `false` if that takes too long. It may be dropped and called
    /// again.
    async fn has_room(&mut self) -> bool {
        while self.open() >= MOST_OPEN {
            let until = *self.full.get_or_insert_with(Instant::now) + PATIENCE;
            if tokio::time::timeout_at(until, self.written.fewer.notified()).await.is_err() {
                let reason = format!("it does not read the answers to more than {MOST_OPEN} requests");
                self.fault.get_or_init(|| reason);
                return false;
            }
        }
        self.full = None;
        true
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Answered<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let answer = answered.map(|id| {
            self.asked.remove(id);
            self.written.count.fetch_add(1, Ordering::AcqRel);
            Answer(Arc::clone(&self.written))
        });
        let sent = Transport::<RoleClient>::send(&mut self.inner, message);
        async move {
            let result = sent.await;
            drop(answer);
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if !self.has_room().await {
            return None;
        }
        let message = Transport::<RoleClient>::receive(&mut self.inner).await?;
        match &message {
            JsonRpcMessage::Request(request) => {
                self.asked.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(said) => {
                // What is taken back before it is answered is not answered.
                if let ServerNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.asked.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        Transport::<RoleClient>::close(&mut self.inner).await
    }
}
