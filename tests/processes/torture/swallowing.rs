//! A mutant: a saver that reports a failed commit as successful.

use std::sync::Arc;

use async_trait::async_trait;
use superstep::checkpoint::{Checkpointer, StoreError};
use superstep::driver::checkpoint::{Around, Commit, Committed};

pub(crate) struct Swallowing(pub(crate) Arc<dyn Checkpointer>);

#[async_trait]
impl Around for Swallowing {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.0
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.0.commit(commit).await.or(Ok(Committed::New))
    }
}
