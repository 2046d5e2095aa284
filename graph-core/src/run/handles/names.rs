//! Names of checkpoints, on a thread and on a checkpoint of it.

use std::sync::Arc;
use std::vec::Vec;

use super::past::Past;
use super::thread::Thread;
use crate::checkpoint::{At, CheckpointName, Checkpointer, CheckpointerExt, NamedCheckpoint, Naming};
use crate::id::ThreadId;
use crate::run::runtime::error::ThreadError;
use crate::state::StateForm;

impl<S: StateForm> Past<S> {
    /// Gives this checkpoint a name on its thread, which [`thread.named`](Thread::named) finds it by. It may have
    /// several. A checkpoint that has a name stays when older ones are pruned.
    ///
    /// # Errors
    /// [`ThreadError::Name`] when it is none, [`StoreError::NameTaken`](crate::checkpoint::StoreError::NameTaken) when
    /// another checkpoint of the thread has it, or when the store fails.
    pub async fn name(&self, name: &str) -> Result<(), ThreadError> {
        let (runtime, thread, loaded) = self.parts();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let naming = Naming::Give { name: name.parse()?, checkpoint: loaded.checkpoint.id };
        change(saver, thread, naming).await
    }
}

impl<S: StateForm> Thread<S> {
    /// The checkpoint that the thread has this name for.
    ///
    /// # Errors
    /// [`ThreadError::Name`] when it is none, or when no checkpoint has it, or the store fails.
    pub async fn named(&self, name: &str) -> Result<Past<S>, ThreadError> {
        self.past(At::Named(name.parse()?)).await
    }

    /// The names that the thread has for checkpoints, by name.
    ///
    /// # Errors
    /// When the graph has no checkpointer, or its store fails.
    pub async fn names(&self) -> Result<Vec<NamedCheckpoint>, ThreadError> {
        Ok(self.saver()?.names(self.id()).await?)
    }

    /// Gives a checkpoint another name in the place of the one that it has.
    ///
    /// # Errors
    /// [`ThreadError::Name`] when one of them is none, or when no checkpoint has the first, another one has the
    /// second, or the store fails.
    pub async fn rename_checkpoint(&self, from: &str, to: &str) -> Result<(), ThreadError> {
        let [from, to]: [CheckpointName; 2] = [from.parse()?, to.parse()?];
        change(self.saver()?, self.id(), Naming::Rename { from, to }).await
    }

    /// Takes a name away. The checkpoint stays.
    ///
    /// # Errors
    /// [`ThreadError::Name`] when it is none, or when no checkpoint has it, or the store fails.
    pub async fn remove_name(&self, name: &str) -> Result<(), ThreadError> {
        change(self.saver()?, self.id(), Naming::Remove { name: name.parse()? }).await
    }
}

async fn change(saver: &Arc<dyn Checkpointer>, thread: &ThreadId, naming: Naming) -> Result<(), ThreadError> {
    Ok(saver.name(thread, naming).await?)
}
