//! Which model an example asks.

use superstep::nodes::{ModelName, UnknownModel};

/// The model that an argument names, or else that of the variable `SUPERSTEP_MODEL`; nothing if neither says.
pub(crate) fn chosen(argument: Option<&ModelName>) -> Result<Option<ModelName>, UnknownModel> {
    if let Some(model) = argument {
        return Ok(Some(model.clone()));
    }
    let named = std::env::var("SUPERSTEP_MODEL").unwrap_or_default();
    let named = Some(named.trim()).filter(|name| !name.is_empty());
    named.map(str::parse).transpose()
}
