//! The configuration of a critic.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use superstep::node::Retry;
use superstep::nodes::model::{ChatModel, Settings};
use superstep::nodes::rag::KnowledgeBase;

use super::error::OpenCriticError;
use super::settings::{CriticSettings, SettingError};

/// The configuration of a [`critic`](super::critic()): a model, the sources that it searches, and settings.
#[derive(Clone)]
pub struct CriticConfig {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) knowledge: KnowledgeBase,
    pub(super) settings: CriticSettings,
    pub(super) model_settings: Settings,
    pub(super) retry: Option<Retry>,
}

impl CriticConfig {
    /// Takes a model and a knowledge base, and the default settings, of which those that name a model and a knowledge
    /// base are not looked at.
    pub fn new(model: impl ChatModel, knowledge: KnowledgeBase) -> Self {
        Self {
            model: Arc::new(model),
            knowledge,
            settings: CriticSettings::default(),
            model_settings: Settings::default(),
            retry: None,
        }
    }

    /// Makes what the environment asks for: see [`CriticSettings`].
    ///
    /// # Errors
    /// When a variable is not usable, and as [`open`](Self::open).
    pub fn from_env() -> Result<Self, OpenCriticError> {
        Self::open(CriticSettings::from_env()?)
    }

    /// Makes what the settings ask for: the model, and the knowledge base with documents in it.
    ///
    /// # Errors
    /// When a setting is not usable, a key is missing, or nothing was ingested yet. No request was made then.
    pub fn open(settings: CriticSettings) -> Result<Self, OpenCriticError> {
        settings.check()?;
        let model = settings.model.open()?;
        let embedder = settings.embedder.open()?;
        let knowledge = KnowledgeBase::open_existing(&settings.database, &settings.collection, embedder)?;
        Ok(Self { settings, ..Self::new(model, knowledge) })
    }

    /// Takes another model.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel) -> Self {
        self.model = Arc::new(model);
        self
    }

    /// Takes other settings, but for those that name a model and a knowledge base.
    ///
    /// # Errors
    /// When one is not usable.
    pub fn settings(mut self, settings: CriticSettings) -> Result<Self, SettingError> {
        settings.check()?;
        self.settings = settings;
        Ok(self)
    }

    /// Says how the model is to answer.
    #[must_use]
    pub fn model_settings(mut self, settings: Settings) -> Self {
        self.model_settings = settings;
        self
    }

    /// Sets when and how often a failed model call is tried again; never if nothing is said.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }
}

impl CriticSettings {
    /// Opens the knowledge base, to ingest documents into it. The file is made if it is not there, and so are the
    /// folders that it is in.
    ///
    /// # Errors
    /// When a setting is not usable, a key is missing, or the file cannot be made.
    pub fn knowledge(&self) -> Result<KnowledgeBase, OpenCriticError> {
        self.check()?;
        let embedder = self.embedder.open()?;
        if let Some(folder) = self.database.parent().filter(|folder| *folder != Path::new("")) {
            std::fs::create_dir_all(folder)
                .map_err(|source| OpenCriticError::Folder { path: folder.to_owned(), source })?;
        }
        Ok(KnowledgeBase::open(&self.database, &self.collection, embedder)?)
    }
}

impl fmt::Debug for CriticConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CriticConfig")
            .field("model", &self.model.name())
            .field("knowledge", &self.knowledge)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
