//! Settings of the environment.

use std::ffi::OsString;

use super::settings::{CriticSettings, MAX_SIZE, MAX_TOP_K, SettingError, whole_number};
use superstep::nodes::ModelName;

impl CriticSettings {
    /// Takes the defaults, overridden by the environment.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn from_env() -> Result<Self, SettingError> {
        Self::default().with_variables(|name| std::env::var_os(name))
    }

    /// Overrides settings by variables. A blank variable is ignored.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn with_variables(
        mut self,
        look_up: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingError> {
        let raw = |key: &str| look_up(key).filter(|value| !value.to_string_lossy().trim().is_empty());
        let said = |key: &str| raw(key).map(|value| value.to_string_lossy().trim().to_owned());
        if let Some(model) = said("OPENAI_MODEL") {
            self.model = ModelName::OpenAi(model);
        }
        if let Some(detail) = said("VISION_DETAIL") {
            self.detail = detail.parse().map_err(|error| of("VISION_DETAIL", error))?;
        }
        if let Some(pixels) = said("VISION_MAX_SIZE") {
            // The range fits the type.
            self.max_size = number("VISION_MAX_SIZE", &pixels, MAX_SIZE)? as u32;
        }
        if let Some(chunks) = said("RAG_TOP_K") {
            self.top_k = number("RAG_TOP_K", &chunks, MAX_TOP_K)? as usize;
        }
        // The second name is older, from another kind of database.
        if let Some(file) = raw("KNOWLEDGE_DB_PATH").or_else(|| raw("CHROMA_DB_PATH")) {
            self.database = file.into();
        }
        if let Some(collection) = said("RAG_COLLECTION") {
            self.collection = collection;
        }
        if let Some(embedder) = said("EMBEDDING_MODEL") {
            self.embedder = embedder.parse().map_err(|error: superstep::nodes::rag::UnknownEmbedder| {
                let key = "EMBEDDING_MODEL";
                SettingError { key, value: embedder, allowed: error.allowed().to_owned() }
            })?;
        }
        if let Some(choice) = said("ON_TOOL_ERROR") {
            self.on_tool_error = choice.parse().map_err(|error| of("ON_TOOL_ERROR", error))?;
        }
        Ok(self)
    }
}

fn of(key: &'static str, error: SettingError) -> SettingError {
    SettingError { key, ..error }
}

fn number(key: &'static str, value: &str, most: u64) -> Result<u64, SettingError> {
    let number = value.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| SettingError { key, value: value.to_owned(), allowed: whole_number(most) })
}
