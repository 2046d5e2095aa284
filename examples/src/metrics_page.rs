//! Metrics for Prometheus, at `/metrics` on this machine.

use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use superstep::nodes::telemetry::Metric;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The interval of histogram upkeep, without which records would pile up while the page is not read.
const UPKEEP: Duration = Duration::from_secs(5);

/// A page with the metrics of this process. It is served until this is dropped.
#[derive(Debug)]
pub struct MetricsPage {
    address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl MetricsPage {
    /// Returns the address of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

impl Drop for MetricsPage {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Records the metrics of this process from now on, and serves them on this port of 127.0.0.1; 0 for any port.
///
/// # Errors
/// If the port cannot be listened on. A process has one recorder of metrics, so a second call fails.
pub async fn serve(port: u16) -> Result<MetricsPage, Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    let mut builder = PrometheusBuilder::new();
    for metric in Metric::ALL.iter().filter(|metric| !metric.buckets.is_empty()) {
        builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets)?;
    }
    let recorded = builder.install_recorder()?;
    Metric::describe_all();
    let upkeep = tokio::spawn(keep_up(recorded.clone()));
    Ok(MetricsPage { address, tasks: [tokio::spawn(listen(listener, recorded)), upkeep] })
}

async fn keep_up(recorded: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        recorded.run_upkeep();
    }
}

async fn listen(listener: TcpListener, recorded: PrometheusHandle) {
    loop {
        // A connection that closes before it is accepted does not stop the server.
        let Ok((connection, _)) = listener.accept().await else { continue };
        let recorded = recorded.clone();
        tokio::spawn(async move {
            let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request, &recorded)));
            // A client that disconnects ends only its own connection.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

fn answer(request: &Request<Incoming>, recorded: &PrometheusHandle) -> Response<Full<Bytes>> {
    if !is_for_this_machine(request) {
        return response(StatusCode::FORBIDDEN, "ask for 127.0.0.1".to_owned());
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => response(StatusCode::OK, recorded.render()),
        _ => response(StatusCode::NOT_FOUND, "there is /metrics\n".to_owned()),
    }
}

/// Returns `true` if the request names this machine. Otherwise a web page could read the metrics under another name.
fn is_for_this_machine(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost")
}

fn response(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = "text/plain; version=0.0.4; charset=utf-8".parse().expect("a constant is a header's value");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
