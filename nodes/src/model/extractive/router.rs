//! Deciding how a request is worked on.

use super::judge::{read, write};
use crate::model::{ModelError, ModelRequest};
use crate::prompt::RouterPrompt;
use crate::{NextAction, RoutingDecision};

/// Decides for tools, where there are any: what is not searched cannot be quoted.
pub(super) fn decide(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: RouterPrompt = read(request)?;
    let (action, reasoning) = match prompt.tools.is_empty() {
        true => (NextAction::Respond, "There are no tools."),
        false => (NextAction::UseTools, "Nothing is said here that was not found."),
    };
    write(&RoutingDecision { action, confidence: 1.0, reasoning: reasoning.to_owned() })
}
