//! Images of models behind OpenAI's protocol.

use std::fmt;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_nodes::message::Image;
use superstep_nodes::model::{ImageModel, ImageRequest, ImageShape, MadeImage, ModelError, Usage};

use super::openai::OpenAiServer;
use super::{ApiKey, ProviderError, TransportOptions};

/// An image model of OpenAI, such as `gpt-image-1`, or of a server that is compatible with it.
///
/// Images to be changed are sent inside of the request, as JSON. Servers that take them only as uploaded files, and
/// models that return only addresses of images, cannot be used.
///
/// ```no_run
/// use superstep_providers::OpenAiImages;
///
/// # fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let images = OpenAiImages::from_env("gpt-image-1")?;
/// # Ok(())
/// # }
/// ```
///
/// Like the clients of chat models it does not try again by itself.
#[derive(Clone)]
pub struct OpenAiImages {
    server: OpenAiServer,
    model: String,
}

/// The fields of a response that are read.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Item {
    b64_json: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl OpenAiImages {
    /// Makes a client of the model of OpenAI of this name, with the usual [`TransportOptions`].
    ///
    /// # Errors
    /// Fails if the key is not valid in a header, or connections cannot be encrypted.
    pub fn new(model: impl Into<String>, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        let server = OpenAiServer::open(OpenAiServer::BASE_URL)?.key(key.into())?;
        Ok(Self { server, model: model.into() })
    }

    /// Makes a client with the key of `OPENAI_API_KEY`, of the server of `OPENAI_BASE_URL` if that is set.
    ///
    /// # Errors
    /// Fails if there is neither a key nor another server, and as [`new`](Self::new).
    pub fn from_env(model: impl Into<String>) -> Result<Self, ProviderError> {
        Ok(Self { server: OpenAiServer::from_env()?, model: model.into() })
    }

    /// Makes a client of a server that is compatible with OpenAI's, by the part of its address before `/images`. It
    /// sends no [`key`](Self::key).
    ///
    /// # Errors
    /// Fails if it is not the address of a server.
    pub fn compatible(model: impl Into<String>, base_url: impl AsRef<str>) -> Result<Self, ProviderError> {
        Ok(Self { server: OpenAiServer::open(base_url.as_ref())?, model: model.into() })
    }

    /// Sends a key with each request.
    ///
    /// # Errors
    /// Fails if it is not valid in a header.
    pub fn key(mut self, key: impl Into<ApiKey>) -> Result<Self, ProviderError> {
        self.server = self.server.key(key.into())?;
        Ok(self)
    }

    /// Reaches the server in another way.
    ///
    /// # Errors
    /// Fails if the proxy or the certificates are not usable.
    pub fn transport(mut self, options: &TransportOptions) -> Result<Self, ProviderError> {
        self.server = self.server.reached(options)?;
        Ok(self)
    }
}

#[async_trait]
impl ImageModel for OpenAiImages {
    fn name(&self) -> &str {
        &self.model
    }

    async fn make(&self, request: ImageRequest) -> Result<MadeImage, ModelError> {
        let size = match request.shape {
            None => "auto",
            Some(ImageShape::Square) => "1024x1024",
            Some(ImageShape::Landscape) => "1536x1024",
            Some(ImageShape::Portrait) => "1024x1536",
        };
        let mut body = json!({ "model": self.model, "prompt": request.prompt, "size": size });
        let path = if request.sources.is_empty() { "images/generations" } else { "images/edits" };
        if let (false, Some(body)) = (request.sources.is_empty(), body.as_object_mut()) {
            let image = |image: &Image| json!({ "image_url": image.to_url() });
            body.insert("images".to_owned(), request.sources.iter().map(image).collect());
        }
        made(self.server.transport.post_for_json(self.server.call(path, body)).await?)
    }
}

/// Returns the image of an answer.
fn made(answer: Value) -> Result<MadeImage, ModelError> {
    let failed = |reason: String| ModelError::ServerFailed { reason };
    let Answer { data, usage } = serde_json::from_value(answer)
        .map_err(|error| failed(format!("its answer has no images: {error}")))?;
    let Some(encoded) = data.into_iter().next().and_then(|item| item.b64_json) else {
        return Err(failed(
            "its answer has no image in it; only models that return images can be used".into(),
        ));
    };
    let bytes =
        STANDARD.decode(encoded).map_err(|error| failed(format!("its image is not Base64: {error}")))?;
    let usage = usage.map_or_else(Usage::default, |it| Usage::of(it.input_tokens, it.output_tokens));
    Ok(MadeImage { bytes, usage })
}

impl fmt::Debug for OpenAiImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut images = f.debug_struct("OpenAiImages");
        images.field("model", &self.model).field("base_url", &self.server).finish_non_exhaustive()
    }
}
