//! "A real model" of `docs/tutorial.md`.

use std::sync::Arc;

use superstep::nodes::ModelName;
use superstep::nodes::model::ChatModel;

fn model() -> Result<Arc<dyn ChatModel>, Box<dyn std::error::Error>> {
    let model = "anthropic:claude-sonnet-4-5".parse::<ModelName>()?.open()?;
    Ok(model)
}

#[test]
fn a_provider_needs_its_key() {
    let has_key = std::env::var_os("ANTHROPIC_API_KEY").is_some_and(|key| !key.is_empty());
    assert_eq!(model().is_ok(), has_key);
}
