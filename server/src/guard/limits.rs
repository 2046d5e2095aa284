//! Limits on requests and streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};
use superstep_core::state::{Excess, SizeLimits};

use crate::wire::Failure;

/// The limits of a server on requests and connections.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a body, in bytes: 413.
    pub body_bytes: usize,
    /// The time within which a body has to arrive: 408.
    pub body_time: Duration,
    /// The maximum size of the headers, names and values, in bytes: 431.
    pub head_bytes: usize,
    /// The time within which a head has to arrive. The connection is closed after it.
    pub head_time: Duration,
    /// The time within which a client has to read the next part of a response. The connection is closed after it.
    pub read_time: Duration,
    /// The maximum number of connections: 503.
    pub connections: usize,
    /// The maximum number of open streams of a client: 429.
    pub streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            body_time: Duration::from_secs(60),
            head_bytes: 32 << 10,
            head_time: Duration::from_secs(30),
            read_time: Duration::from_secs(30),
            connections: 1024,
            streams: 256,
        }
    }
}

impl Limits {
    /// Checks the size of the headers.
    pub(crate) fn check_head(&self, headers: &HeaderMap, target: &str) -> Result<(), Failure> {
        let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        match size + target.len() <= self.head_bytes {
            true => Ok(()),
            false => Err(Failure::new(431, format!("the headers have more than {} bytes", self.head_bytes))),
        }
    }
}

/// Reads a JSON body. An empty body is an empty object.
pub(crate) async fn read_json(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Value, Failure> {
    let body = read(headers, body, limits).await?;
    if body.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !is_json(kind) {
        return Err(Failure::new(415, "the body must have the content type application/json"));
    }
    parse(&body)
}

/// Parses a JSON text, whose depth and number of values are limited.
pub(crate) fn parse(body: &[u8]) -> Result<Value, Failure> {
    let invalid = || Failure::invalid("Invalid JSON in request body");
    let text = std::str::from_utf8(body).map_err(|_| invalid())?;
    match SizeLimits::default().check(text) {
        Ok(()) => {}
        Err(excess @ Excess::Depth(_)) => {
            return Err(Failure::invalid(format!("the body has {excess}")));
        }
        Err(excess) => return Err(Failure::new(413, format!("the body has {excess}"))),
    }
    serde_json::from_str(text).map_err(|_| invalid())
}

async fn read(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Failure> {
    let too_large = || Failure::new(413, format!("the body has more than {} bytes", limits.body_bytes));
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.body_bytes as u64) {
        return Err(too_large());
    }
    let read = Limited::new(body, limits.body_bytes).collect();
    match tokio::time::timeout(limits.body_time, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Failure::bad_request(format!("the body could not be read: {error}"))),
        Err(_) => {
            let seconds = limits.body_time.as_secs();
            Err(Failure::new(408, format!("the body did not arrive within {seconds} seconds")))
        }
    }
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// The open streams of each client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Arc<Mutex<HashMap<String, usize>>>);

/// A stream that counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Streams,
    client: String,
}

impl Streams {
    /// Counts a stream of a client.
    pub(crate) fn open(&self, client: &str, limits: &Limits) -> Result<OpenStream, Failure> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(client.to_owned()).or_default();
        if *count >= limits.streams {
            let detail =
                format!("the client has {} open streams, the maximum; close one first", limits.streams);
            return Err(Failure { retry_after: Some(1), ..Failure::new(429, detail) });
        }
        *count += 1;
        Ok(OpenStream { streams: self.clone(), client: client.to_owned() })
    }

    /// Returns the number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}
