//! Values of a type, asked of a model.

use std::fmt::{self, Display};
use std::future::IntoFuture;
use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Addend, Overflow};

use super::{ChatModel, ModelError, ModelReply, ModelRequest, OutputFormat, StopReason, Usage};
use crate::message::{Message, MessageId};
use crate::text::without_fence;
#[cfg(feature = "schema-validation")]
use crate::value_schema::ValueSchema;

/// The default number of attempts.
pub(crate) const ATTEMPTS: u32 = 2;

/// Methods of every [`ChatModel`], whatever its implementation.
pub trait ChatModelExt: ChatModel {
    /// Asks for a value of a type: the reply that is awaited has it, or the error says why there is none.
    ///
    /// The JSON Schema of `T` goes along as the request's [output format](OutputFormat), to which the provider holds its model
    /// where it can, and in words behind the instructions for where it cannot. The reply is checked against the schema (feature
    /// `schema-validation`), read as `T`, and [checked](Structured::check) further if that is said. One that
    /// does not pass is shown to the model with what is wrong with it, and the model is asked again: twice in all, or as often as
    /// [`attempts`](Structured::attempts) says. Errors of the model itself are not tried again; tools that it asks for are not run.
    ///
    /// ```
    /// use superstep_nodes::message::Message;
    /// use superstep_nodes::model::{ChatModelExt, ModelRequest, Purpose, Scripted};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     name: String,
    ///     /// The number of people who live there.
    ///     inhabitants: u64,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let model = Scripted::new()
    ///     .say("Paris has about two million inhabitants.")
    ///     .say(r#"{ "name": "Paris", "inhabitants": 2102650 }"#);
    /// let question = [Message::human("m1", "What is the largest city of France?")];
    /// let city = model.structured::<City>(ModelRequest::new(Purpose::Agent, question)).await?.value;
    /// assert_eq!((city.name.as_str(), city.inhabitants), ("Paris", 2_102_650));
    /// # Ok::<(), superstep_nodes::model::StructuredError>(())
    /// # }).unwrap();
    /// ```
    fn structured<T>(&self, request: ModelRequest) -> Structured<'_, Self, T> {
        Structured { model: self, request, attempts: ATTEMPTS, check: Box::new(|_| Ok(())) }
    }
}

impl<M: ChatModel + ?Sized> ChatModelExt for M {}

/// A value that a model is asked for when this is awaited: see [`ChatModelExt::structured`].
#[must_use = "nothing is asked before it is awaited"]
pub struct Structured<'m, M: ?Sized, T> {
    model: &'m M,
    request: ModelRequest,
    attempts: u32,
    check: Box<Check<'m, T>>,
}

type Check<'m, T> = dyn Fn(&T) -> Result<(), String> + Send + Sync + 'm;

/// A value that a model gave, and the reply that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StructuredReply<T> {
    /// The value.
    pub value: T,
    /// The reply.
    pub reply: ModelReply,
    /// The usage of all attempts.
    pub usage: Usage,
    /// The number of attempts.
    pub attempts: u32,
}

/// An error of [`ChatModelExt::structured`]: there is no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredError {
    /// The model could not be asked. Do what its error says.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No reply is a value of the type. Ask for less, in other words, or another model; the last reply shows what it gave.
    #[error("the model was asked {attempts} times for a value, and its last reply cannot be used: {reason}")]
    Reply {
        /// The mistake in the last reply.
        reason: String,
        /// The number of attempts.
        attempts: u32,
        /// The last reply.
        last: Box<ModelReply>,
    },
    /// The schema of the type is none that values can be checked against. Correct the type's `JsonSchema`.
    #[error("the JSON Schema of the type cannot be used: {reason}")]
    Schema {
        /// The mistake in it.
        reason: String,
    },
}

impl<'m, M: ChatModel + ?Sized, T> Structured<'m, M, T> {
    /// Asks the model so often at most; once in any case.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Checks a value further than its schema does: what is returned as an error is shown to the model.
    pub fn check(mut self, check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'm) -> Self {
        self.check = Box::new(check);
        self
    }

    async fn ask(self) -> Result<StructuredReply<T>, StructuredError>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let Self { model, request, attempts: most, check } = self;
        let OutputFormat::Json { name, schema } = OutputFormat::json::<T>() else {
            unreachable!("the form of a type is JSON");
        };
        let form = Form::<T>::of(&schema)?;
        let words =
            format!("Answer with one JSON value and nothing else. It fits this JSON Schema:\n{schema}");
        let system = request.system.iter().cloned().chain([words]).collect::<Vec<_>>().join("\n\n");
        let request = request.with_system(system).with_output(OutputFormat::Json { name, schema });
        let mut attempts = Attempts::new(request, most, "structured");
        let mut usage = Usage::default();
        loop {
            let reply = model.complete(attempts.request()).await?;
            attempts.count();
            usage = sum(usage, reply.usage);
            match form.read(&reply).and_then(|value| check(&value).map(|()| value)) {
                Ok(value) => return Ok(StructuredReply { value, reply, usage, attempts: attempts.made }),
                Err(reason) if attempts.are_used_up() => {
                    return Err(StructuredError::Reply {
                        reason,
                        attempts: attempts.made,
                        last: Box::new(reply),
                    });
                }
                Err(reason) => attempts.correct(reply, reason),
            }
        }
    }
}

/// Adds two usages. A sum that overflows is the largest there is.
fn sum(mut usage: Usage, more: Usage) -> Usage {
    match usage.try_add(more) {
        Ok(()) => usage,
        Err(Overflow { .. }) => Usage::of(u64::MAX, u64::MAX),
    }
}

impl<'m, M: ChatModel + ?Sized, T> IntoFuture for Structured<'m, M, T>
where
    T: DeserializeOwned + JsonSchema + Send + 'static,
{
    type Output = Result<StructuredReply<T>, StructuredError>;
    type IntoFuture = BoxFuture<'m, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}

impl<M: ChatModel + ?Sized, T> fmt::Debug for Structured<'_, M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Structured")
            .field("model", &self.model.name())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// A request for a value, which is made again with what is wrong with each reply until the attempts are used up.
pub(crate) struct Attempts {
    request: ModelRequest,
    most: u32,
    made: u32,
    /// The prefix of the ids of the messages that are added.
    id: MessageId,
    corrections: u32,
}

impl Attempts {
    pub(crate) fn new(request: ModelRequest, most: u32, id: impl Into<MessageId>) -> Self {
        Self { request, most, made: 0, id: id.into(), corrections: 0 }
    }

    pub(crate) fn request(&self) -> ModelRequest {
        self.request.clone()
    }

    /// Counts an attempt: a reply that was given now, and not taken from a record.
    pub(crate) fn count(&mut self) {
        self.made += 1;
    }

    pub(crate) fn are_used_up(&self) -> bool {
        self.made >= self.most
    }

    /// Shows the model its reply and what is wrong with it.
    pub(crate) fn correct(&mut self, reply: ModelReply, wrong: impl Display) {
        self.corrections += 1;
        let id = |of: &str| MessageId::new(format!("{}.{of}-{}", self.id, self.corrections));
        let said = Message::ai(id("reply"), reply.content);
        let text = format!("That cannot be used: {wrong}. Answer again, in the form that was asked for.");
        let wrong = Message::human(id("again"), text);
        self.request.messages.extend([said, wrong]);
    }
}

/// Reads a reply that is one JSON value; a code fence around it is forgiven.
pub(crate) fn parse<T: DeserializeOwned>(reply: &ModelReply) -> Result<T, String> {
    serde_json::from_str(without_fence(&reply.text())).map_err(|error| match reply.stop {
        StopReason::MaxTokens | StopReason::WindowFull => {
            format!("it reached the limit of the output before its end ({error}); be shorter")
        }
        _ => error.to_string(),
    })
}

/// The form of a type's values.
struct Form<T> {
    #[cfg(feature = "schema-validation")]
    schema: ValueSchema,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Form<T> {
    #[cfg(feature = "schema-validation")]
    fn of(schema: &serde_json::Value) -> Result<Self, StructuredError> {
        let schema = ValueSchema::compile(schema).map_err(|reason| StructuredError::Schema { reason })?;
        Ok(Self { schema, of: PhantomData })
    }

    #[cfg(not(feature = "schema-validation"))]
    fn of(_: &serde_json::Value) -> Result<Self, StructuredError> {
        Ok(Self { of: PhantomData })
    }

    /// Reads a value. The schema names the place of a mistake, so it is asked first.
    fn read(&self, reply: &ModelReply) -> Result<T, String> {
        #[cfg(feature = "schema-validation")]
        self.schema.check(&parse(reply)?)?;
        parse(reply)
    }
}

#[cfg(test)]
mod tests;
