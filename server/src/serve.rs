//! The one call that makes a server of a program's graphs.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
#[cfg(feature = "postgres")]
use superstep_core::checkpoint::Checkpointer;
use superstep_core::run::{AnyGraph, ToAnyGraph};
#[cfg(feature = "postgres")]
use superstep_core::store::Store;
use tokio::net::{TcpListener, ToSocketAddrs};

use crate::api::App;
use crate::counts::Counts;
use crate::guard::{Auth, Everyone, Guard, Hosts, Limits, Streams};
use crate::ingress::Ingress;
use crate::listen::Listening;
use crate::service::{Service, ServiceOptions};
use crate::webhook::Webhooks;

/// Makes a server for these graphs and flows, which clients of LangGraph's API use unchanged: `langgraph_sdk` for
/// Python, `@langchain/langgraph-sdk` for JavaScript, and the user interfaces that are made with them.
///
/// The graphs have names of their own and share one saver, whose file or database also holds the server's threads, runs
/// and assistants. Servers with one file or database share their runs.
///
/// ```no_run
/// # extern crate superstep_core as superstep;
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::Snapshot;
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Essay { draft: String }
/// # fn essays() -> StateGraph<Essay> { StateGraph::new("essays") }
/// #[tokio::main]
/// async fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
///     let essays = essays().compile()?.checkpointer(MemorySaver::new());
///
///     // `essays serve`, `essays serve --port 8123`, `essays serve --help`
///     if let Some(exit) = superstep_server::serve(&[&essays]).subcommand("serve").await {
///         return Ok(exit);
///     }
///     // what the program does otherwise
/// #   Ok(std::process::ExitCode::SUCCESS)
/// }
/// ```
///
/// A program that is only a server calls [`main`](Server::main). A program with a server of its own mounts the
/// [`router`](Server::router).
///
/// A server listens at an address of this machine alone, unless clients need a [token](Server::auth). The page
/// [Serving](https://github.com/superstep-rs/superstep/blob/main/docs/serving.md) has the clients and the endpoints.
pub fn serve(graphs: &[&dyn ToAnyGraph]) -> Server {
    let graphs = graphs.iter().map(|graph| graph.to_any_graph()).collect();
    Server {
        graphs,
        hosts: Hosts::default(),
        refused: None,
        auth: None,
        is_insecure: false,
        is_read_only: false,
        limits: Limits::default(),
        webhook_hosts: Vec::new(),
        ingress: None,
        workers: DEFAULT_WORKERS,
        lease: DEFAULT_LEASE,
        grace: DEFAULT_GRACE,
        #[cfg(feature = "studio")]
        studio: None,
    }
}

const DEFAULT_WORKERS: usize = 64;

const DEFAULT_LEASE: Duration = Duration::from_secs(10);

const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// A server of graphs, before it is started. Made by [`serve`].
#[must_use = "it does nothing until it listens"]
pub struct Server {
    graphs: Vec<AnyGraph>,
    hosts: Hosts,
    /// The error of the first host, origin or address that cannot be used.
    refused: Option<ServeError>,
    pub(crate) auth: Option<Arc<dyn Auth>>,
    is_insecure: bool,
    pub(crate) is_read_only: bool,
    limits: Limits,
    /// The hosts of webhooks that need not be on the public internet.
    webhook_hosts: Vec<String>,
    /// The ingress of Restate, if it drives the runs.
    ingress: Option<Ingress>,
    workers: usize,
    lease: Duration,
    pub(crate) grace: Duration,
    /// The token of the studio, if the server has one.
    #[cfg(feature = "studio")]
    studio: Option<crate::Token>,
}

/// An error of starting a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The graphs cannot be served together.
    #[error(transparent)]
    Graphs(#[from] crate::graphs::GraphsError),
    /// The address cannot be used.
    #[error("the server cannot listen at {address}: {error}{hint}", hint = hint(.error))]
    Address {
        /// The address.
        address: String,
        /// The error.
        error: std::io::Error,
    },
    /// Other machines could use the server without a token.
    #[error(
        "{address} can be reached from other machines: set a token (--token-file, or the variable SUPERSTEP_TOKEN), or allow every client with --insecure"
    )]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// The studio cannot show the graphs' file.
    #[cfg(feature = "studio")]
    #[error("the studio cannot be served: {reason}")]
    Studio {
        /// The reason.
        reason: String,
    },
    /// A host or an origin has a wildcard. All pages of the internet could then use the server from a browser.
    #[error("{name:?} has a wildcard: allow each host and origin by its name")]
    Wildcard {
        /// The host or origin.
        name: String,
    },
    /// A text that names no host was allowed.
    #[error("{host:?} is not a host: write a name or an address, with :PORT to allow only that port")]
    Host {
        /// The text.
        host: String,
    },
    /// A text that is not the origin of a page was allowed.
    #[error(
        "{origin:?} is not an origin: write it with its scheme and without a path, as https://app.example.org"
    )]
    Origin {
        /// The text.
        origin: String,
    },
    /// A text that names no host was allowed for webhooks.
    #[error(
        "{host:?} is not a host for webhooks: write a name or an address, with :PORT to allow only that port"
    )]
    WebhookHost {
        /// The text.
        host: String,
    },
    /// The address of Restate cannot be used.
    #[cfg(feature = "restate")]
    #[error("{url:?} is not an address of Restate's ingress: {reason}")]
    Restate {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
}

fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => "; stop the other program, or choose another port with --port",
        std::io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need privileges, choose another with --port"
        }
        _ => "",
    }
}

impl Server {
    /// Admits the clients that this authenticates: those with a [`Token`](crate::Token), or as the program decides.
    /// The last call wins, and on a [command line](Self::run) it wins over a token of the environment.
    pub fn auth(self, auth: impl Auth) -> Self {
        Self { auth: Some(Arc::new(auth)), ..self }
    }

    /// Admits every client also at an address that other machines can reach.
    pub fn insecure(self) -> Self {
        Self { is_insecure: true, ..self }
    }

    /// Only reads: requests that would write get status 403, no run is driven, and the server stores no rows of its own.
    /// Assistants and threads without rows are shown as if they had some.
    ///
    /// The graphs may be [without code](superstep_core::run::AnyGraph::stored), and their saver may refuse to write.
    pub fn read_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// Allows requests that name this host, `name` or `name:port`, beside the names and addresses of this machine.
    pub fn allow_host(mut self, host: impl AsRef<str>) -> Self {
        let host = host.as_ref();
        let is_host = self.hosts.allow_host(host);
        self.check(host, is_host, |host| ServeError::Host { host });
        self
    }

    /// Allows browsers to use the server from pages of this origin, such as `https://app.example.org`. Pages of this
    /// machine are always allowed.
    pub fn allow_origin(mut self, origin: impl AsRef<str>) -> Self {
        let origin = origin.as_ref();
        let is_origin = self.hosts.allow_origin(origin);
        self.check(origin, is_origin, |origin| ServeError::Origin { origin });
        self
    }

    /// Allows webhooks at this host, `name` or `name:port`, wherever it is. Other hosts are called only at addresses of
    /// the public internet.
    #[cfg(feature = "webhooks")]
    pub fn allow_webhook_host(mut self, host: impl AsRef<str>) -> Self {
        self.webhook_hosts.push(host.as_ref().to_owned());
        self
    }

    /// Has Restate drive the runs, whose ingress is at this address, such as `http://127.0.0.1:8080`. The programs that it
    /// calls have the same graphs, and the same database or file. The server keeps the runs in its queue until then, and
    /// reads their supersteps from the store.
    #[cfg(feature = "restate")]
    pub fn restate(mut self, url: impl AsRef<str>) -> Self {
        let url = url.as_ref();
        match Ingress::new(url) {
            Ok(ingress) => self.ingress = Some(ingress),
            Err(reason) => {
                self.refused.get_or_insert(ServeError::Restate { url: url.to_owned(), reason });
            }
        }
        self
    }

    /// Keeps the error of a host or an origin, for the start of the server.
    fn check(&mut self, name: &str, is_valid: bool, error: impl FnOnce(String) -> ServeError) {
        let error = match name.contains('*') {
            true => ServeError::Wildcard { name: name.to_owned() },
            false if is_valid => return,
            false => error(name.to_owned()),
        };
        self.refused.get_or_insert(error);
    }

    /// Sets the maximum number of runs at the same time. The default is 64.
    pub fn workers(self, count: usize) -> Self {
        Self { workers: count, ..self }
    }

    /// Sets the time after which another server continues the runs of one that was killed. A server extends its claim to
    /// a run after each third of it. The default is ten seconds.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Sets the time that running supersteps have to finish when the server is stopped. The default is ten seconds.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Also serves the studio at `/studio`: a page on the file of the graphs, for all clients that send this token,
    /// whatever [authentication](Self::auth) the server has for others. The page of a [read-only](Self::read_only) server
    /// only reads.
    #[cfg(feature = "studio")]
    pub fn studio(self, token: crate::Token) -> Self {
        Self { studio: Some(token), ..self }
    }

    /// Has the graphs keep their threads in `saver`, and those that have a store in `store`.
    #[cfg(feature = "postgres")]
    pub(crate) fn on(mut self, saver: Arc<dyn Checkpointer>, store: Store) -> Self {
        let on = |graph: AnyGraph| {
            let graph = graph.shared_checkpointer(Arc::clone(&saver));
            if graph.store_in_use().is_some() { graph.store(store.clone()) } else { graph }
        };
        self.graphs = self.graphs.into_iter().map(on).collect();
        self
    }

    /// Changes the limits on requests and connections.
    ///
    /// ```
    /// # fn example(server: superstep_server::Server) -> superstep_server::Server {
    /// server.limits(|limits| limits.connections = 10_000)
    /// # }
    /// ```
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Binds the server to an address. It accepts connections once [`Listening::until`] is awaited.
    ///
    /// # Errors
    /// Fails if the graphs cannot be served, the address cannot be used, or other machines could reach it and no
    /// [authentication](Self::auth) was set.
    pub async fn listen(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<Listening, ServeError> {
        let (grace, is_open) = (self.grace, self.auth.is_none() && !self.is_insecure);
        let (router, workers, guard) = self.build()?;
        let failed = |error| ServeError::Address { address: format!("{address:?}").replace('"', ""), error };
        let listener = TcpListener::bind(&address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if is_open && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::NoToken { address });
        }
        Ok(Listening { listener, address, router, guard, workers: Some(workers), grace })
    }

    /// Makes a router for a program that has a server already, and the workers that drive the runs. Mount it at the
    /// root: clients follow absolute paths.
    ///
    /// The router checks hosts, origins and tokens as the server does; it knows no addresses of clients, and limits on
    /// connections are the other server's.
    ///
    /// # Errors
    /// Fails if the graphs cannot be served.
    pub fn router(self) -> Result<(Router, Workers), ServeError> {
        self.build().map(|(router, workers, _)| (router, workers))
    }

    /// Returns the names of the graphs, for people.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.graphs.iter().map(|graph| graph.name().as_str()).collect();
        names.join(", ")
    }

    fn build(self) -> Result<(Router, Workers, Arc<Guard>), ServeError> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        #[cfg(feature = "studio")]
        let graphs = self.graphs.clone();
        let webhooks = Webhooks::new(&self.webhook_hosts).map_err(|host| ServeError::WebhookHost { host })?;
        let (workers, lease, is_read_only) = (self.workers, self.lease, self.is_read_only);
        let ingress = self.ingress;
        let options =
            ServiceOptions { workers, lease, webhooks, ingress, is_read_only, ..Default::default() };
        let service = Service::new(self.graphs, options)?;
        let guard = Arc::new(Guard {
            hosts: self.hosts,
            auth: self.auth.unwrap_or_else(|| Arc::new(Everyone)),
            limits: self.limits,
            streams: Streams::default(),
            counts: Counts::default(),
            is_read_only,
        });
        let router = App::new(service.clone(), Arc::clone(&guard)).router();
        #[cfg(feature = "studio")]
        let router = match self.studio {
            Some(token) => router.merge(studio(graphs, &service, token, &guard)?),
            None => router,
        };
        Ok((router, Workers { service }, guard))
    }
}

/// Returns the router of the studio of a server.
#[cfg(feature = "studio")]
fn studio(
    graphs: Vec<AnyGraph>,
    service: &Service,
    token: crate::Token,
    guard: &Guard,
) -> Result<Router, ServeError> {
    let failed = |refusal: superstep_cli::Refusal| ServeError::Studio { reason: refusal.text };
    let documents = superstep_cli::Documents::of_graphs(&graphs).map_err(failed)?;
    let program = crate::studio::Program { graphs, service: service.clone() };
    let program = (!guard.is_read_only).then_some(program);
    let pages = crate::studio::guarded(documents, program, token, guard.hosts.clone(), guard.limits);
    Ok(pages.map_err(failed)?.0)
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graphs = self.graphs.iter().map(|graph| graph.name().as_str());
        f.debug_set().entries(graphs).finish()
    }
}

/// The workers of a server, which drive its runs.
#[derive(Clone)]
pub struct Workers {
    pub(crate) service: Service,
}

impl Workers {
    /// Starts to claim runs, on the current tokio runtime.
    pub fn start(&self) {
        self.service.start();
    }

    /// Claims no further run, ends the streams, lets running supersteps finish for this time, and gives unfinished
    /// runs back.
    pub async fn shutdown(&self, grace: Duration) {
        self.service.shutdown(grace).await;
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}
