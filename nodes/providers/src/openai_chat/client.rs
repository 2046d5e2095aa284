//! The client of the Chat Completions protocol.

use std::fmt;

use futures_util::stream::BoxStream;
use superstep_nodes::model::{ChatModel, ModelError, ModelEvent, ModelRequest};

use super::options::{InstructionRole, OutputLimit, ollama_url};
use super::reader::ChunkReader;
use super::request::RequestForm;
use crate::openai::{OpenAiServer, Strictness};
use crate::reply_stream::reply_stream;
use crate::{ApiKey, ProviderError, TransportOptions};

/// A model behind the Chat Completions protocol: one of OpenAI, or of the many servers that are compatible with it,
/// such as Ollama, vLLM, llama.cpp and LM Studio.
///
/// ```no_run
/// use superstep_nodes::message::Message;
/// use superstep_nodes::model::{ChatModel, ModelRequest, Purpose};
/// use superstep_providers::OpenAiChat;
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let openai = OpenAiChat::from_env("gpt-5")?;
/// let ollama = OpenAiChat::ollama("qwen3")?;
/// let company = OpenAiChat::compatible("llama", "https://models.example.org/v1")?.key("secret")?;
///
/// for model in [openai, ollama, company] {
///     let question = [Message::human("m1", "What is a superstep?")];
///     println!("{}", model.complete(ModelRequest::new(Purpose::Agent, question)).await?.text());
/// }
/// # Ok(())
/// # }
/// ```
///
/// A tool call is complete as soon as its input is closed and another call has begun, or else with the reply.
#[derive(Clone)]
pub struct OpenAiChat {
    server: OpenAiServer,
    form: RequestForm,
}

impl OpenAiChat {
    /// The base URL of OpenAI.
    pub const BASE_URL: &'static str = OpenAiServer::BASE_URL;

    /// The environment variable of the key.
    pub const KEY_VARIABLE: &'static str = OpenAiServer::KEY_VARIABLE;

    /// The environment variable of another server's address.
    pub const BASE_URL_VARIABLE: &'static str = OpenAiServer::BASE_URL_VARIABLE;

    /// The environment variable of Ollama's host.
    pub const OLLAMA_HOST_VARIABLE: &'static str = "OLLAMA_HOST";

    /// Makes a client of the model of OpenAI of this name, with the usual [`TransportOptions`].
    ///
    /// # Errors
    /// When the key cannot be one, or connections cannot be encrypted.
    pub fn new(model: impl Into<String>, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        let server = OpenAiServer::open(Self::BASE_URL)?.key(key.into())?;
        Ok(Self { server, form: RequestForm::of_openai(model.into()) })
    }

    /// Makes a client with the key of `OPENAI_API_KEY`, of the server of `OPENAI_BASE_URL` if that is set. It says the
    /// organisation of `OPENAI_ORG_ID` and the project of `OPENAI_PROJECT_ID`, if there are any.
    ///
    /// # Errors
    /// When there is neither a key nor another server, and as [`new`](Self::new) and [`base_url`](Self::base_url).
    pub fn from_env(model: impl Into<String>) -> Result<Self, ProviderError> {
        Ok(Self { server: OpenAiServer::from_env()?, form: RequestForm::of_openai(model.into()) })
    }

    /// Makes a client of a server that is compatible with OpenAI's: what stands before `/chat/completions`. It sends no
    /// [`key`](Self::key), limits the output by [`OutputLimit::MaxTokens`], and puts instructions
    /// [first](InstructionRole::SystemFirst).
    ///
    /// # Errors
    /// If it is not the address of a server.
    pub fn compatible(model: impl Into<String>, base_url: impl AsRef<str>) -> Result<Self, ProviderError> {
        let server = OpenAiServer::open(base_url.as_ref())?;
        Ok(Self { server, form: RequestForm::compatible(model.into()) })
    }

    /// Makes a client of a model that Ollama runs, on the host of `OLLAMA_HOST` or else on this one.
    ///
    /// # Errors
    /// If the variable has no host.
    pub fn ollama(model: impl Into<String>) -> Result<Self, ProviderError> {
        Self::compatible(model, Self::ollama_url())
    }

    /// Returns the address of Ollama's models, such as `http://127.0.0.1:11434/v1`: that of `OLLAMA_HOST`, which may be a
    /// name, a name with a port or an address, or else of this machine.
    pub fn ollama_url() -> String {
        ollama_url(&std::env::var(Self::OLLAMA_HOST_VARIABLE).unwrap_or_default())
    }

    /// Sends a key with each request.
    ///
    /// # Errors
    /// If it is not valid in a header.
    pub fn key(mut self, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        self.server = self.server.key(key.into())?;
        Ok(self)
    }

    /// Talks to another server: what stands before `/chat/completions`.
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

    /// Says in which member of a request its server looks for the limit of the output.
    #[must_use]
    pub fn output_limit(mut self, member: OutputLimit) -> Self {
        self.form.output_limit = member;
        self
    }

    /// Says in which messages its server takes instructions.
    #[must_use]
    pub fn instruction_role(mut self, role: InstructionRole) -> Self {
        self.form.instruction_role = role;
        self
    }

    /// Shows the model the schema of an output and does not hold it to that: for servers that cannot.
    #[must_use]
    pub fn lenient_output(mut self) -> Self {
        self.form.strictness = Strictness::Lenient;
        self
    }

    /// Does not ask what a reply used: for servers that refuse `stream_options`.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.form.asks_for_usage = false;
        self
    }

    /// Sends the model's own thoughts back to it, in the member in which they came: for servers that want them, as some
    /// do between tool calls. Others refuse them.
    #[must_use]
    pub fn return_thoughts(mut self) -> Self {
        self.form.returns_thoughts = true;
        self
    }

    /// Says what the requests of one user or one kind have in common, so that the provider finds more of them in its
    /// cache.
    #[must_use]
    pub fn prompt_cache_key(mut self, key: impl Into<String>) -> Self {
        self.form.cache_key = Some(key.into());
        self
    }
}

impl ChatModel for OpenAiChat {
    fn name(&self) -> &str {
        &self.form.model
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = self.server.call("chat/completions", self.form.streamed(&request));
        let model = self.form.model.clone();
        let transport = self.server.transport.clone();
        reply_stream(transport, call, move |request_id| ChunkReader::new(model, request_id))
    }
}

impl fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiChat")
            .field("model", &self.form.model)
            .field("base_url", &self.server)
            .finish_non_exhaustive()
    }
}
