//! Maintenance of a database: deletion of old checkpoints and of unreferenced data, sizes, and checks.

mod background;
mod collect;
mod cut;
mod past;
#[cfg(feature = "encryption")]
mod rekey;
mod usage;
mod verify;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use tokio_postgres::Client;

pub(crate) use self::background::{Background, Pruning};
use self::cut::Cut;
pub(crate) use self::past::columns;
use super::call::Call;
use super::database::{Database, Repeat, begin_snapshot};
use super::error::Fault;
use super::saver::PostgresSaver;
use super::session::Session;
use crate::maintenance::{Collected, Pruned, Retained, Retention};
use crate::retention::Policy;

impl PostgresSaver {
    /// Deletes the checkpoints that the retention does not keep, with their emitted events, their work, and the threads of
    /// the subgraphs that their tasks ran. The remaining checkpoints keep their values, and programs can continue from them:
    /// the same ones as after [`maintenance::prune`](crate::maintenance::prune()) of a file.
    ///
    /// Programs may use the database. The work is done in transactions of at most 1,024 checkpoints, during which no other
    /// program commits a step. Checkpoints from which another program continues in the meantime are kept.
    ///
    /// # Errors
    /// Returns [`StoreError::Corrupt`] if a required row is damaged, and [`StoreError::Busy`] and [`StoreError::Io`]. Data
    /// that was pruned before the error stays pruned.
    pub async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        self.session().prune(&retention.clone().into(), &mut pruned).await?;
        Ok(pruned)
    }

    /// Deletes unreferenced data. No thread, checkpoint, value or result changes.
    ///
    /// Programs may use the database. Schemas and topologies of graphs are always kept. Deletions and prunings leave no
    /// unreferenced changes, so what is found is work that no reader sees, and expired events of a server.
    ///
    /// # Errors
    /// Returns [`StoreError::Busy`] and [`StoreError::Io`].
    pub async fn collect(&self) -> Result<Collected, StoreError> {
        let database = self.session().database();
        let mut attempts = database.attempts();
        loop {
            match collect_once(database).await {
                Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?,
                Ok(collected) => return Ok(collected),
            }
        }
    }

    /// Returns the amounts that [`prune`](Self::prune) would delete, and [`collect`](Self::collect) after it. Both are done in
    /// one transaction, which is rolled back.
    ///
    /// # Errors
    /// Returns the errors of [`prune`](Self::prune).
    pub async fn prunable(&self, retention: &Retention) -> Result<(Pruned, Collected), StoreError> {
        let database = self.session().database();
        let mut attempts = database.attempts();
        loop {
            match self.session().rehearse(&retention.clone().into()).await {
                Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?,
                Ok(amounts) => return Ok(amounts),
            }
        }
    }

    /// Prunes and collects now, by the [retention](crate::PostgresOptions::retention) of the options, instead of at the next
    /// scheduled pass. Waits for a pass of this saver that is in progress.
    ///
    /// # Errors
    /// Returns the errors of [`prune`](Self::prune).
    pub async fn retain(&self) -> Result<(Pruned, Collected), StoreError> {
        match self.pruning() {
            Some(pruning) => pruning.pass().await,
            None => Ok(Default::default()),
        }
    }

    /// Returns the work of the background pruning so far; `None` if the saver prunes nothing.
    #[must_use]
    pub fn retained(&self) -> Option<Retained> {
        self.pruning().map(Pruning::done)
    }

    /// Prunes these threads to their latest checkpoints now.
    pub(crate) async fn prune_to_latest(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        // A retention of no thread in particular would be one of all.
        if threads.is_empty() {
            return Ok(());
        }
        let latest = Retention::new().keep_last(1);
        self.prune(&threads.iter().cloned().fold(latest, Retention::only)).await.map(drop)
    }
}

impl Session {
    /// Prunes; returns the number of remaining checkpoints.
    pub(crate) async fn prune(&self, policy: &Policy, pruned: &mut Pruned) -> Result<u64, StoreError> {
        if policy.keeps_all() {
            return Ok(0);
        }
        let database = self.database();
        let mut attempts = database.attempts();
        loop {
            let mut cut = match self.plan(policy).await {
                Ok(cut) => cut,
                Err(fault) => {
                    attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?;
                    continue;
                }
            };
            while !cut.is_done() {
                match cut.carry_on(self).await {
                    Ok(Some(told)) => {
                        pruned.add(told);
                        attempts = database.attempts();
                    }
                    // Another program has begun to use a checkpoint that was to be deleted, or has pruned.
                    Ok(None) => break,
                    Err(fault) => {
                        attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?;
                        break;
                    }
                }
            }
            if cut.is_done() {
                return Ok(cut.len());
            }
            attempts.at_once()?;
        }
    }

    async fn plan(&self, policy: &Policy) -> Result<Cut, Fault> {
        let mut connection = self.database().connection().await?;
        let transaction = begin_snapshot(&mut connection).await?;
        let cut = Cut::plan(self, transaction.client(), policy).await?;
        transaction.commit().await.map_err(|error| Fault::of(&error))?;
        Ok(cut)
    }

    /// Prunes and collects in a transaction that is rolled back.
    async fn rehearse(&self, policy: &Policy) -> Result<(Pruned, Collected), Fault> {
        let mut connection = self.database().connection().await?;
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let mut pruned = Pruned::default();
        if !policy.keeps_all() {
            let mut cut = Cut::plan(self, transaction.client(), policy).await?;
            while !cut.is_done() {
                let told = cut.cut(self, transaction.client()).await?;
                pruned.add(told);
            }
        }
        let collected = collect::collect(self.database(), transaction.client()).await?;
        transaction.rollback().await.map_err(failed)?;
        Ok((pruned, collected))
    }
}

async fn collect_once(database: &Database) -> Result<Collected, Fault> {
    let mut connection = database.connection().await?;
    let failed = |error: tokio_postgres::Error| Fault::of(&error);
    let transaction = connection.transaction().await.map_err(failed)?;
    let collected = collect::collect(database, transaction.client()).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(collected)
}

/// Limits the time for which the statements of a transaction wait for a lock.
async fn set_lock_timeout(database: &Database, client: &Client) -> Result<(), Fault> {
    let limit = i64::try_from(database.busy_limit().as_millis().clamp(1, 1 << 31)).unwrap_or(i64::MAX);
    let limit = Call::query("SELECT set_config('lock_timeout', $1, true)").text(format!("{limit}ms"));
    database.on(client, &limit).await.map(drop)
}

/// Begins to change the tree of checkpoints: no thread begins or ends, and no head moves, until the end of the transaction.
async fn lock_threads(database: &Database, client: &Client) -> Result<(), Fault> {
    set_lock_timeout(database, client).await?;
    let lock = format!("LOCK TABLE {}.thread IN EXCLUSIVE MODE", database.schema);
    client.batch_execute(&lock).await.map_err(|error| Fault::of(&error))
}
