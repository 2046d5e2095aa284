//! A connection that is made again when it breaks.

use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{CancelledNotificationParam, ClientRequest, ProgressToken, RequestId, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::ToolContext;
use tokio::sync::Mutex;

use super::endpoint::{Link, McpEndpoint, of_transport};
use super::handler::Handler;
use super::{McpError, McpOptions};

/// A connection with a server, which its tools share. When it has broken it is made again, once for each request that
/// needs it.
pub(super) struct Connection {
    pub(super) server: String,
    endpoint: McpEndpoint,
    pub(super) options: McpOptions,
    pub(super) handler: Handler,
    /// Never held for long: slow work is done under `connecting`.
    link: Mutex<State>,
    /// Locked, before `link`, to end a broken link or to make one, so that only one server runs at a time.
    connecting: Mutex<()>,
    /// The program has closed it: no link is made any more.
    closed: CancellationToken,
}

/// The time that a connection has to close cleanly.
const ENDING: Duration = Duration::from_secs(2);

enum State {
    /// The link, and its number: links are counted.
    Open(Box<Link>, u64),
    /// It broke, and was not made again.
    Broken(u64),
    /// The program has closed it.
    Closed,
}

/// The error of a request that has no answer.
pub(super) enum RequestError {
    /// The request was not made, as there is no connection.
    NotMade(McpError),
    /// The server refuses the request.
    Refused(String),
    /// The connection broke meanwhile, for this reason if one is known. Whether anything was done is not known.
    Broke(Option<String>),
    /// The answer is malformed.
    NoAnswer(String),
}

impl Connection {
    pub(super) async fn open(
        server: &str,
        endpoint: McpEndpoint,
        options: McpOptions,
    ) -> Result<Self, McpError> {
        let handler = Handler::default();
        let link = endpoint.open(server, &options, handler.clone()).await?;
        Ok(Self {
            server: server.to_owned(),
            endpoint,
            options,
            handler,
            link: Mutex::new(State::Open(Box::new(link), 0)),
            connecting: Mutex::new(()),
            closed: CancellationToken::new(),
        })
    }

    /// Makes a request and waits for its answer. Dropping the future cancels the request at the server.
    pub(super) async fn request(
        &self,
        request: ClientRequest,
        context: Option<ToolContext>,
    ) -> Result<ServerResult, RequestError> {
        let (peer, link) = match self.peer().await {
            Ok(found) => found,
            Err(error) => return Err(RequestError::NotMade(error)),
        };
        let sent = send(peer.clone(), request).await;
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.failed(link, error).await),
        };
        let token = handle.progress_token.clone();
        if let Some(context) = context {
            self.handler.follow(token.clone(), context);
        }
        let (id, handler) = (Some(handle.id.clone()), self.handler.clone());
        let mut given_up = GivenUp { peer, handler, id, token };
        let answer = handle.await_response().await;
        given_up.id = None;
        drop(given_up);
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(link, error).await),
        }
    }

    /// Closes the connection, and waits until a server that is a command has ended.
    pub(super) async fn close(&self) {
        self.closed.cancel();
        let state = std::mem::replace(&mut *self.link.lock().await, State::Closed);
        if let State::Open(link, _) = state {
            link.end().await;
        }
        // Another one that broke before may be about to end.
        drop(self.connecting.lock().await);
    }

    /// Redacts the address and its key in a text of the server.
    pub(super) fn redact(&self, text: String) -> String {
        self.endpoint.redact(text)
    }

    /// Returns the other end of a connection that seems open, and the number of its link.
    async fn peer(&self) -> Result<(Peer<RoleClient>, u64), McpError> {
        if let Some(open) = self.link.lock().await.open() {
            return Ok(open);
        }
        let closed = || McpError::Closed { server: self.server.clone() };
        let _one = self.connecting.lock().await;
        let (old, number) = {
            let mut state = self.link.lock().await;
            // Another request may have made one meanwhile.
            if let Some(open) = state.open() {
                return Ok(open);
            }
            let number = match &*state {
                State::Closed => return Err(closed()),
                State::Open(_, number) | State::Broken(number) => number + 1,
            };
            (std::mem::replace(&mut *state, State::Broken(number)), number)
        };
        // What is left of a server that has broken off is ended before another one is started.
        if let State::Open(link, _) = old {
            link.end().await;
        }
        let link = tokio::select! {
            link = self.endpoint.open(&self.server, &self.options, self.handler.clone()) => link?,
            () = self.closed.cancelled() => return Err(closed()),
        };
        let peer = link.service.peer().clone();
        let mut state = self.link.lock().await;
        if matches!(*state, State::Closed) {
            drop(state);
            link.end().await;
            return Err(closed());
        }
        *state = State::Open(Box::new(link), number);
        Ok((peer, number))
    }

    /// Returns the error of a request over this connection. A connection that broke is not used again.
    async fn failed(&self, number: u64, error: ServiceError) -> RequestError {
        let reason = match error {
            ServiceError::McpError(error) => {
                return RequestError::Refused(self.redact(error.message.into_owned()));
            }
            ServiceError::TransportSend(error) => Some(self.redact(of_transport(&error))),
            ServiceError::TransportClosed => None,
            error => return RequestError::NoAnswer(self.redact(error.to_string())),
        };
        let fault = match &*self.link.lock().await {
            State::Open(link, open) if *open == number => link.fault.get().cloned(),
            _ => return RequestError::Broke(reason),
        };
        // Over HTTP one request may fail and the next succeed.
        let goes_on = reason.is_some() && self.endpoint.is_of_requests();
        if !goes_on {
            self.end(number).await;
        }
        RequestError::Broke(fault.or(reason))
    }

    /// Ends a link that broke, unless another request has.
    async fn end(&self, number: u64) {
        let _one = self.connecting.lock().await;
        let mut state = self.link.lock().await;
        if !matches!(&*state, State::Open(_, open) if *open == number) {
            return;
        }
        let broken = std::mem::replace(&mut *state, State::Broken(number));
        drop(state);
        if let State::Open(link, _) = broken {
            link.end().await;
        }
    }
}

impl State {
    /// Returns the other end of a link that seems open, and its number.
    fn open(&self) -> Option<(Peer<RoleClient>, u64)> {
        match self {
            Self::Open(link, number) if !link.service.peer().is_transport_closed() => {
                Some((link.service.peer().clone(), *number))
            }
            _ => None,
        }
    }
}

impl Link {
    fn end(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // That the task of the connection panicked changes nothing: it has ended. A server that does not read what
            // is written to it may keep the task for a while; it ends by itself.
            drop(tokio::time::timeout(ENDING, self.service.cancel()).await);
            if let Some(process) = self.process {
                process.end().await;
            }
        })
    }
}

/// Sends a request. In a box, or the compiler does not see that the future may be sent between threads.
fn send(
    peer: Peer<RoleClient>,
    request: ClientRequest,
) -> BoxFuture<'static, Result<RequestHandle<RoleClient>, ServiceError>> {
    Box::pin(async move { peer.send_request_with_option(request, PeerRequestOptions::no_options()).await })
}

/// Cancels a request at the server, unless it was answered.
struct GivenUp {
    peer: Peer<RoleClient>,
    handler: Handler,
    /// `None` when it was answered.
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.handler.forget(&self.token);
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let cancelled =
            CancelledNotificationParam::new(Some(id), Some("the caller no longer waits".to_owned()));
        runtime.spawn(async move {
            // If it does not get there the connection has ended, and with it the request.
            drop(peer.notify_cancelled(cancelled).await);
        });
    }
}
