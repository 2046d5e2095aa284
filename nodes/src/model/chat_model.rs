//! The trait of all chat models.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::{Accumulator, ModelError, ModelEvent, ModelReply, ModelRequest};

/// A chat model.
///
/// The trait can be used as `Arc<dyn ChatModel>`. An implementation gives [`stream`](Self::stream); the
/// stream owns all it needs, so it may outlive the borrow of the model.
pub trait ChatModel: Send + Sync + 'static {
    /// Returns the name of the model.
    fn name(&self) -> &str;

    /// Starts a call and returns the output of the model, piece by piece.
    ///
    /// An error is the last item of the stream. A stream without an error ends after a stop event.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// Makes a call and returns the whole reply.
    ///
    /// # Errors
    ///
    /// Fails with the stream's error, or with [`ModelError::Stream`] if the stream is no complete reply.
    fn complete(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut events = self.stream(request);
            let mut reply = Accumulator::new(self.name());
            while let Some(event) = events.next().await {
                reply.push(event?)?;
            }
            Ok(reply.finish()?)
        })
    }
}

impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        (**self).stream(request)
    }

    fn complete(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        (**self).complete(request)
    }
}
