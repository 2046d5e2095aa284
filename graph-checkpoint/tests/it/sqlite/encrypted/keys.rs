//! Files that are opened with wrong keys.

use superstep_checkpoint::{SqliteStore, maintenance};
use superstep_core::checkpoint::{KeyProblem, StoreError};

use super::*;

fn problem<T>(found: Result<T, StoreError>) -> (KeyProblem, String) {
    let error = found.err().expect("it was opened");
    let said = error.to_string();
    match error {
        StoreError::Keys { problem, .. } => (problem, said.rsplit_once("t.db ").unwrap().1.to_owned()),
        other => panic!("{other}"),
    }
}

#[test]
fn each_way_to_have_the_wrong_keys_has_its_own_error() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let wrong = || KeyRing::new("first", Key::new([9; 32]));
        let cases = [
            (problem(SqliteReader::open(&path)), "is encrypted with the key first: open it with its keys"),
            (
                problem(SqliteSaver::open(&path).await),
                "is encrypted with the key first: open it with its keys",
            ),
            (
                problem(SqliteReader::open(file(&path, wrong()))),
                "was encrypted with a different key named first: give that key",
            ),
            (
                problem(SqliteSaver::options().encrypt(wrong()).open(&path).await),
                "was encrypted with a different key named first: give that key",
            ),
            (
                problem(SqliteReader::open(file(&path, second_key()))),
                "needs the key first: it is not among the keys given",
            ),
        ];
        for ((_, said), expected) in cases {
            assert_eq!(said, expected);
        }

        let store = sealed().open(&path).await.unwrap().store().await;
        assert_eq!(problem(store).0, KeyProblem::Store);
        assert!(matches!(problem(SqliteStore::open(&path).await).0, KeyProblem::NoKeys { .. }));

        let (_folder, plain) = written(SqliteSaver::options()).await;
        let said = "is not encrypted: open it without keys, or encrypt it first";
        assert_eq!(problem(SqliteReader::open(file(&plain, first_key()))).1, said);
        assert_eq!(problem(sealed().open(&plain).await).1, said);
    });
}

#[test]
fn keys_are_nowhere_to_be_seen() {
    let keys = both_keys();
    let file = file(Path::new("t.db"), both_keys());
    let shown = format!("{keys:?} {:?} {file:?} {:?}", Key::new([7; 32]), sealed());
    assert!(!shown.contains("7, 7") && !shown.contains("0707"), "{shown}");
    let error = KeyRing::parse("first 07070707").unwrap_err().to_string();
    assert_eq!(error, "line 1 is not a name and a key of 64 hexadecimal digits");
}

/// Without keys a file is verified by its checksums, vacuumed and copied.
#[test]
fn care_without_keys_goes_as_far_as_it_can() {
    run(async {
        let (folder, path) = written(sealed()).await;
        let found = maintenance::verify(&path).unwrap();
        assert!(found.unopened && found.is_sound(), "{:?}", found.findings);
        let with_keys = maintenance::verify(file(&path, first_key())).unwrap();
        assert!(!with_keys.unopened && with_keys.is_sound(), "{:?}", with_keys.findings);
        assert_eq!(with_keys.counts.checkpoints, found.counts.checkpoints);

        maintenance::vacuum(&path, std::time::Duration::from_secs(300)).unwrap();
        let copy = folder.path().join("copy.db");
        maintenance::backup(&path, &copy, maintenance::Existing::Refuse).unwrap();
        assert_eq!(read(file(&copy, first_key())).unwrap(), read(file(&path, first_key())).unwrap());

        let connection = rusqlite::Connection::open(&path).unwrap();
        for table in ["checkpoint", "body", "pending", "ask", "effect", "emitted"] {
            let column = match table {
                "checkpoint" => "manifest",
                "effect" => "outcome",
                _ => "text",
            };
            let damage = format!(
                "UPDATE {table} SET {column} = {column} || 'A' WHERE rowid = (SELECT max(rowid) FROM {table})"
            );
            assert_eq!(connection.execute(&damage, []).unwrap(), 1);
            let found = maintenance::verify(&path).unwrap();
            assert!(found.findings.iter().any(|finding| finding.table == table), "{table}: {found:?}");
        }
    });
}

#[test]
fn pruning_collecting_and_counting_work_with_keys() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let patience = std::time::Duration::from_secs(300);
        assert!(matches!(maintenance::usage(&path), Err(StoreError::Keys { .. })));
        let keyed = || file(&path, first_key());
        let usage = maintenance::usage(keyed()).unwrap();
        assert_eq!((usage.threads.len(), usage.unused), (2, 0));

        let before = read(keyed()).unwrap();
        let retention = maintenance::Retention::new().keep_last(2);
        let (would, _) = maintenance::prunable(keyed(), &retention).unwrap();
        let pruned = maintenance::prune(keyed(), &retention, patience).unwrap();
        assert_eq!((pruned.checkpoints, would.checkpoints > 0), (would.checkpoints, true));
        maintenance::collect(keyed(), patience).unwrap();
        let verified = maintenance::verify(keyed()).unwrap();
        assert!(verified.is_sound(), "{:?}", verified.findings);
        assert_eq!((verified.unused.bodies, verified.counts.bodies > 0), (0, true));
        assert_eq!(read(keyed()).unwrap().heads, before.heads);

        let saver = sealed().open(&path).await.unwrap();
        let saver: Saver = Arc::new(saver);
        for name in ["t", "u"] {
            saver.delete(&"graph".into(), &thread(name)).await.unwrap();
        }
        drop(saver);
        assert_eq!(maintenance::verify(keyed()).unwrap().counts.bodies, 0);
    });
}
