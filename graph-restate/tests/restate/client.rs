//! A client of HTTP.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Answer = Result<(u16, Value), Error>;

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

/// Posts JSON, and reads the response until it contains a text.
pub(crate) async fn post_until(url: &str, body: &Value, text: &str) -> Result<(), Error> {
    let (response, _connection) = begin(Method::POST, url, body, None).await?;
    let (mut body, mut read) = (response.into_body(), String::new());
    while !read.contains(text) {
        let frame = body.frame().await.ok_or_else(|| format!("the stream has ended: {read}"))??;
        read += &String::from_utf8_lossy(frame.data_ref().map_or(&[], |data| data));
    }
    Ok(())
}

async fn send(method: Method, url: &str, body: &Value, key: Option<&str>) -> Answer {
    let (answer, _connection) = begin(method, url, body, key).await?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await?.to_bytes();
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    Ok((status, body))
}

/// Sends a request, and returns the response with its connection.
async fn begin(
    method: Method,
    url: &str,
    body: &Value,
    key: Option<&str>,
) -> Result<(Response<Incoming>, JoinSet<hyper::Result<()>>), Error> {
    let url: Uri = url.parse()?;
    let authority = url.authority().ok_or("an address without a host")?.as_str();
    let stream = TcpStream::connect(authority).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = JoinSet::from_iter([connection]);
    let path = url.path_and_query().ok_or("an address without a path")?.as_str();
    let mut request = Request::builder().method(method).uri(path).header("host", authority);
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
    Ok((sender.send_request(request.body(Full::new(body))?).await?, connection))
}
