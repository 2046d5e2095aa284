//! Names of checkpoints: methods of a thread and of a checkpoint.

use std::sync::Arc;
use std::vec::Vec;

use super::past::Past;
use super::thread::Thread;
use crate::checkpoint::{At, CheckpointName, Checkpointer, CheckpointerExt, NamedCheckpoint, Naming};
use crate::id::ThreadId;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::StateForm;

impl<S: StateForm> Past<S> {
    /// Gives this checkpoint a name on its thread, by which [`thread.named`](Thread::named) finds it. A checkpoint
    /// may have several names. A checkpoint with a name is kept when older ones are pruned.
    ///
    /// # Errors
    /// Returns [`ThreadError::Name`] if the name is invalid,
    /// [`StoreError::NameTaken`](crate::checkpoint::StoreError::NameTaken) if another checkpoint of the thread has
    /// it, and other errors if the store fails.
    pub async fn name(&self, name: &str) -> Result<(), ThreadError> {
        let (runtime, thread, loaded) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let naming = Naming::Give { name: name.parse()?, checkpoint: loaded.checkpoint.id };
        change(saver, thread, naming).await
    }
}

impl<S: StateForm> Thread<S> {
    /// Returns the checkpoint to which the thread gave this name.
    ///
    /// # Errors
    /// Returns [`ThreadError::Name`] if the name is invalid, and other errors if no checkpoint has it, or the store
    /// fails.
    pub async fn named(&self, name: &str) -> Result<Past<S>, ThreadError> {
        self.past(At::Named(name.parse()?)).await
    }

    /// Returns the thread's names for checkpoints, ordered by name.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or its store fails.
    pub async fn names(&self) -> Result<Vec<NamedCheckpoint>, ThreadError> {
        Ok(self.saver()?.names(self.id()).await?)
    }

    /// Renames a checkpoint.
    ///
    /// # Errors
    /// Returns [`ThreadError::Name`] if a name is invalid, and other errors if no checkpoint has the first name,
    /// another one has the second, or the store fails.
    pub async fn rename_checkpoint(&self, from: &str, to: &str) -> Result<(), ThreadError> {
        let [from, to]: [CheckpointName; 2] = [from.parse()?, to.parse()?];
        change(self.saver()?, self.id(), Naming::Rename { from, to }).await
    }

    /// Removes a name. The checkpoint stays.
    ///
    /// # Errors
    /// Returns [`ThreadError::Name`] if the name is invalid, and other errors if no checkpoint has it, or the store
    /// fails.
    pub async fn remove_name(&self, name: &str) -> Result<(), ThreadError> {
        change(self.saver()?, self.id(), Naming::Remove { name: name.parse()? }).await
    }
}

async fn change(saver: &Arc<dyn Checkpointer>, thread: &ThreadId, naming: Naming) -> Result<(), ThreadError> {
    Ok(saver.name(thread, naming).await?)
}
