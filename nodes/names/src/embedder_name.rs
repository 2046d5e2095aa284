//! Embedders by names that can stand in a file of settings.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_knowledge::rag::{Embedder, HashEmbedder};

/// The name of an embedder, for command lines and files of settings.
///
/// | name | embedder |
/// |---|---|
/// | `hash` | [`HashEmbedder`]: offline, by words and pieces of words |
/// | `openai:MODEL`, or `MODEL` | a model of OpenAI, with the key of `OPENAI_API_KEY` |
/// | `openai-compatible:MODEL@URL` | one of a server that is compatible with it; with the key of `OPENAI_COMPATIBLE_API_KEY`, if that is set |
///
/// Those behind a network need the feature `providers`.
///
/// ```
/// use superstep_names::EmbedderName;
/// use superstep_knowledge::rag::Embedder;
///
/// let name: EmbedderName = "text-embedding-3-small".parse()?;
/// assert_eq!(name.to_string(), "openai:text-embedding-3-small");
///
/// let embedder = "hash".parse::<EmbedderName>()?.open()?;
/// assert_eq!(embedder.name(), "hash-1-512");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum EmbedderName {
    /// [`HashEmbedder`].
    #[default]
    Hash,
    /// A model of OpenAI.
    OpenAi(String),
    /// A model of a server that is compatible with OpenAI's.
    OpenAiCompatible {
        /// The name of the model.
        model: String,
        /// The address of the server, before `/embeddings`.
        url: String,
    },
}

/// A name that names no embedder. The message says which there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown embedder `{given}`; write {}", self.allowed())]
pub struct UnknownEmbedder {
    /// The name as given.
    pub given: String,
}

/// An error of opening a named embedder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenEmbedderError {
    /// The client cannot be made.
    #[cfg(feature = "providers")]
    #[error(transparent)]
    Provider(#[from] superstep_providers::ProviderError),
    /// The program was built without embedders behind a network.
    #[error("the embedder `{name}` is behind a network: build with the feature `providers`")]
    NotBuilt {
        /// The name of the embedder.
        name: EmbedderName,
    },
}

impl UnknownEmbedder {
    /// Returns what may be said.
    pub const fn allowed(&self) -> &'static str {
        "hash, openai:MODEL or openai-compatible:MODEL@URL"
    }
}

impl EmbedderName {
    /// Makes the embedder. What it needs beside the name comes from the environment.
    ///
    /// # Errors
    /// When a key is missing, or the program was built without embedders behind a network.
    pub fn open(&self) -> Result<Arc<dyn Embedder>, OpenEmbedderError> {
        match self {
            Self::Hash => Ok(Arc::new(HashEmbedder::default())),
            behind_a_network => behind_a_network.connect(),
        }
    }

    #[cfg(feature = "providers")]
    fn connect(&self) -> Result<Arc<dyn Embedder>, OpenEmbedderError> {
        use superstep_providers::{ApiKey, OpenAiEmbedder};

        Ok(match self {
            Self::OpenAi(model) => Arc::new(OpenAiEmbedder::from_env(model.as_str())?),
            Self::OpenAiCompatible { model, url } => {
                // Not the key of OpenAI, which must not be sent elsewhere.
                let client = OpenAiEmbedder::compatible(model.as_str(), url)?;
                match ApiKey::from_env("OPENAI_COMPATIBLE_API_KEY") {
                    Some(key) => Arc::new(client.key(key)?),
                    None => Arc::new(client),
                }
            }
            Self::Hash => unreachable!("it needs no network"),
        })
    }

    #[cfg(not(feature = "providers"))]
    fn connect(&self) -> Result<Arc<dyn Embedder>, OpenEmbedderError> {
        Err(OpenEmbedderError::NotBuilt { name: self.clone() })
    }
}

impl FromStr for EmbedderName {
    type Err = UnknownEmbedder;

    fn from_str(given: &str) -> Result<Self, UnknownEmbedder> {
        let unknown = || UnknownEmbedder { given: given.to_owned() };
        match given.trim().split_once(':') {
            None if given.trim().is_empty() => Err(unknown()),
            None if given.trim() == "hash" => Ok(Self::Hash),
            None => Ok(Self::OpenAi(given.trim().to_owned())),
            Some((_, "")) => Err(unknown()),
            Some(("openai", model)) => Ok(Self::OpenAi(model.to_owned())),
            Some(("openai-compatible", place)) => match place.split_once('@') {
                Some((model, url)) if !model.is_empty() && !url.is_empty() => {
                    Ok(Self::OpenAiCompatible { model: model.to_owned(), url: url.to_owned() })
                }
                _ => Err(unknown()),
            },
            Some(_) => Err(unknown()),
        }
    }
}

impl fmt::Display for EmbedderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash => f.write_str("hash"),
            Self::OpenAi(model) => write!(f, "openai:{model}"),
            Self::OpenAiCompatible { model, url } => write!(f, "openai-compatible:{model}@{url}"),
        }
    }
}

impl TryFrom<String> for EmbedderName {
    type Error = UnknownEmbedder;

    fn try_from(given: String) -> Result<Self, UnknownEmbedder> {
        given.parse()
    }
}

impl From<EmbedderName> for String {
    fn from(name: EmbedderName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_it_is_written() {
        for name in
            ["hash", "openai:text-embedding-3-small", "openai-compatible:nomic:v1@http://localhost:11434/v1"]
        {
            let read: EmbedderName = name.parse().unwrap();
            assert_eq!(read.to_string(), name);
            assert_eq!(serde_json::to_value(&read).unwrap(), name);
        }
    }

    #[test]
    fn an_unknown_embedder_name_is_answered_with_the_known_ones() {
        for given in ["", " ", "openai:", "cohere:x", "openai-compatible:x", "openai-compatible:@http://h"] {
            let error = given.parse::<EmbedderName>().unwrap_err();
            assert!(error.to_string().ends_with("openai-compatible:MODEL@URL"), "{error}");
        }
    }
}
