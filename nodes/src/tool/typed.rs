//! Tools made of async functions.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tool::{DEFAULT_MAX_RESULT_CHARS, DEFAULT_TIMEOUT};
use super::{
    Concurrency, IntoToolOutput, InvalidInput, Permission, Tool, ToolContext, ToolEffect, ToolFailure,
    ToolOutput, ToolResult,
};

/// A tool made of an async function that takes one deserialisable input.
///
/// The schema is the one of the input type. An input that does not deserialise is not valid, and an error of the
/// function is a failure with its text. What the tool may do is for the registry's policy to say, unless
/// [`with_permissions`](Self::with_permissions) does.
pub struct TypedTool<I> {
    name: String,
    description: String,
    schema: Value,
    effect: ToolEffect,
    concurrency: Option<Concurrency>,
    max_result_chars: usize,
    timeout: Option<Duration>,
    permissions: Option<Box<Permissions<I>>>,
    results: Option<Box<Results>>,
    run: Box<Run<I>>,
}

type Run<I> = dyn Fn(I, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> + Send + Sync;
type Permissions<I> = dyn Fn(&I) -> Permission + Send + Sync;
type Results = dyn Fn(Result<ToolOutput, ToolFailure>) -> ToolResult + Send + Sync;

impl<I: JsonSchema> TypedTool<I> {
    /// Makes a tool of a function.
    pub fn new<Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(I) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output: IntoToolOutput> + Send + 'static,
    {
        Self::with_context(name, description, move |input, _| run(input))
    }

    /// Makes a tool of a function that also takes the circumstances of the call.
    pub fn with_context<Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(I, ToolContext) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output: IntoToolOutput> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: description.into(),
            schema: schema_of::<I>(),
            effect: ToolEffect::default(),
            concurrency: None,
            max_result_chars: DEFAULT_MAX_RESULT_CHARS,
            timeout: Some(DEFAULT_TIMEOUT),
            permissions: None,
            results: None,
            run: Box::new(move |input, context| {
                run(input, context).map(IntoToolOutput::into_tool_output).boxed()
            }),
        }
    }

    /// Declares what a call does to the world. Without this, a call is taken to change it.
    #[must_use]
    pub fn with_effect(mut self, effect: ToolEffect) -> Self {
        self.effect = effect;
        self
    }

    /// Declares whether calls may run beside others. Without this, those may that only look.
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = Some(concurrency);
        self
    }

    /// Limits how long a call may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets a call take forever.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Limits how many characters of text a result may have.
    #[must_use]
    pub fn with_max_result_chars(mut self, max: usize) -> Self {
        self.max_result_chars = max;
        self
    }

    /// Says of each input whether the call may be made.
    #[must_use]
    pub fn with_permissions(mut self, decide: impl Fn(&I) -> Permission + Send + Sync + 'static) -> Self {
        self.permissions = Some(Box::new(decide));
        self
    }

    /// Makes what the model reads of how a call went; without this, it is [`ToolResult::of`].
    ///
    /// ```
    /// # use superstep_nodes::message::ToolCall;
    /// use superstep_nodes::tool::{ToolRegistry, ToolResult, TypedTool};
    ///
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Query {}
    /// let search = TypedTool::new("rag_search", "Searches.", |_: Query| async { Err::<String, _>("no index") })
    ///     .with_results(|result| match result {
    ///         Ok(output) => ToolResult::done(output),
    ///         Err(reason) => ToolResult::failed(format!("Error searching knowledge base: {reason}")),
    ///     });
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let tools = ToolRegistry::new().with(search)?;
    /// let answer = tools.answer("m1", &ToolCall::new("c1", "rag_search", serde_json::json!({}))).await;
    /// assert_eq!(answer.content.to_text(), "Error searching knowledge base: no index");
    /// # Ok::<(), superstep_nodes::tool::RegistryError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn with_results(
        mut self,
        map: impl Fn(Result<ToolOutput, ToolFailure>) -> ToolResult + Send + Sync + 'static,
    ) -> Self {
        self.results = Some(Box::new(map));
        self
    }
}

/// The schema of the type, without what no model needs: which dialect it is in, and the type's name in Rust.
pub fn schema_of<I: JsonSchema>() -> Value {
    let mut schema = schema_for!(I);
    schema.remove("$schema");
    schema.remove("title");
    // An enum, and a type that takes anything, do not say that they are objects; model providers ask for nothing else.
    schema.ensure_object().entry("type").or_insert_with(|| "object".into());
    schema.into()
}

#[async_trait]
impl<I: DeserializeOwned + Send + 'static> Tool for TypedTool<I> {
    fn name(&self) -> &str {
        &self.name
    }

    fn prompt(&self) -> String {
        self.description.clone()
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        I::deserialize(input).map(drop).map_err(|error| InvalidInput::new(error.to_string()))
    }

    async fn check_permissions(&self, input: &Value, _: &ToolContext) -> Permission {
        let Some(decide) = &self.permissions else { return Permission::Passthrough };
        match I::deserialize(input) {
            Ok(input) => decide(&input),
            Err(error) => Permission::Deny(error.to_string()),
        }
    }

    async fn call(&self, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        (self.run)(serde_json::from_value(input)?, context.clone()).await
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        match &self.results {
            Some(map) => map(result),
            None => ToolResult::of(&self.name, result),
        }
    }

    fn is_read_only(&self, _: &Value) -> bool {
        self.effect == ToolEffect::ReadOnly
    }

    fn is_concurrency_safe(&self, input: &Value) -> bool {
        match self.concurrency {
            Some(concurrency) => concurrency == Concurrency::Safe,
            None => self.is_read_only(input),
        }
    }

    fn effect(&self, _: &Value) -> ToolEffect {
        self.effect
    }

    fn max_result_chars(&self) -> usize {
        self.max_result_chars
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        self.timeout
    }
}

impl<I> fmt::Debug for TypedTool<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTool").field("name", &self.name).finish_non_exhaustive()
    }
}
