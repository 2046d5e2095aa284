//! Tests of snapshots as a whole, and the folder that they work in.

mod crash;
mod hostile;
pub(crate) mod model;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::place::Root;
use super::store::Store;
use super::taking::{State, Take};
use super::{Change, Restore, Restored, SnapshotId, SnapshotOptions, Taken};

/// A covered folder, with the store beside it.
pub(super) struct Fixture {
    dir: TempDir,
    pub(super) state: State,
}

/// No file is settled at this time, so each is read again.
pub(super) const ALL_RACY: i64 = 0;

/// All files are settled at this time.
pub(super) const ALL_SETTLED: i64 = i64::MAX;

impl Fixture {
    pub(super) fn new() -> Self {
        let dir = scratch();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        std::fs::create_dir(dir.path().join("data")).unwrap();
        let state = open(dir.path(), |_| {});
        Self { dir, state }
    }

    pub(super) fn with(self, change: impl FnOnce(&mut SnapshotOptions)) -> Self {
        let state = open(self.dir.path(), change);
        Self { state, ..self }
    }

    /// Opens the folder again, as another process does.
    pub(super) fn reopen(&mut self) {
        self.state = open(self.dir.path(), |_| {});
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.dir.path().join("folder")
    }

    pub(super) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn write(&self, path: &str, content: &str) {
        let path = self.folder().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        let path = self.folder().join(path);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }

    pub(super) fn take(&mut self, before: impl Into<Option<SnapshotId>>) -> Taken {
        self.take_at(before, &[], ALL_RACY)
    }

    pub(super) fn take_named(&mut self, before: impl Into<Option<SnapshotId>>, names: &[&str]) -> Taken {
        self.take_at(before, names, ALL_RACY)
    }

    pub(super) fn take_at(
        &mut self,
        before: impl Into<Option<SnapshotId>>,
        names: &[&str],
        now: i64,
    ) -> Taken {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.state.take(&Take { before: before.into(), names, now, restoring: &[] }).unwrap()
    }

    /// A call of the session: its snapshots and its change.
    pub(super) fn call(
        &mut self,
        before: impl Into<Option<SnapshotId>>,
        work: impl FnOnce(&Self),
    ) -> (Taken, Change) {
        let before = self.take(before);
        work(self);
        let after = self.take(before.id);
        let change = after.change().unwrap();
        (after, change)
    }

    pub(super) fn plan(&mut self, from: SnapshotId, to: SnapshotId, own: &[Change]) -> Restore {
        self.state.plan(from, to, own).unwrap()
    }

    pub(super) fn restore(&mut self, plan: &Restore) -> Restored {
        self.state.restore(plan, ALL_RACY).unwrap()
    }

    pub(super) fn files(&self) -> Files {
        read(&self.folder())
    }
}

/// A folder in memory where the system has one, as each restored file waits for the disk.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn open(dir: &Path, change: impl FnOnce(&mut SnapshotOptions)) -> State {
    let mut options = SnapshotOptions::new(dir.join("data/snapshots.sqlite"));
    change(&mut options);
    let root = Root::open(&dir.join("folder"), &options).unwrap();
    State::new(root, Store::open(&options.file).unwrap(), options.max_files)
}

/// A file, as a naive copy has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Folder,
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

/// A naive copy of a folder.
pub(crate) type Files = BTreeMap<String, Node>;

pub(crate) fn read(folder: &Path) -> Files {
    fn add(folder: &Path, at: &str, files: &mut Files) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if at.is_empty() { name } else { format!("{at}/{name}") };
            let kind = entry.file_type().unwrap();
            let node = if kind.is_dir() {
                add(&entry.path(), &path, files);
                Node::Folder
            } else if kind.is_symlink() {
                Node::Link(std::fs::read_link(entry.path()).unwrap())
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                Node::File { content: std::fs::read(entry.path()).unwrap(), mode }
            };
            files.insert(path, node);
        }
    }
    let mut files = Files::new();
    add(folder, "", &mut files);
    files
}

pub(crate) fn paths<'f>(files: impl IntoIterator<Item = &'f super::ChangedFile>) -> BTreeSet<&'f str> {
    files.into_iter().map(|file| &*file.path).collect()
}

#[test]
fn copied_snapshots_restore_the_files_of_another_folder() {
    let mut here = Fixture::new();
    here.write("a", "1");
    here.write("dir/b", "1");
    let first = here.take(None);
    here.write("a", "2");
    let second = here.take(Some(first.id));
    here.write("a", "3");
    here.take(Some(second.id));

    let mut there = Fixture::new();
    let store = there.outside().join("data/snapshots.sqlite");
    for _ in 0..2 {
        here.state.store.copy(&[first.id, second.id], &store, ALL_RACY).unwrap();
    }
    there.state.materialise(second.id, &there.folder()).unwrap();
    let plan = there.plan(second.id, first.id, &[second.change().unwrap()]);
    assert_eq!(there.restore(&plan).left, []);
    assert_eq!(std::fs::read_to_string(there.folder().join("a")).unwrap(), "1");
    let unknown = here.state.store.copy(&[there.restore(&plan).after], &store, ALL_RACY);
    assert!(matches!(unknown, Err(super::SnapshotError::Unknown(_))), "{unknown:?}");
}
