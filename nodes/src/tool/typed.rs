//! Tools made of async functions.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tool, ToolEffect, ToolError, ToolOutput};

/// A tool made of an async function that takes one deserialisable input.
///
/// The schema is the one of the input type. An input that does not deserialise is a
/// [`ToolError::InvalidInput`], an error of the function a [`ToolError::Failed`] with its text.
pub struct TypedTool<I, F> {
    name: String,
    description: String,
    schema: Value,
    effect: ToolEffect,
    run: F,
    input: PhantomData<fn(I)>,
}

impl<I: JsonSchema, F> TypedTool<I, F> {
    /// Makes a tool of a function.
    pub fn new<Fut, O, E>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(I) -> Fut,
        Fut: Future<Output = Result<O, E>>,
    {
        Self {
            name: name.into(),
            description: description.into(),
            schema: schema_for!(I).into(),
            effect: ToolEffect::default(),
            run,
            input: PhantomData,
        }
    }

    /// Declares what a call does to the world. Without this, a call is taken to change it.
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effect = effect;
        self
    }
}

impl<I, F, Fut, O, E> Tool for TypedTool<I, F>
where
    I: DeserializeOwned + 'static,
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
    O: Into<ToolOutput>,
    E: fmt::Display,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn effect(&self) -> ToolEffect {
        self.effect
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let input: I = match serde_json::from_value(input) {
            Ok(input) => input,
            Err(error) => {
                let error = ToolError::InvalidInput { name: self.name.clone(), reason: error.to_string() };
                return Box::pin(std::future::ready(Err(error)));
            }
        };
        let running = (self.run)(input);
        Box::pin(async move {
            running
                .await
                .map(Into::into)
                .map_err(|error| ToolError::Failed { name: self.name.clone(), reason: error.to_string() })
        })
    }
}

impl<I, F> fmt::Debug for TypedTool<I, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTool").field("name", &self.name).finish_non_exhaustive()
    }
}
