//! The model of an example.

use std::sync::Arc;

use superstep::nodes::model::ChatModel;
use superstep::nodes::{ModelName, OpenModelError, UnknownModel};

use crate::Example;

/// The feature that enables models behind a network.
pub const PROVIDERS: &str = "providers";

/// Returns the model of an argument, or else of the variable `SUPERSTEP_MODEL`; `None` if neither is set.
///
/// # Errors
/// If the variable does not name a model.
pub fn chosen(argument: Option<&ModelName>) -> Result<Option<ModelName>, UnknownModel> {
    if let Some(model) = argument {
        return Ok(Some(model.clone()));
    }
    let named = std::env::var("SUPERSTEP_MODEL").unwrap_or_default();
    let named = Some(named.trim()).filter(|name| !name.is_empty());
    named.map(str::parse).transpose()
}

/// Opens a model by its name, for an example.
///
/// # Errors
/// If it cannot be opened. If the example was built without [`PROVIDERS`], the error names the command that enables
/// them.
pub fn open<E>(name: &ModelName, example: Example) -> Result<Arc<dyn ChatModel>, E>
where
    E: From<OpenModelError> + From<String>,
{
    name.open().map_err(|error| with_command(error, example))
}

/// Adds the command that enables the model to an error, if the example was built without it.
pub fn with_command<E>(error: OpenModelError, example: Example) -> E
where
    E: From<OpenModelError> + From<String>,
{
    match error {
        OpenModelError::NotBuilt { name } => {
            let command = example.command(&[PROVIDERS]);
            format!("`{name}` is behind a network; run: {command} --model {name} ..").into()
        }
        error => error.into(),
    }
}

/// Returns `true` if a model needs [`PROVIDERS`].
#[must_use]
pub fn is_behind_a_network(name: &ModelName) -> bool {
    !matches!(name, ModelName::Extractive | ModelName::Script(_))
}
