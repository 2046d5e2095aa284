//! Calls over HTTP.

use std::error::Error;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::Value;
use superstep_nodes::__private::{TlsError, tls};
use superstep_nodes::model::ModelError;

use super::http_error::HttpError;
use super::{ApiKey, ProviderError, TransportOptions};

/// The largest answer, and the largest event of a stream, that is taken in.
pub(super) const MOST_BYTES: usize = 32 << 20;

/// Calls providers over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
}

/// One call of a provider.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
    /// The key, which no error may show.
    pub(super) key: Option<ApiKey>,
}

impl Transport {
    pub(super) fn new(options: &TransportOptions) -> Result<Self, ProviderError> {
        let mut client = reqwest::Client::builder()
            .user_agent(concat!("superstep/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(options.connect_timeout)
            .read_timeout(options.idle_timeout)
            // A key is for the server that it was given for.
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls(&options.certificates).map_err(no_tls)?);
        if let Some(proxy) = &options.proxy {
            let refused = |_| ProviderError::Proxy;
            client = client.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(refused)?);
        }
        let client = client.build().map_err(|error| ProviderError::Tls { reason: reason(&error) })?;
        Ok(Self { client })
    }

    /// Makes a call; returns the answer when its head is there and says that all is well.
    pub(super) async fn post(&self, call: Call) -> Result<reqwest::Response, ModelError> {
        let Call { url, headers, body, key } = call;
        let sent = self.client.post(url).headers(headers).header(CONTENT_TYPE, "application/json");
        let answer = sent.body(body.to_string()).send().await.map_err(unreachable)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = text(answer).await?;
        Err(HttpError::of_answer(status, &headers, &text).into_error(key.as_ref()))
    }

    /// Makes a call whose answer is one JSON value.
    pub(super) async fn post_for_json(&self, call: Call) -> Result<Value, ModelError> {
        let text = text(self.post(call).await?).await?;
        serde_json::from_str(&text)
            .map_err(|error| ModelError::ServerFailed { reason: format!("its answer is not JSON: {error}") })
    }
}

/// The text of an answer, which is no longer than any that makes sense.
pub(super) async fn text(mut answer: reqwest::Response) -> Result<String, ModelError> {
    let mut bytes = Vec::new();
    while let Some(more) = answer.chunk().await.map_err(unreachable)? {
        bytes.extend_from_slice(&more);
        if bytes.len() > MOST_BYTES {
            let reason = format!("its answer has more than {MOST_BYTES} bytes");
            return Err(ModelError::ServerFailed { reason });
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes a header of a value that may hold a secret.
pub(super) fn secret_header(value: &str) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| ProviderError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Makes a header that a user has asked for.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ProviderError> {
    let refused = || ProviderError::Header { name: name.to_owned() };
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
    let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// The error of a call that did not come through, or broke. Addresses may hold names and passwords, so none is shown.
pub(super) fn unreachable(error: reqwest::Error) -> ModelError {
    ModelError::Unreachable { reason: reason(&error.without_url()) }
}

fn no_tls(error: TlsError) -> ProviderError {
    match error {
        TlsError::Certificates(reason) => ProviderError::Certificates { reason },
        TlsError::SetUp(reason) => ProviderError::Tls { reason },
    }
}

/// The error with what caused it.
fn reason(error: &dyn Error) -> String {
    let mut reason = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        reason.push_str(": ");
        reason.push_str(&cause.to_string());
        next = cause.source();
    }
    reason
}
