//! An encrypted file and the files beside it contain no plain text of states.

use std::fs;

use superstep_checkpoint::maintenance::{self, Existing};

use super::*;

/// Returns the number of times that the canary is in a file.
fn hits(path: &Path) -> usize {
    let bytes = fs::read(path).unwrap();
    bytes.windows(CANARY.len()).filter(|window| *window == CANARY.as_bytes()).count()
}

/// The canaries in all files of a folder, after its log was written, copied, moved into the file, and copied again.
fn leaks(options: SqliteOptions) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut found = 0;
    run(async {
        let open = options.clone().open(&path).await.unwrap();
        everything(&path, options).await;
        maintenance::backup(&path, folder.path().join("copy.db"), Existing::Refuse).unwrap();
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.iter().any(|file| file.to_string_lossy().ends_with("-wal")), "{files:?}");
        let while_open: usize = files.iter().map(|file| hits(file)).sum();
        drop(open);
        found = while_open + hits(&path);
    });
    found
}

#[test]
fn no_text_of_a_state_is_in_an_encrypted_file_its_log_or_a_copy() {
    assert_eq!(leaks(sealed()), 0);
    let plain = leaks(SqliteSaver::options());
    assert!(plain > 100, "a plain file shows what is looked for only {plain} times");
}

#[test]
fn long_texts_are_stored_once_and_tell_other_files_nothing() {
    run(async {
        let (_folder, one) = written(sealed()).await;
        let (_other, two) = written(sealed()).await;
        let hashes = |path: &Path| -> Vec<Vec<u8>> {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut all = connection.prepare("SELECT hash FROM body ORDER BY id").unwrap();
            let rows = all.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let (one, two) = (hashes(&one), hashes(&two));
        assert_eq!(one.len(), 2, "both threads have the same two long texts");
        assert!(one.iter().all(|hash| !two.contains(hash)), "the same texts have the same hashes");
    });
}
