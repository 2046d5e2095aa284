//! The model of an example.

use std::sync::Arc;

use superstep::nodes::model::ChatModel;
use superstep::nodes::{ModelName, OpenModelError, UnknownModel};

use crate::Example;

/// The feature with which the examples have models behind a network.
pub const PROVIDERS: &str = "providers";

/// Returns the model that an argument names, or else that of the variable `SUPERSTEP_MODEL`; nothing if neither names
/// one.
///
/// # Errors
/// When the variable names no model.
pub fn chosen(argument: Option<&ModelName>) -> Result<Option<ModelName>, UnknownModel> {
    if let Some(model) = argument {
        return Ok(Some(model.clone()));
    }
    let named = std::env::var("SUPERSTEP_MODEL").unwrap_or_default();
    let named = Some(named.trim()).filter(|name| !name.is_empty());
    named.map(str::parse).transpose()
}

/// Makes the model of a name, for an example.
///
/// # Errors
/// When it cannot be made. Where the example was built without [`PROVIDERS`], the error says the command that has them.
pub fn open<E>(name: &ModelName, example: Example) -> Result<Arc<dyn ChatModel>, E>
where
    E: From<OpenModelError> + From<String>,
{
    name.open().map_err(|error| with_command(error, example))
}

/// Returns the error, or, of a model that the example was built without, the command that has it.
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

/// Tells whether a model needs [`PROVIDERS`].
#[must_use]
pub fn is_behind_a_network(name: &ModelName) -> bool {
    !matches!(name, ModelName::Extractive | ModelName::Script(_))
}
