//! The files that earlier releases wrote: see `graph-checkpoint/tests/fixtures`.

use std::path::{Path, PathBuf};

use superstep::checkpoint::portable::export;
use superstep::checkpoint::{CheckpointReader, SqliteReader};
use tempfile::TempDir;

/// The earlier formats.
pub(crate) const FORMATS: [u32; 5] = [1, 2, 3, 4, 5];

/// A copy of the file of a format, in a folder of its own.
pub(crate) struct Copy {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Copy {
    pub(crate) fn of(format: u32) -> Self {
        let original = format!("graph-checkpoint/tests/fixtures/format-{format}.db");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(original), &path).unwrap();
        Self { folder, path }
    }
}

/// All threads as documents, with all their stored data.
pub(crate) fn exports(path: &Path) -> Vec<String> {
    let reader = SqliteReader::open(path).unwrap();
    let threads = reader.threads().unwrap().into_iter();
    threads.map(|thread| export(&reader, &thread.thread).unwrap().unwrap().to_text()).collect()
}
