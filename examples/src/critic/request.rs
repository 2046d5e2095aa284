//! One call for one critique.

use std::future::IntoFuture;
use std::path::PathBuf;

use futures_util::future::BoxFuture;

use super::config::CriticConfig;
use super::critique::Critique;
use super::error::CriticError;
use super::graph::critic;
use super::settings::{VisionDetail, check_max_size};
use super::state::CriticState;

/// Requests a critique of the photograph in a file; it runs when awaited. Settings that are not given come from the
/// environment, or are the defaults: see [`CriticSettings`](super::CriticSettings).
///
/// Nothing is stored. For a critique that survives a crash, run the graph of [`critic`] with a checkpointer.
pub fn critique_image(image_path: impl Into<PathBuf>) -> CritiqueImage {
    CritiqueImage { image_path: image_path.into(), prompt: None, detail: None, max_size: None, config: None }
}

/// A request for a critique, made by [`critique_image`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before it is awaited"]
pub struct CritiqueImage {
    image_path: PathBuf,
    prompt: Option<String>,
    detail: Option<VisionDetail>,
    max_size: Option<u32>,
    config: Option<CriticConfig>,
}

impl CritiqueImage {
    /// Sets the prompt.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Sets the level of detail at which the model looks at the photograph.
    pub fn detail(mut self, detail: VisionDetail) -> Self {
        self.detail = Some(detail);
        self
    }

    /// Shrinks the photograph until neither side has more pixels than this.
    pub fn max_size(mut self, pixels: u32) -> Self {
        self.max_size = Some(pixels);
        self
    }

    /// Uses this critic instead of the one from the environment.
    pub fn with(mut self, config: CriticConfig) -> Self {
        self.config = Some(config);
        self
    }

    async fn ask(self) -> Result<Critique, CriticError> {
        let Self { image_path, prompt, detail, max_size, config } = self;
        let config = match config {
            Some(config) => config,
            None => CriticConfig::from_env()?,
        };
        max_size.map_or(Ok(()), check_max_size)?;
        let Ok(path) = image_path.clone().into_os_string().into_string() else {
            return Err(CriticError::Path { path: image_path });
        };
        let mut input = CriticState::of(path);
        if let Some(prompt) = prompt {
            input = input.prompt(prompt);
        }
        if let Some(detail) = detail {
            input = input.detail(detail);
        }
        if let Some(pixels) = max_size {
            input = input.max_size(pixels);
        }
        let state = critic(config)?.run(input).await?.finished()?;
        Critique::of(&state)
    }
}

impl IntoFuture for CritiqueImage {
    type Output = Result<Critique, CriticError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
