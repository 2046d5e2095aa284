//! The progress of a run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use superstep_core::id::ThreadId;
use superstep_core::run::{EventKind, Observer, RunEvent, View, Views};
use tokio::sync::mpsc;

/// The maximum number of events that wait for a slow client. Further events are dropped: the next one shows the
/// progress of the run.
const WAITING: usize = 64;

/// The name of what stands before the first node.
const START: &str = "__start__";

/// Watches a run for a client.
pub(super) struct Watcher {
    thread: Arc<OnceLock<ThreadId>>,
    tell: Option<mpsc::Sender<(u32, String)>>,
    count: AtomicU32,
}

/// The progress notifications for a client, if it has requested them.
pub(super) struct Watched(Option<ProgressChannel>);

struct ProgressChannel {
    events: mpsc::Receiver<(u32, String)>,
    token: ProgressToken,
}

/// Makes a watcher; it tells what happens if the client has given a token for that.
pub(super) fn watch(token: Option<ProgressToken>) -> (Watcher, Watched) {
    let (tell, told) = match token {
        Some(token) => {
            let (tell, events) = mpsc::channel(WAITING);
            (Some(tell), Some(ProgressChannel { events, token }))
        }
        None => (None, None),
    };
    (Watcher { thread: Arc::default(), tell, count: AtomicU32::new(0) }, Watched(told))
}

impl Watcher {
    /// Returns a cell that holds the thread once the run has begun.
    pub(super) fn thread(&self) -> Arc<OnceLock<ThreadId>> {
        Arc::clone(&self.thread)
    }
}

impl Watched {
    /// Tells a client of what happens in a run until it ends, all of it before the end.
    pub(super) async fn during<T>(mut self, run: BoxFuture<'static, T>, client: &Peer<RoleServer>) -> T {
        let mut run = run;
        let ended = tokio::select! {
            biased;
            ended = &mut run => Some(ended),
            () = self.forward(client) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => run.await,
        };
        if let Some(told) = &mut self.0 {
            told.events.close();
            self.forward(client).await;
        }
        ended
    }

    /// Tells a client of what happens, until nothing does any more or the client is gone.
    async fn forward(&mut self, client: &Peer<RoleServer>) {
        let Some(ProgressChannel { events, token }) = &mut self.0 else {
            return std::future::pending().await;
        };
        while let Some((count, message)) = events.recv().await {
            let progress =
                ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(message);
            if client.notify_progress(progress).await.is_err() {
                return;
            }
        }
    }
}

impl Observer for Watcher {
    fn on_event(&self, event: &RunEvent) {
        let message = match &event.kind {
            EventKind::RunStarted { thread, .. } => {
                // Subgraphs are not reported here, and the run is reported once.
                let _ = self.thread.set(thread.clone());
                return;
            }
            // What stands before the first node is none that a client knows.
            EventKind::TaskStarted { node, .. } | EventKind::TaskFinished { node, .. }
                if node.as_str() == START =>
            {
                return;
            }
            EventKind::TaskStarted { node, attempt: 1, .. } => format!("`{}` begins", node.as_str()),
            EventKind::TaskStarted { node, attempt, .. } => {
                format!("`{}` begins for the {attempt}. time", node.as_str())
            }
            EventKind::TaskFinished { node, recorded: false, .. } => format!("`{}` is done", node.as_str()),
            EventKind::TaskFailed { node, .. } => format!("`{}` has failed", node.as_str()),
            EventKind::TaskPaused { node, .. } => format!("`{}` asks", node.as_str()),
            _ => return,
        };
        if let Some(tell) = &self.tell {
            let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            // A client that is too slow misses it.
            let _ = tell.try_send((count, message));
        }
    }

    fn views(&self) -> Views {
        View::Debug.into()
    }
}
