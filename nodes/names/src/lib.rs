//! Models and embedders by names that can stand on a command line or in a file of settings.
//!
//! A [`ModelName`] is opened as a model, and an `EmbedderName` (feature `knowledge`) as an embedder. Those behind a
//! network need the feature `providers`, and the model that quotes documents needs `knowledge`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "knowledge")]
mod embedder_name;
mod model_name;

#[cfg(feature = "knowledge")]
pub use embedder_name::{EmbedderName, OpenEmbedderError, UnknownEmbedder};
pub use model_name::{ModelName, OpenModelError, UnknownModel};
