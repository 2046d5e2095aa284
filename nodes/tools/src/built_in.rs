//! The common part of the built-in tools.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_nodes::tool::{
    InvalidInput, Permission, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

/// A tool whose input has a type. The macro [`built_in`] makes a [`Tool`](superstep_nodes::tool::Tool) of it.
#[async_trait]
pub(super) trait BuiltIn: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Returns the description of the tool and its limits, for the model.
    fn describe(&self) -> String;

    /// Returns the effect of a call. A read-only call may run beside others.
    fn effect_of(&self, input: &Self::Input) -> ToolEffect;

    /// Returns the call in one line, for a question for permission.
    fn in_short(&self, input: &Self::Input) -> String;

    async fn run(&self, input: Self::Input, context: &ToolContext) -> Result<ToolOutput, ToolFailure>;

    async fn validate(&self, _: &Self::Input, _: &ToolContext) -> Result<(), InvalidInput> {
        Ok(())
    }

    fn permission(&self, _: &Self::Input) -> Permission {
        Permission::Passthrough
    }

    fn matcher(&self, _: &Self::Input) -> Option<PermissionMatcher> {
        None
    }

    fn time(&self, _: &Self::Input) -> Duration {
        Duration::from_secs(60)
    }

    fn paid_model(&self) -> Option<&str> {
        None
    }
}

/// Reads the input as its type.
pub(super) fn parsed<I: DeserializeOwned>(input: &Value) -> Result<I, InvalidInput> {
    I::deserialize(input).map_err(|error| InvalidInput::new(error.to_string()))
}

/// Runs blocking work on a thread for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let done = superstep_nodes::__private::blocking(work).await;
    done.unwrap_or_else(|| Err(ToolFailure::new("the program is ending")))
}

/// Writes the trait [`Tool`](superstep_nodes::tool::Tool) for a [`BuiltIn`], which has its name as `NAME`.
macro_rules! built_in {
    ($tool:ty) => {
        #[async_trait::async_trait]
        impl superstep_nodes::tool::Tool for $tool {
            fn name(&self) -> &str {
                Self::NAME
            }

            fn prompt(&self) -> String {
                $crate::built_in::BuiltIn::describe(self)
            }

            fn input_schema(&self) -> serde_json::Value {
                superstep_nodes::tool::schema_of::<<Self as $crate::built_in::BuiltIn>::Input>()
            }

            async fn validate_input(
                &self,
                input: &serde_json::Value,
                context: &superstep_nodes::tool::ToolContext,
            ) -> Result<(), superstep_nodes::tool::InvalidInput> {
                let input = $crate::built_in::parsed(input)?;
                $crate::built_in::BuiltIn::validate(self, &input, context).await
            }

            async fn check_permissions(
                &self,
                input: &serde_json::Value,
                _: &superstep_nodes::tool::ToolContext,
            ) -> superstep_nodes::tool::Permission {
                match $crate::built_in::parsed(input) {
                    Ok(input) => $crate::built_in::BuiltIn::permission(self, &input),
                    Err(invalid) => superstep_nodes::tool::Permission::Deny(invalid.reason),
                }
            }

            async fn call(
                &self,
                input: serde_json::Value,
                context: &superstep_nodes::tool::ToolContext,
            ) -> Result<superstep_nodes::tool::ToolOutput, superstep_nodes::tool::ToolFailure> {
                $crate::built_in::BuiltIn::run(self, serde_json::from_value(input)?, context).await
            }

            fn map_result(
                &self,
                result: Result<superstep_nodes::tool::ToolOutput, superstep_nodes::tool::ToolFailure>,
            ) -> superstep_nodes::tool::ToolResult {
                superstep_nodes::tool::ToolResult::of(Self::NAME, result)
            }

            fn is_read_only(&self, input: &serde_json::Value) -> bool {
                self.effect(input) == superstep_nodes::tool::ToolEffect::ReadOnly
            }

            fn is_concurrency_safe(&self, input: &serde_json::Value) -> bool {
                self.is_read_only(input)
            }

            fn effect(&self, input: &serde_json::Value) -> superstep_nodes::tool::ToolEffect {
                let effect = |input| $crate::built_in::BuiltIn::effect_of(self, &input);
                $crate::built_in::parsed(input).map_or(superstep_nodes::tool::ToolEffect::Changes, effect)
            }

            fn permission_matcher(
                &self,
                input: &serde_json::Value,
            ) -> Option<superstep_nodes::tool::PermissionMatcher> {
                let input = $crate::built_in::parsed(input).ok()?;
                $crate::built_in::BuiltIn::matcher(self, &input)
            }

            fn classifier_input(&self, input: &serde_json::Value) -> Option<String> {
                let input = $crate::built_in::parsed(input).ok()?;
                Some($crate::built_in::BuiltIn::in_short(self, &input))
            }

            fn paid_model(&self) -> Option<&str> {
                $crate::built_in::BuiltIn::paid_model(self)
            }

            fn timeout(&self, input: &serde_json::Value) -> Option<std::time::Duration> {
                let time = |input| $crate::built_in::BuiltIn::time(self, &input);
                let least = std::time::Duration::from_secs(60);
                Some($crate::built_in::parsed(input).map_or(least, time))
            }
        }
    };
}

pub(super) use built_in;
