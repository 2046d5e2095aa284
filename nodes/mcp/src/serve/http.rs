//! A server of graphs over HTTP.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use superstep_core::run::CancellationToken;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{McpService, ServeError};
use crate::BearerToken;

/// The path of the server, below its address.
const PATH: &str = "/mcp";

/// The time after which a client without any traffic is taken for gone.
const IDLE: Duration = Duration::from_secs(3600);

/// The maximum number of open connections. Further clients wait until a connection ends.
const MOST_CONNECTIONS: usize = 256;

/// The time to wait before the next connection is accepted when the program has no resources for one more.
const PAUSE: Duration = Duration::from_secs(1);

/// The clients that may use a server over HTTP.
#[derive(Clone)]
pub struct HttpAccess {
    token: Option<BearerToken>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl HttpAccess {
    /// Admits clients that have this token.
    pub fn with_token(token: BearerToken) -> Self {
        Self { token: Some(token), ..Self::everybody() }
    }

    /// Everybody who reaches the server: for an address of this machine (`127.0.0.1`, `::1`) that its users may share.
    /// At another one it is not served.
    pub fn everybody() -> Self {
        Self { token: None, hosts: Vec::new(), origins: Vec::new() }
    }

    /// Lets the server be asked by this name or `name:port`, too, beside those of this machine. A page in a browser
    /// that gives itself another name for this machine is refused that way.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Lets pages of this origin, such as `https://app.example.org:443`, ask the server from a browser. No others may.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    fn admits(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else { return true };
        let said = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let said = said.and_then(|value| value.split_once(' '));
        let Some((_, said)) = said.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return false;
        };
        // Digests take the same time to compare wherever they differ.
        blake3::hash(said.trim().as_bytes()) == blake3::hash(token.expose().as_bytes())
    }
}

impl fmt::Debug for HttpAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAccess")
            .field("token", &self.token)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish()
    }
}

impl McpService {
    /// Serves clients over streamable HTTP, at the path `/mcp`, until this is dropped: their connections are then
    /// closed and their runs cancelled. A client without any traffic for an hour is taken for gone, and its runs are
    /// cancelled, too. There is no TLS: on a network it takes a proxy that has it.
    ///
    /// 256 connections may be open, and others wait. One that cannot be taken, as when the program has too many open
    /// files, does not end this.
    ///
    /// # Errors
    ///
    /// Fails if [everybody](HttpAccess::everybody) may ask and the listener is not at an address of this machine alone.
    pub async fn serve_http(self, listener: TcpListener, access: HttpAccess) -> Result<(), ServeError> {
        if access.token.is_none() {
            let address = listener.local_addr();
            let address = address.map_err(|error| ServeError::Connection { reason: error.to_string() })?;
            if !address.ip().to_canonical().is_loopback() {
                return Err(ServeError::NoToken { address: address.to_string() });
            }
        }
        let end = CancellationToken::new();
        let _ends = end.clone().drop_guard();
        let mut config = StreamableHttpServerConfig::default();
        config.allowed_hosts.extend(access.hosts.iter().cloned());
        config.allowed_origins.extend(access.origins.iter().cloned());
        config.cancellation_token = end;
        let config = config.enforce_origin_validation();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let service = StreamableHttpService::new(move || Ok(self.clone()), Arc::new(sessions), config);
        let access = Arc::new(access);
        let mut connections = JoinSet::new();
        loop {
            let stream = tokio::select! {
                accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                    Ok((stream, _)) => stream,
                    // This client went away; others come.
                    Err(error) if has_gone(&error) => continue,
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
                Some(_) = connections.join_next() => continue,
            };
            let (service, access) = (service.clone(), Arc::clone(&access));
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, access) = (service.clone(), Arc::clone(&access));
                async move {
                    if request.uri().path() != PATH {
                        return Ok::<_, Infallible>(refused(StatusCode::NOT_FOUND, "the server is at /mcp"));
                    }
                    if !access.admits(&request) {
                        let mut refusal = refused(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
                        refusal
                            .headers_mut()
                            .insert(WWW_AUTHENTICATE, "Bearer".parse().expect("it is a header"));
                        return Ok(refusal);
                    }
                    Ok(service.handle(request).await)
                }
            });
            let connection =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer);
            connections.spawn(async move {
                // A client that breaks off is no error of the server's.
                drop(connection.await);
            });
        }
    }
}

/// Returns `true` if an error concerns one connection only, and says nothing of the next.
fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

fn refused(status: StatusCode, reason: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(reason.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
