//! A model, and others for when it fails.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use super::{ChatModel, ModelError, ModelEvent, ModelRequest};

/// A model, and others that are asked in order if it fails: an overload, refused credentials, an account that is used
/// up, a request that it does not take.
///
/// With [`when`](Self::when) some errors do not lead to the next model, such as those that the node's retry policy is
/// for. A model that has begun its reply is not replaced, as observers have received a part of it. A reply names the
/// model that gave it, and so does a [`Ledger`](super::Ledger). If all models fail, the error is that of the last one.
/// A stream reports the others with [`ModelEvent::Fallback`], so that metrics and traces have them, too.
///
/// ```
/// use superstep_nodes::model::{ChatModel, Fallback, ModelError, ModelRequest, Purpose, Scripted};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let first = Scripted::new().fail(ModelError::OutOfCredit { reason: "0.00".into() });
/// let model = Fallback::new(first).or(Scripted::new().say("Here I am."));
/// let reply = model.complete(ModelRequest::new(Purpose::Agent, vec![])).await.unwrap();
/// assert_eq!(reply.text(), "Here I am.");
/// # });
/// ```
#[derive(Clone)]
pub struct Fallback {
    models: Vec<Arc<dyn ChatModel>>,
    when: Arc<When>,
}

type When = dyn Fn(&ModelError) -> bool + Send + Sync;

impl Fallback {
    /// Takes the model that is asked first.
    pub fn new(model: impl ChatModel) -> Self {
        Self { models: vec![Arc::new(model)], when: Arc::new(|_| true) }
    }

    /// Asks this model if all before it have failed.
    #[must_use]
    pub fn or(mut self, model: impl ChatModel) -> Self {
        self.models.push(Arc::new(model));
        self
    }

    /// Says which errors the next model is asked for.
    #[must_use]
    pub fn when(mut self, when: impl Fn(&ModelError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(when);
        self
    }

    /// Asks the models in order, and returns the stream of the first that does not fail before it speaks.
    async fn begin(self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let mut at = 0;
        let mut fallbacks = Vec::new();
        loop {
            let mut events = self.models[at].stream(request.clone());
            let mut held = Vec::new();
            let failed = loop {
                match events.next().await {
                    // What a model says before it speaks is forgotten if it fails then, but for those that failed
                    // before it.
                    Some(Ok(event @ ModelEvent::Fallback { .. })) => fallbacks.push(Ok(event)),
                    Some(Ok(event @ (ModelEvent::Start { .. } | ModelEvent::Usage(_)))) => {
                        held.push(Ok(event))
                    }
                    Some(Err(error)) if at + 1 < self.models.len() && (self.when)(&error) => {
                        break Some(error);
                    }
                    Some(said) => {
                        held.push(said);
                        break None;
                    }
                    None => break None,
                }
            };
            let Some(error) = failed else {
                return stream::iter(fallbacks).chain(stream::iter(held)).chain(events).boxed();
            };
            let (failed, error) = (self.models[at].name().to_owned(), error.kind().to_owned());
            fallbacks.push(Ok(ModelEvent::Fallback { failed, error }));
            at += 1;
        }
    }
}

impl ChatModel for Fallback {
    /// Returns the name of the model that is asked first.
    fn name(&self) -> &str {
        self.models[0].name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::once(self.clone().begin(request)).flatten().boxed()
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.models.iter().map(|model| model.name()).collect();
        f.debug_tuple("Fallback").field(&names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelReply, Purpose, Scripted, Turn, Usage};

    fn refused() -> ModelError {
        ModelError::Unauthorized { reason: "no such key".into() }
    }

    fn overloaded() -> ModelError {
        ModelError::Overloaded { reason: "busy".into(), retry_after: None }
    }

    async fn ask(model: &Fallback) -> Result<ModelReply, ModelError> {
        model.complete(ModelRequest::new(Purpose::Agent, vec![])).await
    }

    fn other() -> Scripted {
        let reply = ModelReply::new("other", "Hello.").with_usage(Usage::of(3, 1));
        Scripted::new().then(Turn::Reply(reply))
    }

    #[tokio::test]
    async fn s0_027_the_next_model_answers_and_is_named_in_the_reply() {
        let model =
            Fallback::new(Scripted::new().fail(refused())).or(Scripted::new().fail(refused())).or(other());
        let reply = ask(&model).await.unwrap();
        assert_eq!((reply.model.as_str(), &*reply.text()), ("other", "Hello."));
        assert_eq!(model.name(), "scripted");
    }

    #[tokio::test]
    async fn a_stream_tells_of_the_models_that_failed() {
        let inner = Fallback::new(Scripted::new().fail(refused())).or(Scripted::new().fail(refused()));
        let model = Fallback::new(inner).or(other());
        let events: Vec<_> = model.stream(ModelRequest::new(Purpose::Agent, vec![])).collect().await;
        let failed = Ok(ModelEvent::Fallback { failed: "scripted".into(), error: "unauthorized".into() });
        assert_eq!(events[..2], [failed.clone(), failed]);
        assert_eq!(events[2], Ok(ModelEvent::Start { model: "other".into(), request_id: None }));
    }

    #[tokio::test]
    async fn what_may_pass_is_left_to_retries_if_it_is_said_so() {
        let at_once = Fallback::new(Scripted::new().fail(overloaded())).or(other());
        assert_eq!(ask(&at_once).await.unwrap().model, "other");
        let first = Fallback::new(Scripted::new().fail(overloaded())).or(other());
        let first = first.when(|error| !error.is_retryable());
        assert_eq!(ask(&first).await.unwrap_err(), overloaded());
    }

    #[tokio::test]
    async fn a_model_that_has_begun_to_speak_is_not_replaced() {
        let first = Scripted::new().then(Turn::BreakOff("half an ans".into()));
        let model = Fallback::new(first).or(other());
        assert!(matches!(ask(&model).await.unwrap_err(), ModelError::Stream { .. }));
    }

    #[tokio::test]
    async fn if_all_fail_the_error_is_that_of_the_last() {
        let used_up = ModelError::OutOfCredit { reason: "0.00".into() };
        let model = Fallback::new(Scripted::new().fail(refused())).or(Scripted::new().fail(used_up.clone()));
        assert_eq!(ask(&model).await.unwrap_err(), used_up);
    }
}
