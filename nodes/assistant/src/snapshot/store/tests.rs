use super::*;

#[test]
fn a_file_of_another_kind_is_not_opened_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other");
    std::fs::write(&path, "not a database, and longer than the header of one".repeat(9)).unwrap();
    assert!(matches!(Store::open(&path), Err(SnapshotError::Foreign { .. })));
    let path = dir.path().join("database");
    Connection::open(&path).unwrap().execute_batch("create table other (id)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(SnapshotError::Foreign { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_of_a_later_format_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("snapshots.sqlite");
    drop(Store::open(&path).unwrap());
    drop(Store::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", schema::FORMAT + 1).unwrap();
    let Err(SnapshotError::Newer { format, known, .. }) = Store::open(&path) else { panic!() };
    assert_eq!((format, known), (schema::FORMAT + 1, schema::FORMAT));
}

#[test]
fn a_content_is_stored_once_and_only_with_its_change() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("snapshots.sqlite")).unwrap();
    let digest = Digest::of(b"content");
    let change = store.change().unwrap();
    change.put(&digest, b"content").unwrap();
    assert!(change.has(&digest).unwrap());
    drop(change);
    assert_eq!(store.content(&digest).unwrap(), None);
    for _ in 0..2 {
        let change = store.change().unwrap();
        change.put(&digest, b"content").unwrap();
        change.commit().unwrap();
    }
    assert_eq!(store.content(&digest).unwrap().as_deref(), Some(&b"content"[..]));
    let count: i64 = store.db.query_row("select count(*) from content", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn each_state_of_a_path_is_read_as_it_was_written() {
    use crate::snapshot::NotCoveredReason;
    use crate::snapshot::manifest::{Entry, Line};

    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("snapshots.sqlite")).unwrap();
    let file = Entry::File { content: Digest::of(b""), size: u64::MAX, mode: 0o640 };
    let reasons = [
        NotCoveredReason::Ignored,
        NotCoveredReason::TooLarge,
        NotCoveredReason::TooManyFiles,
        NotCoveredReason::TooDeep,
        NotCoveredReason::Unreadable,
        NotCoveredReason::Changing,
        NotCoveredReason::Special,
        NotCoveredReason::NotText,
        NotCoveredReason::OutOfReach,
    ];
    let not_covered = reasons.map(|reason| Entry::NotCovered { reason, size: 7, modified: -1 });
    let link = Entry::Link { target: "a\nb".into() };
    let entries = [Entry::Absent, Entry::Folder, file, link].into_iter().chain(not_covered);
    let delta: Delta = entries
        .enumerate()
        .map(|(at, entry)| (Name::from(format!("{at}")), Some(Line { entry, named: at % 2 == 0 })))
        .collect();
    let change = store.change().unwrap();
    let id = change.insert(None, &delta, 1).unwrap();
    let next = change.insert(Some(id), &Delta::from([(Name::from("1"), None)]), 2).unwrap();
    change.commit().unwrap();
    let lines = delta.iter().map(|(name, line)| (Name::clone(name), line.clone().unwrap()));
    let mut manifest = Manifest(lines.collect());
    assert_eq!(store.manifest(id).unwrap(), manifest);
    manifest.0.remove("1");
    assert_eq!(store.manifest(next).unwrap(), manifest);
    assert_eq!(store.newest().unwrap(), Some(next));
    assert!(matches!(store.links(next, id), Err(SnapshotError::NotBefore { .. })));
    assert_eq!(store.links(id, next).unwrap().len(), 1);
}

#[test]
fn the_stat_cache_of_another_folder_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("snapshots.sqlite")).unwrap();
    let stat = Stat { size: 1, modified: -2, changed: 3, inode: u64::MAX, device: 4 };
    let seen = Seen { stat, digest: Digest::of(b"") };
    let change = store.change().unwrap();
    change.forget_all(Path::new("/one")).unwrap();
    change.see("a", &seen).unwrap();
    change.see("b", &seen).unwrap();
    change.forget("b").unwrap();
    change.commit().unwrap();
    assert_eq!(store.seen(Path::new("/one")).unwrap(), [(Name::from("a"), seen)]);
    assert_eq!(store.seen(Path::new("/other")).unwrap(), []);
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_the_contents() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("snapshots.sqlite")).unwrap();
    let change = store.change().unwrap();
    change.put(&Digest::of(b"secret"), b"secret").unwrap();
    change.commit().unwrap();
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(files.len(), 3);
    for file in files {
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o077, 0);
    }
}
