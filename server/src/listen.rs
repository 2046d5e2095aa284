//! The connections of a server.

mod stalled;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::guard::{Guard, Peer};
use crate::serve::Workers;
use stalled::Stalled;

/// The time to wait before the next connection is accepted when the program has no resources for one more.
const PAUSE: Duration = Duration::from_millis(100);

/// The time in which a refused client may read its response.
const LINGER: Duration = Duration::from_secs(1);

/// The maximum number of refused clients that get a response at the same time.
const REFUSALS: usize = 64;

/// The time that connections have to end after the last run has, at least.
const CLOSING: Duration = Duration::from_secs(1);

/// The maximum size of a connection's buffer, in bytes, unless heads may be larger.
const BUFFER: usize = 64 << 10;

/// The response to a connection above the maximum number.
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 69\r\n\r\n{\"detail\":\"the server has no free connection; try again in a moment\"}";

/// A server that is bound to its address. Made by [`Server::listen`](crate::Server::listen).
#[must_use = "it accepts no connection before `until` is awaited"]
pub struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) router: Router,
    pub(crate) guard: Arc<Guard>,
    /// The workers; `None` if nothing is run.
    pub(crate) workers: Option<Workers>,
    pub(crate) grace: Duration,
}

impl Listening {
    /// Returns the address, with the port that the system chose if the server was bound to port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients and drives runs until `stop` is ready. Then requests for runs get status 503, streams end, running
    /// supersteps have the [grace](crate::Server::grace) to finish, and unfinished runs are given back: the next
    /// start of the server continues them.
    pub async fn until(self, stop: impl Future<Output = ()>) {
        let Self { listener, router, guard, workers, grace, .. } = self;
        if let Some(workers) = &workers {
            workers.start();
        }
        let closing = CancellationToken::new();
        let mut connections = JoinSet::new();
        let mut refusals = JoinSet::new();
        let mut ended = pin!(async {
            stop.await;
            if let Some(workers) = workers {
                workers.shutdown(grace).await;
            }
        });
        loop {
            let accepted = tokio::select! {
                () = ended.as_mut() => break,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                Some(_) = refusals.join_next() => continue,
            };
            let (stream, remote) = match accepted {
                Ok(accepted) => accepted,
                // This client went away; others come.
                Err(error) if has_gone(&error) => continue,
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if connections.len() >= guard.limits.connections {
                guard.counts.refused.fetch_add(1, Ordering::Relaxed);
                if refusals.len() < REFUSALS {
                    refusals.spawn(refuse(stream));
                }
                continue;
            }
            guard.counts.connections.fetch_add(1, Ordering::Relaxed);
            connections.spawn(serve(stream, remote, router.clone(), Arc::clone(&guard), closing.clone()));
        }
        drop(listener);
        closing.cancel();
        let rest = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSING, rest).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections are closed before they have ended");
        }
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Serves the requests of a connection. After `closing` it ends with the response that is being sent.
async fn serve(
    stream: TcpStream,
    remote: SocketAddr,
    router: Router,
    guard: Arc<Guard>,
    closing: CancellationToken,
) {
    let Ok(local) = stream.local_addr() else { return };
    // A stream's events are small, and a client waits for each.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let peer = Peer { remote, local };
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request.map(Body::new))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(guard.limits.head_time);
    // The guard answers larger heads with a text; beyond this, hyper answers 431 without one.
    http.max_header_size(2 * guard.limits.head_bytes);
    // The part of a stream that waits in memory for its client to read.
    http.max_buf_size(BUFFER.max(2 * guard.limits.head_bytes));
    let io = TokioIo::new(Stalled::new(stream, guard.limits.read_time));
    let mut connection = pin!(http.serve_connection(io, service).with_upgrades());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Answers that there are too many connections.
async fn refuse(mut stream: TcpStream) {
    let answer = async {
        stream.write_all(BUSY.as_bytes()).await?;
        stream.shutdown().await?;
        // A socket that is closed with unread data resets the connection, and the client may lose the response.
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    if let Ok(Err(error)) = tokio::time::timeout(LINGER, answer).await {
        tracing::debug!(%error, "a refused client went away");
    }
}

/// Returns `true` if an error concerns one connection only, and says nothing of the next.
fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}
