//! The node of a flow.

use std::future::Future;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cx::{Cx, codec};
use super::state::stored::FlowState;
use crate::error::NodeError;
use crate::node::{Effects, FromTask, Node, NodeDescription, Task};
use crate::state::{Json, Update};

/// The code of a flow as a node.
pub(super) struct FlowNode<I, F> {
    code: F,
    input: PhantomData<fn(I)>,
}

impl<I, F> FlowNode<I, F> {
    pub(super) fn new(code: F) -> Self {
        Self { code, input: PhantomData }
    }
}

impl<I, O, E, F, Fut> Node<FlowState, ()> for FlowNode<I, F>
where
    I: DeserializeOwned + Send + Sync + 'static,
    O: Serialize + Send + 'static,
    E: Into<NodeError> + Send + 'static,
    F: Fn(Cx<I>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
{
    type Output = Result<Update<FlowState>, NodeError>;

    fn call(&self, task: Task<FlowState, ()>) -> impl Future<Output = Self::Output> + Send {
        let started = Cx::of(&task).map(|cx| {
            let saved = cx.saved();
            ((self.code)(cx), saved)
        });
        // The state is returned to the driver at once, because the code already has the data that it needs.
        drop(task);
        async move {
            let (running, saved) = started?;
            let returned = Json::encode(&running.await.map_err(Into::into)?);
            let returned = returned.map_err(|error| codec(error.within("what the flow returned")))?;
            let saved = saved.take().unwrap_or_else(|| returned.clone());
            Ok(FlowState::update().returned(returned).saved(saved))
        }
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<FlowState, ()>>::describe(node, 0);
    }
}
