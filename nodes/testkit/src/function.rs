//! Functions as both APIs of OpenAI declare them, and formats of outputs.

use super::HttpError;
use super::request_value::RequestValue;
use super::schema;

/// A function: the object that has the name.
pub(super) fn check<'a>(function: &RequestValue<'a>) -> Result<&'a str, HttpError> {
    let name = function.need("name")?.name()?;
    function.get_nullable("description").map(|text| text.text()).transpose()?;
    function.get_nullable("strict").map(|strict| strict.flag()).transpose()?;
    let Some(parameters) = function.get_nullable("parameters") else {
        return Ok(name);
    };
    parameters.members()?;
    match schema::openai_fault(parameters.value(), function.is_set("strict")) {
        None => Ok(name),
        Some(fault) => Err(HttpError::invalid(format!("Invalid schema for function '{name}': {fault}"))
            .at(parameters.path())
            .coded("invalid_function_parameters")),
    }
}

/// A format with a schema: the object that has the name.
pub(super) fn check_format(format: &RequestValue<'_>, param: &str) -> Result<(), HttpError> {
    let name = format.need("name")?.name()?;
    format.get_nullable("description").map(|text| text.text()).transpose()?;
    format.get_nullable("strict").map(|strict| strict.flag()).transpose()?;
    let wanted = format.need("schema")?;
    wanted.members()?;
    match schema::openai_fault(wanted.value(), format.is_set("strict")) {
        None => Ok(()),
        Some(fault) => {
            Err(HttpError::invalid(format!("Invalid schema for response_format '{name}': {fault}")).at(param))
        }
    }
}

/// Checks that the tool that a request wants called is there.
pub(super) fn check_choice(names: &[&str], chosen: Option<&str>) -> Result<(), HttpError> {
    match chosen {
        Some(chosen) if !names.contains(&chosen) => {
            Err(HttpError::invalid(format!("Tool choice '{chosen}' not found in 'tools' parameter."))
                .at("tool_choice"))
        }
        _ => Ok(()),
    }
}

/// Checks that no two functions have one name.
pub(super) fn check_unique(names: &[&str]) -> Result<(), HttpError> {
    let repeated = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
    repeated.map_or(Ok(()), |(_, name)| {
        Err(HttpError::invalid(format!(
            "Invalid 'tools': tool names must be unique, but '{name}' is there twice."
        ))
        .at("tools")
        .coded("invalid_value"))
    })
}

/// The metadata of a request: at most 16 texts.
pub(super) fn check_metadata(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(metadata) = request.get_nullable("metadata") else {
        return Ok(());
    };
    let members = metadata.members()?;
    if members.len() > 16 {
        return Err(
            metadata.refuse("Invalid 'metadata': too many properties. Expected an object with at most 16.")
        );
    }
    let wrong = members.keys().filter_map(|key| metadata.get(key)).find(|value| !value.value().is_string());
    wrong.map_or(Ok(()), |value| Err(value.wrong_type("a string")))
}
