//! Embeddings of models behind OpenAI's protocol.

use std::fmt;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_nodes::model::{EmbedError, Embedder, Embedding, ModelError};

use super::openai::OpenAiServer;
use super::{ApiKey, ProviderError, TransportOptions};

/// An embedding model of OpenAI, or of a server that is compatible with it, such as Ollama, vLLM, llama.cpp and LM
/// Studio.
///
/// ```no_run
/// use superstep_providers::OpenAiEmbedder;
/// use superstep_knowledge::rag::KnowledgeBase;
///
/// # fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let openai = OpenAiEmbedder::from_env("text-embedding-3-small")?;
/// let ollama = OpenAiEmbedder::compatible("nomic-embed-text", "http://localhost:11434/v1")?;
///
/// let guides = KnowledgeBase::open("knowledge.db", "guides", openai)?;
/// # Ok(())
/// # }
/// ```
///
/// Like the clients of chat models it does not try again by itself.
#[derive(Clone)]
pub struct OpenAiEmbedder {
    server: OpenAiServer,
    model: String,
    dimensions: Option<u32>,
    name: String,
    batch: usize,
}

/// The fields of a response that are read.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// The environment variable of the key.
    pub const KEY_VARIABLE: &'static str = OpenAiServer::KEY_VARIABLE;

    /// Makes a client of the model of OpenAI of this name, with the usual [`TransportOptions`].
    ///
    /// # Errors
    /// When the key cannot be one, or connections cannot be encrypted.
    pub fn new(model: impl Into<String>, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        Ok(Self::of(OpenAiServer::open(OpenAiServer::BASE_URL)?.key(key.into())?, model.into()))
    }

    /// Makes a client with the key of `OPENAI_API_KEY`, of the server of `OPENAI_BASE_URL` if that is set.
    ///
    /// # Errors
    /// When there is neither a key nor another server, and as [`new`](Self::new) and [`base_url`](Self::base_url).
    pub fn from_env(model: impl Into<String>) -> Result<Self, ProviderError> {
        Ok(Self::of(OpenAiServer::from_env()?, model.into()))
    }

    /// Makes a client of a server that is compatible with OpenAI's: what stands before `/embeddings`. It sends no
    /// [`key`](Self::key).
    ///
    /// # Errors
    /// If it is not the address of a server.
    pub fn compatible(model: impl Into<String>, base_url: impl AsRef<str>) -> Result<Self, ProviderError> {
        Ok(Self::of(OpenAiServer::open(base_url.as_ref())?, model.into()))
    }

    fn of(server: OpenAiServer, model: String) -> Self {
        Self { server, name: model.clone(), model, dimensions: None, batch: 64 }
    }

    /// Sends a key with each request.
    ///
    /// # Errors
    /// If it is not valid in a header.
    pub fn key(mut self, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        self.server = self.server.key(key.into())?;
        Ok(self)
    }

    /// Talks to another server: what stands before `/embeddings`.
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

    /// Asks for embeddings of so many dimensions, of models that can shorten theirs. They are others than the full
    /// ones, so the embedder's name says it.
    #[must_use]
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.name = format!("{}/{dimensions}", self.model);
        self.dimensions = Some(dimensions);
        self
    }

    /// Sends so many texts at once at most; 64 if nothing is said.
    #[must_use]
    pub fn max_batch(mut self, texts: usize) -> Self {
        self.batch = texts.max(1);
        self
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        // Texts without a word are refused.
        let input: Vec<_> =
            texts.iter().map(|text| if text.trim().is_empty() { "-" } else { text }).collect();
        let mut body = json!({ "model": self.model, "input": input, "encoding_format": "float" });
        if let (Some(dimensions), Some(body)) = (self.dimensions, body.as_object_mut()) {
            body.insert("dimensions".to_owned(), dimensions.into());
        }
        let answer = self.server.transport.post_for_json(self.server.call("embeddings", body)).await?;
        in_order(answer, texts.len())
    }

    fn max_batch(&self) -> usize {
        self.batch
    }
}

/// The embeddings of an answer, in the order of the texts.
fn in_order(answer: Value, asked: usize) -> Result<Vec<Embedding>, EmbedError> {
    let Answer { mut data } = serde_json::from_value(answer).map_err(|error| ModelError::ServerFailed {
        reason: format!("its answer has no embeddings: {error}"),
    })?;
    data.sort_by_key(|item| item.index);
    if !data.iter().map(|item| item.index).eq(0..asked) {
        return Err(EmbedError::Count { asked, given: data.len() });
    }
    data.into_iter().map(|item| Embedding::new(item.embedding).ok_or(EmbedError::NoEmbedding)).collect()
}

impl fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut embedder = f.debug_struct("OpenAiEmbedder");
        embedder.field("name", &self.name).field("base_url", &self.server).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_come_in_the_order_of_the_texts_whatever_order_they_are_listed_in() {
        let answer = json!({ "data": [
            { "index": 1, "embedding": [0.0, 2.0] },
            { "index": 0, "embedding": [1.0, 0.0] },
        ]});
        let embeddings = in_order(answer, 2).unwrap();
        assert_eq!(embeddings[0].numbers(), [1.0, 0.0]);
        assert_eq!(embeddings[1].numbers(), [0.0, 1.0]);
    }

    #[test]
    fn an_answer_that_lacks_one_is_an_error_and_so_is_one_without_numbers() {
        let one = |embedding: Value| json!({ "data": [{ "index": 0, "embedding": embedding }] });
        assert_eq!(in_order(one(json!([1.0])), 2).unwrap_err(), EmbedError::Count { asked: 2, given: 1 });
        assert_eq!(in_order(one(json!([])), 1).unwrap_err(), EmbedError::NoEmbedding);
        let error = in_order(json!({ "error": "?" }), 1).unwrap_err();
        assert!(error.to_string().contains("no embeddings"), "{error}");
    }
}
