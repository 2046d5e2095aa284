//! The announcement of an endpoint to Restate.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The time that Restate has to answer. It calls the endpoint before.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest answer, in bytes.
const ANSWER: usize = 1 << 20;

/// An error of registering an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The address of Restate is not one of HTTP.
    #[error(
        "{url:?} is not an address of Restate's admin API: write http://HOST:PORT, such as http://127.0.0.1:9070"
    )]
    Url {
        /// The address.
        url: String,
    },
    /// Restate cannot be reached.
    #[error(
        "Restate cannot be reached at {url}: {reason}; start it, or correct the address of its admin API"
    )]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// Restate has refused the endpoint.
    #[error("Restate at {url} has refused the endpoint {endpoint}: {reason}")]
    Refused {
        /// The address of Restate.
        url: String,
        /// The address of the endpoint.
        endpoint: String,
        /// The reason, in Restate's words.
        reason: String,
    },
}

/// Announces the endpoint at `endpoint` to the admin API at `url`. Restate sends `token` with each request, if there
/// is one.
pub(crate) async fn register(url: &str, endpoint: &str, token: Option<&str>) -> Result<(), RegisterError> {
    let refused = |reason| RegisterError::Refused { url: url.into(), endpoint: endpoint.into(), reason };
    let unreachable = |reason| RegisterError::Unreachable { url: url.into(), reason };
    let authority = authority(url).ok_or_else(|| RegisterError::Url { url: url.into() })?;
    let mut body = json!({ "uri": endpoint });
    if let Some(token) = token {
        body["additional_headers"] = json!({ "authorization": format!("Bearer {token}") });
    }
    let answer = tokio::time::timeout(PATIENCE, post(&authority, "/deployments", &body)).await;
    let (status, answer) = answer
        .map_err(|_| unreachable(format!("no answer for {} s", PATIENCE.as_secs())))?
        .map_err(|error| unreachable(error.to_string()))?;
    match status {
        200..300 => Ok(()),
        _ => Err(refused(match serde_json::from_slice::<Value>(&answer) {
            Ok(answer) if answer["message"].is_string() => {
                answer["message"].as_str().unwrap_or_default().into()
            }
            _ => format!("status {status}: {}", String::from_utf8_lossy(&answer)),
        })),
    }
}

/// Returns the host and the port of an address of HTTP without a path.
fn authority(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let has_no_path = matches!(url.path(), "" | "/") && url.query().is_none();
    let authority = url.authority().filter(|_| url.scheme_str() == Some("http") && has_no_path)?;
    Some(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)))
}

/// Sends a request, and returns the status and the body of the answer.
async fn post(
    authority: &str,
    path: &str,
    body: &Value,
) -> Result<(u16, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(path)
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))?;
    let answer = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), ANSWER).collect().await?;
        Ok((status, body.to_bytes()))
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        answer = answer.as_mut() => answer,
        ended = connection => {
            ended?;
            answer.await
        }
    }
}
