//! The client of the Responses protocol.

use std::fmt;

use futures_util::stream::BoxStream;
use superstep_nodes::model::{ChatModel, ModelError, ModelEvent, ModelRequest};

use super::reader::ItemReader;
use super::request::{Reasoning, RequestForm};
use crate::openai::{OpenAiServer, Strictness};
use crate::reply_stream::reply_stream;
use crate::{ApiKey, ProviderError, TransportOptions};

/// A model behind OpenAI's Responses protocol, in which a model gets its thoughts back.
///
/// The provider keeps nothing of a conversation: each request has all of it, with the thoughts sealed.
///
/// ```no_run
/// use superstep_nodes::message::Message;
/// use superstep_nodes::model::{ChatModel, ModelRequest, Purpose};
/// use superstep_providers::{OpenAiResponses, Reasoning};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAiResponses::from_env("gpt-5")?.reasoning(Reasoning::Summarised);
/// let question = [Message::human("m1", "What is a superstep?")];
/// println!("{}", model.complete(ModelRequest::new(Purpose::Agent, question)).await?.text());
/// # Ok(())
/// # }
/// ```
///
/// The protocol has no texts to stop at: those of a request are left out.
#[derive(Clone)]
pub struct OpenAiResponses {
    server: OpenAiServer,
    form: RequestForm,
}

impl OpenAiResponses {
    /// The base URL of OpenAI.
    pub const BASE_URL: &'static str = OpenAiServer::BASE_URL;

    /// The environment variable of the key.
    pub const KEY_VARIABLE: &'static str = OpenAiServer::KEY_VARIABLE;

    /// The environment variable of another server's address.
    pub const BASE_URL_VARIABLE: &'static str = OpenAiServer::BASE_URL_VARIABLE;

    /// Makes a client of the model of OpenAI of this name, with the usual [`TransportOptions`].
    ///
    /// # Errors
    /// When the key cannot be one, or connections cannot be encrypted.
    pub fn new(model: impl Into<String>, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        let server = OpenAiServer::open(Self::BASE_URL)?.key(key.into())?;
        Ok(Self { server, form: RequestForm::new(model.into()) })
    }

    /// Makes a client with the key of `OPENAI_API_KEY`, of the server of `OPENAI_BASE_URL` if that is set. It says the
    /// organisation of `OPENAI_ORG_ID` and the project of `OPENAI_PROJECT_ID`, if there are any.
    ///
    /// # Errors
    /// When there is neither a key nor another server, and as [`new`](Self::new) and [`base_url`](Self::base_url).
    pub fn from_env(model: impl Into<String>) -> Result<Self, ProviderError> {
        Ok(Self { server: OpenAiServer::from_env()?, form: RequestForm::new(model.into()) })
    }

    /// Makes a client of a server that speaks the protocol too: what stands before `/responses`. It sends no
    /// [`key`](Self::key).
    ///
    /// # Errors
    /// If it is not the address of a server.
    pub fn compatible(model: impl Into<String>, base_url: impl AsRef<str>) -> Result<Self, ProviderError> {
        Ok(Self { server: OpenAiServer::open(base_url.as_ref())?, form: RequestForm::new(model.into()) })
    }

    /// Sends a key with each request.
    ///
    /// # Errors
    /// If it is not valid in a header.
    pub fn key(mut self, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        self.server = self.server.key(key.into())?;
        Ok(self)
    }

    /// Talks to another server: what stands before `/responses`.
    ///
    /// # Errors
    /// If it is not the address of a server.
    pub fn base_url(mut self, url: impl AsRef<str>) -> Result<Self, ProviderError> {
        self.server = self.server.at(url.as_ref())?;
        Ok(self)
    }

    /// Reaches the server in another way.
    ///
    /// # Errors
    /// If the proxy or the certificates are not usable.
    pub fn transport(mut self, options: &TransportOptions) -> Result<Self, ProviderError> {
        self.server = self.server.reached(options)?;
        Ok(self)
    }

    /// Sends a header with each request.
    ///
    /// # Errors
    /// If its name or value is not valid in a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        self.server = self.server.header(name, value)?;
        Ok(self)
    }

    /// Says what is asked of the model's thoughts; otherwise that is as models of its name take it.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.form.reasoning = reasoning;
        self
    }

    /// Shows the model the schema of an output and does not hold it to that.
    #[must_use]
    pub fn lenient_output(mut self) -> Self {
        self.form.strictness = Strictness::Lenient;
        self
    }

    /// Says what the requests of one user or one kind have in common, so that the provider finds more of them in its
    /// cache.
    #[must_use]
    pub fn prompt_cache_key(mut self, key: impl Into<String>) -> Self {
        self.form.cache_key = Some(key.into());
        self
    }

    /// Asks the provider how many tokens a request has, without having it answered.
    ///
    /// # Errors
    /// As a call of the model.
    pub async fn count_tokens(&self, request: &ModelRequest) -> Result<u64, ModelError> {
        let call = self.server.call("responses/input_tokens", self.form.counted(request));
        let answer = self.server.transport.post_for_json(call).await?;
        let missing =
            || ModelError::ServerFailed { reason: "its answer has no number `input_tokens`".into() };
        answer["input_tokens"].as_u64().ok_or_else(missing)
    }
}

impl ChatModel for OpenAiResponses {
    fn name(&self) -> &str {
        &self.form.model
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = self.server.call("responses", self.form.streamed(&request));
        let model = self.form.model.clone();
        let transport = self.server.transport.clone();
        reply_stream(transport, call, move |request_id| ItemReader::new(model, request_id))
    }
}

impl fmt::Debug for OpenAiResponses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiResponses")
            .field("model", &self.form.model)
            .field("base_url", &self.server)
            .finish_non_exhaustive()
    }
}
