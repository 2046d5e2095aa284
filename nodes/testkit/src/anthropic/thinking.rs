//! Thinking: how it is asked for, and where its blocks must stand.

use serde_json::Value;

use super::content::{Message, is};
use crate::HttpError;
use crate::request_value::RequestValue;

const LEAST_BUDGET: u64 = 1024;

/// The form in which a model must be asked to think. Older models require a budget, newer ones think as much as they
/// need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingForm {
    /// In either form.
    #[default]
    Any,
    /// With a budget: `{"type": "enabled", "budget_tokens": ..}`.
    Budget,
    /// Without: `{"type": "adaptive"}`.
    Adaptive,
}

impl ThinkingForm {
    /// Checks that a request, whose shape is right, asks for thinking in this form.
    pub(crate) fn check(self, body: &Value) -> Result<(), HttpError> {
        let asked = body.pointer("/thinking/type").and_then(Value::as_str);
        match (self, asked) {
            (Self::Adaptive, Some("enabled")) => Err(HttpError::invalid(
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
                 \"output_config.effort\" to control thinking behavior.",
            )),
            (Self::Budget, Some("adaptive" | "between_tools")) => {
                Err(HttpError::invalid("adaptive thinking is not supported on this model"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks how thinking is asked for, and what it excludes.
pub(super) fn check(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let Some(thinking) = request.get("thinking") else {
        return Ok(());
    };
    let kind = thinking.tag(&["adaptive", "between_tools", "disabled", "enabled"])?;
    let place = thinking.tagged(kind);
    match kind {
        "enabled" => {
            place.only(&["type", "budget_tokens", "display"])?;
            let budget = place.need("budget_tokens")?.whole(LEAST_BUDGET)?;
            let most = request.value().get("max_tokens").and_then(Value::as_u64);
            if most.is_some_and(|most| most <= budget) {
                return Err(HttpError::invalid(
                    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation \
                     at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-\
                     context-window-size",
                ));
            }
        }
        "disabled" => return place.only(&["type"]),
        _ => place.only(&["type", "display"])?,
    }
    place.get_nullable("display").map(|display| display.one_of(&["summarized", "omitted"])).transpose()?;
    let forced = request.value().pointer("/tool_choice/type").and_then(Value::as_str);
    if matches!(forced, Some("any" | "tool")) {
        return Err(HttpError::invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    if request.value().get("temperature").and_then(Value::as_f64).is_some_and(|heat| heat < 1.0) {
        return Err(HttpError::invalid("`temperature` may only be set to 1 when thinking is enabled."));
    }
    if request.get("top_k").is_some() {
        return Err(HttpError::invalid("`top_k` must be unset when thinking is enabled."));
    }
    Ok(())
}

/// Checks where thinking stands: never last in a message and, with a budget, first in the turn whose tools
/// have just run.
pub(super) fn check_last_turn(request: &RequestValue<'_>, messages: &[Message<'_>]) -> Result<(), HttpError> {
    for message in messages {
        if message.blocks.last().is_some_and(is_thinking) {
            return Err(message
                .place
                .refuse("The final block in an assistant message cannot be `thinking`."));
        }
    }
    let has_budget = request.value().pointer("/thinking/type").is_some_and(|kind| kind == "enabled");
    let [.., turn, results] = messages else {
        return Ok(());
    };
    if !has_budget || results.blocks_of("tool_result").next().is_none() {
        return Ok(());
    }
    match turn.blocks.first() {
        Some(first) if !is_thinking(first) => {
            let found = first.value().get("type").and_then(Value::as_str).unwrap_or_default();
            Err(HttpError::invalid(format!(
                "{}.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is \
                 enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost \
                 set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from \
                 previous turns. To avoid this requirement, disable `thinking`.",
                first.path()
            )))
        }
        _ => Ok(()),
    }
}

fn is_thinking(block: &RequestValue<'_>) -> bool {
    is(block, "thinking") || is(block, "redacted_thinking")
}
