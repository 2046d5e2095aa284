//! Names of the semantic conventions for generative AI.
//!
//! They are those of version 1.41.0, the last one in OpenTelemetry's general conventions; they are in development, and
//! continue in a repository of their own. They are written here, as a crate of all conventions would change them with
//! its version.

/// The version of the conventions that these names are from.
pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const EVALUATION: &str = "gen_ai.evaluation.result";
pub(super) const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
pub(super) const SCORE: &str = "gen_ai.evaluation.score.value";
pub(super) const SCORE_LABEL: &str = "gen_ai.evaluation.score.label";
pub(super) const ERROR: &str = "error.type";

/// The values of [`OPERATION`].
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const CHAT: &str = "chat";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
