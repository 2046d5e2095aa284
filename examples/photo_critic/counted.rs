//! Token usage for a scripted model.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use superstep::nodes::model::{
    ChatModel, ModelError, ModelEvent, ModelRequest, RoughTokens, TokenCounter, Usage,
};

/// A model whose replies report an estimated usage: four characters count as a token, and images as with `gpt-4.1`.
pub(crate) struct Counted<M>(pub(crate) M);

impl<M: ChatModel> ChatModel for Counted<M> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (read, mut said) = (RoughTokens.request(&request), String::new());
        let counted = self.0.stream(request).map(move |event| {
            event.map(|event| {
                match &event {
                    ModelEvent::TextDelta { text } => said.push_str(text),
                    ModelEvent::ToolCallInput { json, .. } => said.push_str(json),
                    ModelEvent::Usage(_) => {
                        return ModelEvent::Usage(Usage::of(read, RoughTokens.text(&said)));
                    }
                    _ => {}
                }
                event
            })
        });
        counted.boxed()
    }
}
