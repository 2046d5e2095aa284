//! A client of HTTP.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

type Answer = Result<(u16, Value), Box<dyn std::error::Error + Send + Sync>>;

pub(crate) async fn get(url: &str) -> Answer {
    send(Method::GET, url, &Value::Null, None).await
}

/// Posts JSON; `Null` stands for no body.
pub(crate) async fn post(url: &str, body: &Value) -> Answer {
    send(Method::POST, url, body, None).await
}

/// Posts JSON with a key by which a repetition is known.
pub(crate) async fn post_once(url: &str, body: &Value, key: &str) -> Answer {
    send(Method::POST, url, body, Some(key)).await
}

async fn send(method: Method, url: &str, body: &Value, key: Option<&str>) -> Answer {
    let url: Uri = url.parse()?;
    let authority = url.authority().ok_or("an address without a host")?.as_str();
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(url.path()).header("host", authority);
    request = request.header("accept", "application/json");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let body = match body {
        Value::Null => Bytes::new(),
        body => {
            request = request.header("content-type", "application/json");
            Bytes::from(body.to_string())
        }
    };
    let answer = sender.send_request(request.body(Full::new(body))?).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    connection.abort();
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    Ok((status, body))
}
