//! The errors of a critique.

use std::path::PathBuf;

use superstep::graph::BuildError;
use superstep::nodes::images::ImageFileError;
use superstep::nodes::model::StopReason;
use superstep::nodes::rag::KnowledgeError;
use superstep::run::{RunError, Unfinished};

use super::settings::SettingError;
use superstep::nodes::OpenModelError;
use superstep::nodes::rag::OpenEmbedderError;

/// An error of opening a critic.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenCriticError {
    /// A setting is not usable. Correct it.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The model cannot be opened; for example, its key is missing.
    #[error(transparent)]
    Model(#[from] OpenModelError),
    /// The embedder cannot be opened.
    #[error(transparent)]
    Embedder(#[from] OpenEmbedderError),
    /// The knowledge base cannot be used. If nothing was ingested into it, ingest documents first.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// The folder for the knowledge base cannot be created.
    #[error("the folder `{}` cannot be made: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// The errors of a critique.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CriticError {
    /// The critic cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenCriticError),
    /// A requested setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The photograph cannot be used.
    #[error(transparent)]
    Image(#[from] ImageFileError),
    /// The path of the photograph is not valid UTF-8, so a state cannot store it. Rename the file.
    #[error("the path `{}` is no text", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// The graph cannot be compiled.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run failed, most often because of a model call.
    #[error(transparent)]
    Run(RunError),
    /// The run stopped early.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// A tool failed, and the settings end the critique then.
    #[error("the critique ended, as the tool `{tool}` failed: {reason}")]
    ToolFailed {
        /// The tool.
        tool: String,
        /// The cause of the failure.
        reason: String,
    },
    /// The last reply of the model has no text.
    #[error("the model gave no critique{}", because(stop.as_ref()))]
    NoCritique {
        /// The stop reason of its last reply.
        stop: Option<StopReason>,
    },
}

impl From<RunError> for CriticError {
    /// Extracts the error of the photograph, if that is the cause of the run's failure.
    fn from(error: RunError) -> Self {
        match error {
            RunError::Node(failure) if failure.error.downcast_ref::<ImageFileError>().is_some() => {
                let source = failure.error.into_source().downcast::<ImageFileError>();
                Self::Image(*source.expect("it was one a moment ago"))
            }
            error => Self::Run(error),
        }
    }
}

fn because(stop: Option<&StopReason>) -> String {
    stop.map(|stop| format!("; its reply ended with {stop:?}")).unwrap_or_default()
}
