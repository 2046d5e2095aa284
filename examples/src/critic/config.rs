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
    /// Takes a model and a knowledge base, and the default settings. The settings that name a model and a knowledge
    /// base are ignored.
    pub fn new(model: impl ChatModel, knowledge: KnowledgeBase) -> Self {
        Self {
            model: Arc::new(model),
            knowledge,
            settings: CriticSettings::default(),
            model_settings: Settings::default(),
            retry: None,
        }
    }

    /// Makes the configuration from the environment: see [`CriticSettings`].
    ///
    /// # Errors
    /// If a variable is invalid, and as [`open`](Self::open).
    pub fn from_env() -> Result<Self, OpenCriticError> {
        Self::open(CriticSettings::from_env()?)
    }

    /// Makes the configuration from settings. Opens the model, and the knowledge base, which must have documents.
    ///
    /// # Errors
    /// If a setting is invalid, a key is missing, or nothing was ingested yet. No request was made then.
    pub fn open(settings: CriticSettings) -> Result<Self, OpenCriticError> {
        settings.check()?;
        let model = settings.model.open()?;
        let embedder = settings.embedder.open()?;
        let knowledge = KnowledgeBase::open_existing(&settings.database, &settings.collection, embedder)?;
        Ok(Self { settings, ..Self::new(model, knowledge) })
    }

    /// Replaces the model.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel) -> Self {
        self.model = Arc::new(model);
        self
    }

    /// Replaces the settings, except those that name a model and a knowledge base.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn settings(mut self, settings: CriticSettings) -> Result<Self, SettingError> {
        settings.check()?;
        self.settings = settings;
        Ok(self)
    }

    /// Sets the settings of model calls.
    #[must_use]
    pub fn model_settings(mut self, settings: Settings) -> Self {
        self.model_settings = settings;
        self
    }

    /// Sets the retries of failed model calls. The default is none.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }
}

impl CriticSettings {
    /// Opens the knowledge base, to ingest documents into it. The file and its folders are created if they do not
    /// exist.
    ///
    /// # Errors
    /// If a setting is invalid, a key is missing, or the file cannot be created.
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
