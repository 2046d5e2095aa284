//! The snapshots of a folder.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use superstep_nodes::__private::blocking;

use super::place::Root;
use super::stat::nanoseconds;
use super::store::Store;
use super::taking::{State, Take};
use super::{Change, NotCovered, Restore, Restored, SnapshotError, SnapshotId, Swept, Taken};

/// The snapshots of a folder. Clones are handles to the same snapshots.
///
/// Several sessions may take snapshots of a folder with one store, also from several processes. The folder is opened
/// once: one that is put in its place later is not covered.
#[derive(Clone)]
pub struct Snapshots {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

/// The store and the limits of snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// The SQLite file that has the snapshots, made if it is not there. If the folder of this file is below the covered
    /// folder, it is left out.
    pub file: PathBuf,
    /// The size in bytes above which a file is not covered.
    pub max_file_bytes: u64,
    /// The number of files above which a folder is not covered, with those of all folders below it that are covered.
    pub max_files: usize,
}

impl SnapshotOptions {
    /// Makes options with a store, and limits of 10 MiB a file and 200,000 files a folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), max_file_bytes: 10 << 20, max_files: 200_000 }
    }
}

impl Snapshots {
    /// Opens the snapshots of a folder. It blocks for a moment, and reads no file of the folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the store cannot be opened, and if the store is directly in the folder.
    pub fn open(folder: &Path, options: SnapshotOptions) -> Result<Self, SnapshotError> {
        let root = Root::open(folder, &options)?;
        let folder = root.path.clone();
        let state = State::new(root, Store::open(&options.file)?, options.max_files);
        Ok(Self { folder, state: Arc::new(Mutex::new(state)) })
    }

    /// Returns a path relative to the folder, in the form of the names that snapshots [take](Self::take).
    pub(crate) fn relative(&self, path: &str) -> String {
        let inside = Path::new(path).strip_prefix(&self.folder);
        inside.map_or_else(|_| path.to_owned(), |inside| inside.to_string_lossy().into_owned())
    }

    /// Takes a snapshot. If nothing has changed since the one before, that one is returned.
    ///
    /// The names are paths relative to the folder that are covered whatever a `.gitignore` says: the files that a tool is
    /// about to write, and so on in all snapshots that follow this one. Name them before the call and not only after it:
    /// without the content before, a restore leaves the file as it is.
    ///
    /// A caller that does not wait any longer gets a snapshot nevertheless.
    ///
    /// # Errors
    ///
    /// Fails if the store does not have the snapshot before, or cannot be written. Files that cannot be read are listed
    /// in [`Taken::not_covered`].
    pub async fn take(
        &self,
        before: Option<SnapshotId>,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Taken, SnapshotError> {
        let names = names.into_iter().map(Into::into).collect();
        self.run(move |state, now| state.take(&Take { before, names, now, ..Take::default() })).await
    }

    /// Plans to take back all own changes between a snapshot and an earlier one, and changes nothing.
    ///
    /// `from` is the last snapshot of the session, and `own` has the [changes](Taken::change) of its calls; those before
    /// `to` do not matter. A file returns to its state before the first of them.
    ///
    /// Changes of agents beside the session are on other lines of snapshots. They are recognised by what they made of a
    /// file: if it was replaced between two calls of the session as one of them did, the change is an own one.
    ///
    /// A file is foreign if its content now, or between two of the changes, is not that of the call before.
    ///
    /// # Errors
    ///
    /// Fails if the store does not have the snapshots, or if the one did not lead to the other.
    pub async fn plan(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        own: &[Change],
    ) -> Result<Restore, SnapshotError> {
        let own = own.to_vec();
        self.run(move |state, _| state.plan(from, to, &own)).await
    }

    /// Returns the snapshot before the first of these changes that led to a snapshot; that one if none did.
    pub(crate) async fn before_first(
        &self,
        from: SnapshotId,
        own: &[Change],
    ) -> Result<SnapshotId, SnapshotError> {
        let own = own.to_vec();
        self.run(move |state, _| {
            let line = state.store.line(from)?;
            let first = own.iter().find(|change| line.contains(&change.after));
            Ok(first.map_or(from, |change| change.before))
        })
        .await
    }

    /// Carries out a plan, after a snapshot that makes it possible to [take it back](Restored::change).
    ///
    /// Each file is replaced at once, by a rename. A file that has changed since the plan was made is left. If the process
    /// ends meanwhile, every file is in its old state or in its new one, and the same plan can be carried out again.
    ///
    /// A change by another program between the last check of a file and its rename is lost. After a loss of power, a file
    /// may be empty; the store has its content, and the next plan names it as foreign.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or written; the plan can then be carried out again. Files that cannot be written
    /// are listed in [`Restored::left`].
    pub async fn restore(&self, plan: &Restore) -> Result<Restored, SnapshotError> {
        let plan = plan.clone();
        self.run(move |state, now| state.restore(&plan, now)).await
    }

    /// Writes all files of a snapshot into another folder, which is made if it is not there; returns what the snapshot
    /// does not cover.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not empty or cannot be written, or if a content is damaged. The folder then has a part of the
    /// files.
    pub async fn materialise(&self, id: SnapshotId, folder: &Path) -> Result<Vec<NotCovered>, SnapshotError> {
        let folder = folder.to_owned();
        self.run(move |state, _| state.materialise(id, &folder)).await
    }

    /// Copies snapshots, with all that led to them, into the store of another folder, which is made if it does not exist.
    /// A session that continues there, such as a [fork](crate::rewind::fork), can then be taken back to its earlier steps.
    ///
    /// # Errors
    ///
    /// Fails if a snapshot is not in this store, and if one of the stores cannot be read or written; the other one then is
    /// as before.
    pub async fn copy_to(
        &self,
        ids: impl IntoIterator<Item = SnapshotId>,
        store: &Path,
    ) -> Result<(), SnapshotError> {
        let (ids, store): (Vec<_>, _) = (ids.into_iter().collect(), store.to_owned());
        self.run(move |state, now| state.store.copy(&ids, &store, now)).await
    }

    /// Deletes all snapshots that are neither kept nor taken at a time or after it, and then all contents that no
    /// snapshot has any longer.
    ///
    /// Keep the snapshots that sessions [refer to](crate::rewind::referenced). Choose a time before they were read, such as
    /// an hour ago: a session that runs meanwhile refers to snapshots that it has taken since.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written; nothing is deleted then.
    pub async fn collect(
        &self,
        keep: HashSet<SnapshotId>,
        taken_since: SystemTime,
    ) -> Result<Swept, SnapshotError> {
        self.run(move |state, _| state.collect(&keep, nanoseconds(taken_since))).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut State, i64) -> Result<T, SnapshotError> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        let state = Arc::clone(&self.state);
        // The state is changed when work is done, so a panic leaves it in order.
        let work = move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut state, nanoseconds(SystemTime::now()))
        };
        blocking(work).await.unwrap_or(Err(SnapshotError::Stopped))
    }
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").field("folder", &self.folder).finish_non_exhaustive()
    }
}
