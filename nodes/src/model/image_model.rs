//! Models that make images.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelError, Usage};
use crate::message::Image;

/// A model that makes images. It can be used as `Arc<dyn ImageModel>`.
#[async_trait]
pub trait ImageModel: Send + Sync + 'static {
    /// Returns the name of the model.
    fn name(&self) -> &str;

    /// Makes one image.
    ///
    /// # Errors
    /// Fails if the model cannot be reached, refuses the request, or returns no image.
    async fn make(&self, request: ImageRequest) -> Result<MadeImage, ModelError>;
}

#[async_trait]
impl<M: ImageModel + ?Sized> ImageModel for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn make(&self, request: ImageRequest) -> Result<MadeImage, ModelError> {
        (**self).make(request).await
    }
}

/// A request for an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageRequest {
    /// A description of the image, or of the change.
    pub prompt: String,
    /// The shape of the image; `None` if the model is to choose.
    pub shape: Option<ImageShape>,
    /// The images to change, or to take the style from. Without any, the image is made from the description alone.
    pub sources: Vec<Image>,
}

/// The shape of an image. A model has one size for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageShape {
    /// As wide as high.
    Square,
    /// Wider than high.
    Landscape,
    /// Higher than wide.
    Portrait,
}

/// An image that a model made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeImage {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The usage of the call; 0 if the provider does not state it.
    pub usage: Usage,
}
