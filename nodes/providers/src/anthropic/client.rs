//! The client of Anthropic's Messages protocol.

use std::fmt;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use superstep_nodes::model::{ChatModel, ModelError, ModelEvent, ModelRequest};

use super::reader::MessageReader;
use super::request::{Caching, RequestForm, Thinking};
use crate::base_url::BaseUrl;
use crate::reply_stream::reply_stream;
use crate::transport::{Call, Transport, header, secret_header};
use crate::{ApiKey, ProviderError, TransportOptions};

/// A model behind Anthropic's Messages protocol: Anthropic's own, or one of a server that speaks it.
///
/// ```no_run
/// use superstep_nodes::message::Message;
/// use superstep_nodes::model::{ChatModel, ModelRequest, Purpose};
/// use superstep_providers::Anthropic;
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Anthropic::from_env("claude-sonnet-4-5")?;
/// let question = [Message::human("m1", "What is a superstep?")];
/// println!("{}", model.complete(ModelRequest::new(Purpose::Agent, question)).await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Anthropic {
    transport: Transport,
    key: ApiKey,
    base: BaseUrl,
    headers: HeaderMap,
    form: RequestForm,
}

impl Anthropic {
    /// The base URL of Anthropic.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// The environment variable of the key.
    pub const KEY_VARIABLE: &'static str = "ANTHROPIC_API_KEY";

    /// The environment variable of another server's address.
    pub const BASE_URL_VARIABLE: &'static str = "ANTHROPIC_BASE_URL";

    /// The version of the protocol.
    const VERSION: &'static str = "2023-06-01";

    /// Makes a client of the model of this name, with the usual [`TransportOptions`].
    ///
    /// # Errors
    /// When the key cannot be one, or connections cannot be encrypted.
    pub fn new(model: impl Into<String>, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        let key = key.into();
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", secret_header(key.expose())?);
        headers.insert("anthropic-version", HeaderValue::from_static(Self::VERSION));
        Ok(Self {
            transport: Transport::new(&TransportOptions::default())?,
            key,
            base: BaseUrl::parse(Self::BASE_URL)?,
            headers,
            form: RequestForm::new(model.into()),
        })
    }

    /// Makes a client with the key of `ANTHROPIC_API_KEY`, of the server of `ANTHROPIC_BASE_URL` if that is set.
    ///
    /// # Errors
    /// When there is no key, and as [`new`](Self::new) and [`base_url`](Self::base_url).
    pub fn from_env(model: impl Into<String>) -> Result<Self, ProviderError> {
        let missing = ProviderError::NoKey { variable: Self::KEY_VARIABLE };
        let client = Self::new(model, ApiKey::from_env(Self::KEY_VARIABLE).ok_or(missing)?)?;
        match std::env::var(Self::BASE_URL_VARIABLE) {
            Ok(url) if !url.trim().is_empty() => client.base_url(url),
            _ => Ok(client),
        }
    }

    /// Talks to another server: what stands before `/v1/messages`.
    ///
    /// # Errors
    /// If it is not the address of a server.
    pub fn base_url(mut self, url: impl AsRef<str>) -> Result<Self, ProviderError> {
        self.base = BaseUrl::parse(url.as_ref())?;
        Ok(self)
    }

    /// Reaches the server in another way.
    ///
    /// # Errors
    /// If the proxy or the certificates are not usable.
    pub fn transport(mut self, options: &TransportOptions) -> Result<Self, ProviderError> {
        self.transport = Transport::new(options)?;
        Ok(self)
    }

    /// Sends a header with each request, such as `anthropic-beta`.
    ///
    /// # Errors
    /// If its name or value is not valid in a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        let (name, value): (HeaderName, HeaderValue) = header(name, value)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Lets the model say so many tokens where the request does not say; 8,192 otherwise.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.form.max_output_tokens = tokens;
        self
    }

    /// Lets the model think before it speaks.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.form.thinking = thinking;
        self
    }

    /// Says what the provider keeps of a conversation, so that it is not read again each time.
    #[must_use]
    pub fn caching(mut self, caching: Caching) -> Self {
        self.form.caching = caching;
        self
    }

    /// Asks the provider how many tokens a request has, without having it answered.
    ///
    /// # Errors
    /// As a call of the model.
    pub async fn count_tokens(&self, request: &ModelRequest) -> Result<u64, ModelError> {
        let call = self.call("v1/messages/count_tokens", self.form.counted(request));
        let answer = self.transport.post_for_json(call).await?;
        let missing =
            || ModelError::ServerFailed { reason: "its answer has no number `input_tokens`".into() };
        answer["input_tokens"].as_u64().ok_or_else(missing)
    }

    fn call(&self, path: &str, body: Value) -> Call {
        let headers = self.headers.clone();
        Call { url: self.base.join(path), headers, body, key: Some(self.key.clone()) }
    }
}

impl ChatModel for Anthropic {
    fn name(&self) -> &str {
        &self.form.model
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = self.call("v1/messages", self.form.streamed(&request));
        let model = self.form.model.clone();
        reply_stream(self.transport.clone(), call, move |request_id| MessageReader::new(model, request_id))
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("model", &self.form.model)
            .field("base_url", &self.base)
            .finish_non_exhaustive()
    }
}
