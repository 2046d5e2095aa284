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
    /// The model cannot be had: its key is missing, say.
    #[error(transparent)]
    Model(#[from] OpenModelError),
    /// The embedder cannot be had.
    #[error(transparent)]
    Embedder(#[from] OpenEmbedderError),
    /// The knowledge base cannot be used; where nothing was ingested into it, ingest something first.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// The folder for the knowledge base cannot be made.
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
    /// There is no critic.
    #[error(transparent)]
    Open(#[from] OpenCriticError),
    /// A requested setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The photograph cannot be used.
    #[error(transparent)]
    Image(#[from] ImageFileError),
    /// The path of the photograph is no text, as states are. Give the file another name.
    #[error("the path `{}` is no text", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// The graph cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run failed: most often the model could not be asked.
    #[error(transparent)]
    Run(RunError),
    /// The run did not come to its end.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// A tool failed, and that was to end the critique.
    #[error("the critique ended, as the tool `{tool}` failed: {reason}")]
    ToolFailed {
        /// The tool.
        tool: String,
        /// The cause of the failure.
        reason: String,
    },
    /// The model said nothing in the end.
    #[error("the model gave no critique{}", because(stop.as_ref()))]
    NoCritique {
        /// The stop reason of its last reply.
        stop: Option<StopReason>,
    },
}

impl From<RunError> for CriticError {
    /// The error of the photograph, where that is what the run failed with.
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
