//! Breakpoints of the prompt cache.

use serde_json::Value;

use crate::HttpError;
use crate::request_value::RequestValue;

const MOST_BREAKPOINTS: usize = 4;

/// Checks the form of the breakpoint that a place may have.
pub(super) fn form(place: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(control) = place.get_nullable("cache_control") else {
        return Ok(());
    };
    control.tag(&["ephemeral"])?;
    control.only(&["type", "ttl"])?;
    control.get("ttl").map(|ttl| ttl.one_of(&["5m", "1h"])).transpose()?;
    Ok(())
}

/// Checks all breakpoints together, in the order in which a prompt is put together.
pub(super) fn check(request: &RequestValue<'_>) -> Result<(), HttpError> {
    form(request)?;
    let mut breakpoints = Vec::new();
    for part in ["tools", "system"] {
        for place in request.get(part).iter().flat_map(items) {
            breakpoints.extend(place.get_nullable("cache_control"));
        }
    }
    for message in request.get("messages").iter().flat_map(items) {
        for block in message.get("content").iter().flat_map(items) {
            for inner in block.get("content").iter().flat_map(items) {
                breakpoints.extend(inner.get_nullable("cache_control"));
            }
            breakpoints.extend(block.get_nullable("cache_control"));
        }
    }
    breakpoints.extend(request.get_nullable("cache_control"));
    if breakpoints.len() > MOST_BREAKPOINTS {
        let count = breakpoints.len();
        return Err(HttpError::invalid(format!(
            "A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {count}."
        )));
    }
    let is_long = |control: &&RequestValue<'_>| control.value().get("ttl") == Some(&Value::from("1h"));
    let late = breakpoints.iter().skip_while(is_long).find(is_long);
    late.map_or(Ok(()), |control| {
        Err(HttpError::invalid(format!(
            "{}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that \
             blocks are processed in the following order: `tools`, `system`, `messages`.",
            control.path()
        )))
    })
}

/// The items of a place that may also be a text.
fn items<'a>(place: &RequestValue<'a>) -> Vec<RequestValue<'a>> {
    if place.value().is_array() { place.items().unwrap_or_default() } else { Vec::new() }
}
