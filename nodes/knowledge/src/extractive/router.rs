//! Deciding how a request is worked on.

use superstep_nodes::model::{ModelError, ModelRequest};
use superstep_nodes::prompt::RouterPrompt;
use superstep_nodes::{NextAction, RoutingDecision};

use super::judge::{read, write};

/// Decides for tools, where there are any: what is not searched cannot be quoted.
pub(super) fn decide(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: RouterPrompt = read(request)?;
    let (action, reasoning) = match prompt.tools.is_empty() {
        true => (NextAction::Respond, "There are no tools."),
        false => (NextAction::UseTools, "Nothing is said here that was not found."),
    };
    write(&RoutingDecision { action, confidence: 1.0, reasoning: reasoning.to_owned() })
}
