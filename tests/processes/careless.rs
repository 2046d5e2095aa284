//! A mutant: a saver without the compare-and-swap, which commits on whatever head it finds.

use std::sync::Arc;

use async_trait::async_trait;
use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, StoreError};
use superstep::driver::checkpoint::{Around, Commit, Committed};

pub(crate) struct Careless(pub(crate) Arc<dyn Checkpointer>);

#[async_trait]
impl Around for Careless {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.0
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        loop {
            let head = self.0.history(&commit.thread, At::Head, 1).await?;
            let expected = head.first().map(|head| head.id);
            match self.0.commit(Commit { expected, ..commit.clone() }).await? {
                // Another process committed in between.
                Committed::Conflict { .. } => {}
                committed => return Ok(committed),
            }
        }
    }
}
