//! The requests that the server received, and the delivery of their answers.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use hyper::HeaderMap;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::watch;

use super::{Endpoint, HttpError};

/// A request that came to the server. Copies of it tell the same of the answer, also later.
#[derive(Clone)]
pub struct Received {
    request: Arc<Request>,
    delivery: watch::Sender<Delivery>,
}

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
    pub(super) json: Option<Value>,
    pub(super) came: Instant,
    pub(super) error: Option<HttpError>,
}

/// The delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The answer has not ended.
    Pending,
    /// All of it was sent.
    Delivered,
    /// The server closed the connection before the end of the answer, as configured.
    Cut,
    /// The client disconnected before the end of the answer.
    Abandoned,
}

/// The headers that identify a client, and are secret.
const SECRET_HEADERS: [&str; 2] = ["authorization", "x-api-key"];

impl Received {
    pub(super) fn new(request: Request) -> Self {
        Self { request: Arc::new(request), delivery: watch::Sender::new(Delivery::Pending) }
    }

    /// Returns the endpoint that was asked, if there is one at the path.
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.request.endpoint
    }

    /// Returns the method, as `POST`.
    pub fn method(&self) -> &str {
        &self.request.method
    }

    /// Returns the path, without the query.
    pub fn path(&self) -> &str {
        &self.request.path
    }

    /// Returns the query behind the path, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.request.query.as_deref()
    }

    /// Returns the value of a header, the first if there are several. Its name has no case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the names and values of all headers that are text.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.request.headers.iter();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// Returns the body; `null` if it is not JSON.
    pub fn json(&self) -> &Value {
        self.request.json.as_ref().unwrap_or(&Value::Null)
    }

    /// Returns the body as it came.
    pub fn bytes(&self) -> &[u8] {
        &self.request.bytes
    }

    /// Returns `true` if the request asks for a stream.
    pub fn wants_stream(&self) -> bool {
        self.json().get("stream") == Some(&Value::Bool(true))
    }

    /// Returns when it came, by tokio's clock.
    pub fn came_at(&self) -> Instant {
        self.request.came
    }

    /// Returns why it was not taken, unless it was.
    pub fn error(&self) -> Option<&HttpError> {
        self.request.error.as_ref()
    }

    /// Returns what has become of the answer so far.
    pub fn delivery(&self) -> Delivery {
        *self.delivery.borrow()
    }

    /// Returns `true` if the client disconnected before the end of the answer. The server notices it as soon as the
    /// connection is closed.
    pub fn was_abandoned(&self) -> bool {
        self.delivery() == Delivery::Abandoned
    }

    /// Waits until the answer is at its end, for whatever reason.
    pub async fn settled(&self) -> Delivery {
        let mut delivery = self.delivery.subscribe();
        let settled = delivery.wait_for(|delivery| *delivery != Delivery::Pending).await;
        *settled.expect("this request holds the other end")
    }

    /// Notes what became of the answer. What is known first counts.
    pub(super) fn settle(&self, outcome: Delivery) {
        self.delivery.send_if_modified(|delivery| {
            let is_news = *delivery == Delivery::Pending;
            if is_news {
                *delivery = outcome;
            }
            is_news
        });
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value)| (name, if SECRET_HEADERS.contains(&name) { "(secret)" } else { value });
        let headers: Vec<(&str, &str)> = self.headers().map(shown).collect();
        f.debug_struct("Received")
            .field("method", &self.request.method)
            .field("path", &self.request.path)
            .field("headers", &headers)
            .field("body", &String::from_utf8_lossy(&self.request.bytes))
            .field("error", &self.request.error)
            .field("delivery", &self.delivery())
            .finish_non_exhaustive()
    }
}
