//! Files to begin with.

use std::path::{Path, PathBuf};
use std::{fs, io};

use superstep::prelude::SqliteSaver;

/// A file that was opened once and has no threads, as its bytes.
pub(crate) fn opened() -> Vec<u8> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let path = folder.path().join("opened.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    runtime.block_on(async { drop(SqliteSaver::open(&path).await.expect("a new file")) });
    fs::read(&path).expect("it is there")
}

/// Removes a file and the files beside it.
pub(crate) fn remove(db: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(db, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{}: {error}", db.display()),
            _ => {}
        }
    }
}

/// The path of a file beside a file: its log ends with `-wal`.
pub(crate) fn beside(db: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", db.display()))
}
