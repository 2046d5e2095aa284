//! Models by names that can stand on a command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_nodes::model::{ChatModel, Script, Scripted};

/// The name of a model, for command lines and files of settings.
///
/// | name | model |
/// |---|---|
/// | `extractive` | `Extractive`: quotes documents, without a network |
/// | `script:FILE` | [`Scripted`]: the [`Script`] in a JSON file |
/// | `anthropic:MODEL` | one of Anthropic, with the key of `ANTHROPIC_API_KEY` |
/// | `openai:MODEL` | one of OpenAI, by the Responses protocol, with the key of `OPENAI_API_KEY` |
/// | `openai-compatible:MODEL@URL` | one of a server that speaks OpenAI's Chat Completions, such as vLLM, llama.cpp and LM Studio; with the key of `OPENAI_COMPATIBLE_API_KEY`, if that is set |
/// | `ollama:MODEL` | one of Ollama, on this machine or that of `OLLAMA_HOST` |
///
/// `extractive` needs the feature `knowledge`. Those behind a network need the feature `providers`, and take the
/// variables that their clients say. The name has no key in it, so it may be shown.
///
/// ```
/// use superstep_names::ModelName;
///
/// let name: ModelName = "anthropic:claude-sonnet-4-5".parse()?;
/// assert_eq!(name, ModelName::Anthropic("claude-sonnet-4-5".into()));
/// assert_eq!(name.to_string(), "anthropic:claude-sonnet-4-5");
///
/// # #[cfg(feature = "knowledge")] {
/// let model = "extractive".parse::<ModelName>()?.open()?;
/// assert_eq!(model.name(), "extractive");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum ModelName {
    /// The model that quotes documents, without a network.
    #[default]
    Extractive,
    /// The script in a file.
    Script(PathBuf),
    /// A model of Anthropic.
    Anthropic(String),
    /// A model of OpenAI.
    OpenAi(String),
    /// A model of a server that speaks OpenAI's Chat Completions.
    OpenAiCompatible {
        /// The name of the model.
        model: String,
        /// The address of the server, before `/chat/completions`.
        url: String,
    },
    /// A model of Ollama.
    Ollama(String),
}

/// A name that names no model. The message says which there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown model `{given}`; the models are extractive, script:FILE, anthropic:MODEL, openai:MODEL, openai-compatible:MODEL@URL and ollama:MODEL"
)]
pub struct UnknownModel {
    /// The name as given.
    pub given: String,
}

/// An error of opening a named model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenModelError {
    /// The script cannot be read.
    #[error("the script {} cannot be read: {reason}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// The defect of the name.
        reason: String,
    },
    /// The client cannot be made.
    #[cfg(feature = "providers")]
    #[error(transparent)]
    Provider(#[from] superstep_providers::ProviderError),
    /// The program was built without this model.
    #[error("`{name}` {}", name.lacks())]
    NotBuilt {
        /// The name of the model.
        name: ModelName,
    },
}

impl ModelName {
    /// Makes the model. What it needs beside the name comes from the environment.
    ///
    /// # Errors
    /// When a file cannot be read, a key is missing, or the program was built without the feature that has the model.
    pub fn open(&self) -> Result<Arc<dyn ChatModel>, OpenModelError> {
        Ok(match self {
            #[cfg(feature = "knowledge")]
            Self::Extractive => Arc::new(superstep_knowledge::Extractive),
            #[cfg(not(feature = "knowledge"))]
            Self::Extractive => return Err(OpenModelError::NotBuilt { name: self.clone() }),
            Self::Script(path) => {
                let unreadable = |reason: String| OpenModelError::Script { path: path.clone(), reason };
                let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
                let script: Script =
                    serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
                Arc::new(Scripted::from(script))
            }
            behind_a_network => return behind_a_network.connect(),
        })
    }

    /// Returns the address under which models of Ollama are found, such as `http://127.0.0.1:11434/v1`: that of the
    /// variable `OLLAMA_HOST`, or else of this machine.
    #[cfg(feature = "providers")]
    pub fn ollama_url() -> String {
        superstep_providers::OpenAiChat::ollama_url()
    }

    #[cfg(feature = "providers")]
    fn connect(&self) -> Result<Arc<dyn ChatModel>, OpenModelError> {
        use superstep_providers::{Anthropic, ApiKey, OpenAiChat, OpenAiResponses};

        Ok(match self {
            Self::Anthropic(model) => Arc::new(Anthropic::from_env(model.as_str())?),
            Self::OpenAi(model) => Arc::new(OpenAiResponses::from_env(model.as_str())?),
            Self::OpenAiCompatible { model, url } => {
                // Not the key of OpenAI, which must not be sent elsewhere.
                let client = OpenAiChat::compatible(model.as_str(), url)?;
                match ApiKey::from_env("OPENAI_COMPATIBLE_API_KEY") {
                    Some(key) => Arc::new(client.key(key)?),
                    None => Arc::new(client),
                }
            }
            Self::Ollama(model) => Arc::new(OpenAiChat::ollama(model.as_str())?),
            Self::Extractive | Self::Script(_) => unreachable!("it needs no network"),
        })
    }

    #[cfg(not(feature = "providers"))]
    fn connect(&self) -> Result<Arc<dyn ChatModel>, OpenModelError> {
        Err(OpenModelError::NotBuilt { name: self.clone() })
    }

    /// Says which feature a program lacks that cannot open the model.
    fn lacks(&self) -> &'static str {
        match self {
            Self::Extractive => "quotes documents: build with the feature `knowledge`",
            _ => "is behind a network: build with the feature `providers`",
        }
    }
}

impl FromStr for ModelName {
    type Err = UnknownModel;

    fn from_str(given: &str) -> Result<Self, UnknownModel> {
        let unknown = || UnknownModel { given: given.to_owned() };
        let (kind, model) = given.split_once(':').unwrap_or((given, ""));
        match (kind, model.trim()) {
            ("extractive", "") => Ok(Self::Extractive),
            (_, "") => Err(unknown()),
            ("script", file) => Ok(Self::Script(file.into())),
            ("anthropic", model) => Ok(Self::Anthropic(model.to_owned())),
            ("openai", model) => Ok(Self::OpenAi(model.to_owned())),
            ("ollama", model) => Ok(Self::Ollama(model.to_owned())),
            ("openai-compatible", place) => match place.split_once('@') {
                Some((model, url)) if !model.is_empty() && !url.is_empty() => {
                    Ok(Self::OpenAiCompatible { model: model.to_owned(), url: url.to_owned() })
                }
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extractive => f.write_str("extractive"),
            Self::Script(path) => write!(f, "script:{}", path.display()),
            Self::Anthropic(model) => write!(f, "anthropic:{model}"),
            Self::OpenAi(model) => write!(f, "openai:{model}"),
            Self::OpenAiCompatible { model, url } => write!(f, "openai-compatible:{model}@{url}"),
            Self::Ollama(model) => write!(f, "ollama:{model}"),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = UnknownModel;

    fn try_from(given: String) -> Result<Self, UnknownModel> {
        given.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_it_is_written() {
        for name in [
            "extractive",
            "script:a/b.json",
            "anthropic:claude-x",
            "openai:gpt-x",
            "openai-compatible:org/model:1b@http://127.0.0.1:8080/v1",
            "ollama:llama3:8b",
        ] {
            let read: ModelName = name.parse().unwrap();
            assert_eq!(read.to_string(), name);
            assert_eq!(serde_json::to_value(&read).unwrap(), name);
        }
    }

    #[test]
    fn an_unknown_model_name_is_answered_with_the_known_ones() {
        for given in [
            "",
            "claude",
            "anthropic:",
            "anthropic: ",
            "extractive:x",
            "script:",
            "gemini:x",
            "openai-compatible:x",
            "openai-compatible:@http://h",
        ] {
            let error = given.parse::<ModelName>().unwrap_err();
            assert!(error.to_string().contains("the models are extractive"), "{error}");
        }
    }

    #[test]
    fn a_script_that_cannot_be_read_is_named() {
        let error = ModelName::Script("nowhere.json".into()).open().err().unwrap();
        assert!(error.to_string().starts_with("the script nowhere.json cannot be read: "), "{error}");
    }

    #[cfg(not(feature = "providers"))]
    #[test]
    fn a_model_behind_a_network_says_which_feature_it_needs() {
        let error = ModelName::Anthropic("claude-x".into()).open().err().unwrap();
        assert_eq!(
            error.to_string(),
            "`anthropic:claude-x` is behind a network: build with the feature `providers`"
        );
    }

    #[cfg(not(feature = "knowledge"))]
    #[test]
    fn the_model_that_quotes_documents_says_which_feature_it_needs() {
        let error = ModelName::Extractive.open().err().unwrap();
        assert_eq!(error.to_string(), "`extractive` quotes documents: build with the feature `knowledge`");
    }
}
