//! The endpoint: the server that Restate calls.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use superstep_core::run::{AnyGraph, CancellationToken, ToAnyGraph};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::register::{RegisterError, register};
use crate::service::{services, work_name};
use crate::work::Served;

const DEFAULT_SPREAD: usize = 8;

const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// The flow-control windows, in bytes. With the default ones, journals of thousands of entries are replayed slowly.
const WINDOW: u32 = 64 << 20;

/// The most calls on one connection. Restate opens further ones, which a load balancer leads to other processes, so with
/// fewer calls each the processes have more equal numbers of them.
const CALLS: u32 = 4;

/// The time without a message after which a connection is tested, and that the other side has to answer. Restate
/// takes a minute.
const ALIVE: Duration = Duration::from_secs(20);

/// The time to wait before the next connection is accepted when the program has no resources for one more.
const PAUSE: Duration = Duration::from_millis(100);

/// The version of the handlers and their journals, a part of the endpoint's address.
const VERSION: u32 = 3;

/// Makes an endpoint for these graphs and flows, whose runs Restate starts, repeats and spreads over processes.
///
/// Each graph is an object of Restate, with a key per thread and the handlers `run`, `answer`, `answers`, `resume`
/// and `cancel`. The saver of a graph is shared by all processes: a `PostgresSaver`, or a `SqliteSaver` on one
/// machine.
///
/// ```no_run
/// # extern crate superstep_core as superstep;
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Essay { draft: String }
/// # fn essays() -> StateGraph<Essay> { StateGraph::new("essays") }
/// # type PostgresSaver = MemorySaver;
/// #[tokio::main]
/// async fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
///     let essays = essays().compile()?.checkpointer(PostgresSaver::new());
///
///     // `essays work --register http://127.0.0.1:9070`, `essays work --help`
///     if let Some(exit) = superstep_restate::restate(&[&essays]).subcommand("work").await {
///         return Ok(exit);
///     }
///     // what the program does otherwise
/// #   Ok(std::process::ExitCode::SUCCESS)
/// }
/// ```
///
/// A program that is only an endpoint calls [`main`](Endpoint::main).
pub fn restate(graphs: &[&dyn ToAnyGraph]) -> Endpoint {
    let graphs = graphs.iter().map(|graph| graph.to_any_graph()).collect();
    Endpoint {
        graphs,
        token: None,
        is_insecure: false,
        spread: DEFAULT_SPREAD,
        max_concurrent_tasks: Semaphore::MAX_PERMITS,
        grace: DEFAULT_GRACE,
    }
}

/// An endpoint, before it is started. Made by [`restate`].
#[must_use = "it does nothing until it listens"]
pub struct Endpoint {
    graphs: Vec<AnyGraph>,
    pub(crate) token: Option<String>,
    is_insecure: bool,
    spread: usize,
    max_concurrent_tasks: usize,
    grace: Duration,
}

/// An error of starting an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// No graph was given.
    #[error("an endpoint needs a graph")]
    NoGraph,
    /// Two graphs have the same name.
    #[error("two graphs are named {name:?}: rename one of them")]
    SameName {
        /// The name.
        name: String,
    },
    /// The name of a graph is not valid for a service of Restate.
    #[error(
        "the graph {name:?} cannot be a service of Restate: rename it to letters, digits, \".\", \"_\" and \"-\", a letter first"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A graph keeps no threads, so a run cannot be continued.
    #[error("the graph {name:?} has no checkpointer: give it one with `.checkpointer(..)`")]
    NoCheckpointer {
        /// The name of the graph.
        name: String,
    },
    /// The address cannot be used.
    #[error("the endpoint cannot listen at {address}: {error}")]
    Address {
        /// The address.
        address: String,
        /// The error.
        error: io::Error,
    },
    /// Other machines could run the graphs without a token.
    #[error(
        "{address} can be reached from other machines: set a token (--token-file, or the variable SUPERSTEP_TOKEN), \
         or allow every client with --insecure"
    )]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// The token cannot be read.
    #[error("the token cannot be read: {reason}")]
    Token {
        /// The reason.
        reason: String,
    },
    /// The signals of the process cannot be received.
    #[error("the signals of the process cannot be received: {0}")]
    Signals(#[source] io::Error),
    /// Restate does not know the endpoint.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

impl Endpoint {
    /// Admits only requests with this token. [`Listening::register`] sends it to Restate.
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// Admits every client also at an address that other machines can reach.
    pub fn insecure(self) -> Self {
        Self { is_insecure: true, ..self }
    }

    /// Spreads the tasks of supersteps with at least this many tasks over the processes, each as a call of its own.
    /// Smaller supersteps run in one process. The default is 8.
    pub fn spread(self, tasks: usize) -> Self {
        Self { spread: tasks.max(1), ..self }
    }

    /// Limits the spread tasks that this process runs at the same time; further ones wait in it. By default they are
    /// limited only by the [`max_concurrency`](superstep_core::run::AnyGraph::max_concurrency_in_use) of their graph,
    /// which counts those of a superstep in all processes.
    ///
    /// With a `max_concurrency` of more than all processes run, the next task is in its process before one has ended.
    pub fn max_concurrent_tasks(self, tasks: usize) -> Self {
        Self { max_concurrent_tasks: tasks.clamp(1, Semaphore::MAX_PERMITS), ..self }
    }

    /// Sets the time that running supersteps have to finish when the endpoint is stopped. The default is ten seconds.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Returns the names of the graphs, for people.
    pub(crate) fn names(&self) -> String {
        self.graphs.iter().map(|graph| graph.name().as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Binds the endpoint to an address. It accepts connections once [`Listening::until`] is awaited.
    ///
    /// # Errors
    /// Fails if the graphs cannot be services of Restate, the address cannot be used, or other machines could reach
    /// it and no [token](Self::token) was set.
    pub async fn listen(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<Listening, EndpointError> {
        let stopping = CancellationToken::new();
        let version = self.version();
        let mut builder = restate_sdk::endpoint::Endpoint::builder();
        if self.graphs.is_empty() {
            return Err(EndpointError::NoGraph);
        }
        let mut names = std::collections::BTreeSet::new();
        let places = Arc::new(Semaphore::new(self.max_concurrent_tasks));
        for graph in self.graphs {
            let name = graph.name().as_str().to_owned();
            let work = work_name(&name);
            if graph.saver().is_none() {
                return Err(EndpointError::NoCheckpointer { name });
            }
            if let Some(name) = [&name, &work].into_iter().find(|name| !names.insert((*name).clone())) {
                return Err(EndpointError::SameName { name: name.clone() });
            }
            let (places, stopping) = (Arc::clone(&places), stopping.clone());
            let served =
                Served { graph, work, spread: self.spread, places, stops: Mutex::default(), stopping };
            let services = services(served).map_err(|_| EndpointError::Name { name })?;
            builder = services.into_iter().fold(builder, |builder, service| builder.bind(service));
        }
        let failed =
            |error| EndpointError::Address { address: format!("{address:?}").replace('"', ""), error };
        let listener = TcpListener::bind(&address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if self.token.is_none() && !self.is_insecure && !address.ip().to_canonical().is_loopback() {
            return Err(EndpointError::NoToken { address });
        }
        let endpoint = builder.build();
        Ok(Listening { listener, address, endpoint, version, token: self.token, stopping, grace: self.grace })
    }

    /// Returns a text that differs between versions of the graphs.
    fn version(&self) -> String {
        let mut version = format!("v{VERSION}");
        for graph in &self.graphs {
            let graph = graph.description();
            let (state, topology) =
                (graph.schema.fingerprint().to_string(), graph.topology_fingerprint.to_string());
            version += &format!("-{}{}", &state[..8], &topology[..8]);
        }
        version
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.names()).finish()
    }
}

/// An endpoint that is bound to its address. Made by [`Endpoint::listen`].
#[must_use = "it accepts no connection before `until` is awaited"]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    endpoint: restate_sdk::endpoint::Endpoint,
    version: String,
    token: Option<String>,
    stopping: CancellationToken,
    grace: Duration,
}

impl Listening {
    /// Returns the address, with the port that the system chose if the endpoint was bound to port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a future that announces the endpoint to Restate, whose admin API is at `admin`, such as
    /// `http://127.0.0.1:9070`. Restate calls the endpoint at once, so it must be accepting connections.
    ///
    /// `uri` is the address at which Restate reaches the endpoint, if that is not its own, such as that of a load
    /// balancer. The fingerprints of the graphs are added to it, so each version of the graphs is a deployment of its
    /// own.
    pub fn register(
        &self,
        admin: &str,
        uri: Option<&str>,
    ) -> impl Future<Output = Result<(), RegisterError>> + Send + use<> {
        let own = format!("http://{}", self.address);
        let uri = format!("{}/{}", uri.unwrap_or(&own).trim_end_matches('/'), self.version);
        let (admin, token) = (admin.to_owned(), self.token.clone());
        async move { register(&admin, &uri, token.as_deref()).await }
    }

    /// Handles the calls of Restate until `stop` is ready. Then running supersteps have the [grace](Endpoint::grace)
    /// to finish, and Restate continues the runs with another process, or with this program when it is started again.
    pub async fn until(self, stop: impl Future<Output = ()>) {
        let Self { listener, endpoint, token, stopping, grace, .. } = self;
        let token = token.map(|token| blake3::hash(token.as_bytes()));
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new()).max_concurrent_streams(CALLS);
        // Calls of a server that is gone are given up before it would start them elsewhere.
        http.keep_alive_interval(ALIVE).keep_alive_timeout(ALIVE);
        http.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let graceful = GracefulShutdown::new();
        // Dropping these ends the calls that have not ended.
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = stop.as_mut() => break,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let stream = match accepted.and_then(|(stream, _)| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (endpoint, token) = (endpoint.clone(), token);
            let service = service_fn(move |request| {
                let admitted = token.as_ref().is_none_or(|token| has_token(&request, token));
                ready(Ok::<_, Infallible>(if admitted {
                    endpoint.handle(request).map(Either::Left)
                } else {
                    unauthorized().map(Either::Right)
                }))
            });
            let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
            connections.spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection failed");
                }
            });
        }
        drop(listener);
        stopping.cancel();
        if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("calls are given up before they have ended");
        }
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Returns `true` if a request has this token. Digests are compared in constant time.
fn has_token(request: &Request<Incoming>, token: &blake3::Hash) -> bool {
    let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
    sent.is_some_and(|sent| blake3::hash(sent.as_bytes()) == *token)
}

fn unauthorized() -> Response<Full<Bytes>> {
    let text = "the token is missing or wrong: register the endpoint again";
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}
