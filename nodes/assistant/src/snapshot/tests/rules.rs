//! The rules, one by one.

use std::collections::HashSet;

use super::*;
use crate::snapshot::manifest::Name;
use crate::snapshot::{ChangeKind, ChangedFile, NotCovered, NotCoveredReason, SnapshotError, Snapshots};

fn changed(path: &str, kind: ChangeKind, size_before: u64, size_after: u64) -> ChangedFile {
    ChangedFile { path: path.into(), kind, size_before, size_after }
}

#[test]
fn an_unchanged_folder_keeps_its_snapshot() {
    let mut at = Fixture::new();
    at.write("a", "one");
    let first = at.take(None);
    assert_eq!((first.changed.len(), first.change()), (0, None));
    at.write("a", "one");
    let second = at.take(first.id);
    assert_eq!((second.id, second.change()), (first.id, None));
    at.reopen();
    assert_eq!(at.take(first.id).id, first.id);
    assert_eq!(at.take(None).id, first.id, "another session begins with what the store has");
}

#[test]
fn a_snapshot_says_what_has_changed() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("b", "gone");
    let first = at.take(None);
    at.write("a", "other");
    at.write("d/c", "new");
    at.remove("b");
    let second = at.take(first.id);
    let expected = [
        changed("a", ChangeKind::Modified, 3, 5),
        changed("b", ChangeKind::Deleted, 4, 0),
        changed("d/", ChangeKind::Created, 0, 0),
        changed("d/c", ChangeKind::Created, 0, 3),
    ];
    assert_eq!(second.changed, expected);
    assert_eq!(second.change(), Some(Change { before: first.id, after: second.id }));
}

#[test]
fn a_rewind_takes_back_all_writes_of_a_command_and_a_redo_makes_them_again() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("run", "#!/bin/sh");
    at.write("old/x", "x");
    at.write("swap/y", "y");
    symlink("a", at.folder().join("link")).unwrap();
    let before = at.files();
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("a", "two");
        at.write("new/deep/z", "z");
        at.remove("old");
        at.remove("swap");
        at.write("swap", "a file where a folder was");
        at.remove("link");
        symlink("/etc/passwd", at.folder().join("link")).unwrap();
        let run = at.folder().join("run");
        std::fs::set_permissions(run, std::fs::Permissions::from_mode(0o755)).unwrap();
    });
    let after = at.files();
    let plan = at.plan(call.id, start, &[change]);
    let shown: Vec<_> = plan.changes().collect();
    let expected = [
        changed("a", ChangeKind::Modified, 3, 3),
        changed("link", ChangeKind::Modified, 11, 1),
        changed("new/", ChangeKind::Deleted, 0, 0),
        changed("new/deep/", ChangeKind::Deleted, 0, 0),
        changed("new/deep/z", ChangeKind::Deleted, 1, 0),
        changed("old/", ChangeKind::Created, 0, 0),
        changed("old/x", ChangeKind::Created, 0, 1),
        changed("run", ChangeKind::Modified, 9, 9),
        changed("swap/", ChangeKind::Modified, 25, 0),
        changed("swap/y", ChangeKind::Created, 0, 1),
    ];
    assert_eq!(shown, expected);
    assert_eq!((plan.foreign().count(), plan.not_covered().len()), (0, 0));
    assert_eq!(at.files(), after, "a plan changes nothing");

    let restored = at.restore(&plan);
    assert_eq!((restored.left.len(), &restored.restored), (0, &shown));
    assert_eq!(at.files(), before);
    assert!(at.plan(call.id, start, &[change]).is_empty());

    at.reopen();
    let redo = at.plan(restored.after, restored.before, &[restored.change()]);
    at.restore(&redo);
    assert_eq!(at.files(), after);
}

#[test]
fn a_file_that_others_have_changed_since_is_named_and_left_unless_the_caller_includes_it() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("b", "one");
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("a", "two");
        at.write("b", "two");
    });
    at.write("a", "three!");
    let plan = at.plan(call.id, start, &[change]);
    assert_eq!(plan.changes().collect::<Vec<_>>(), [changed("b", ChangeKind::Modified, 3, 3)]);
    assert_eq!(plan.foreign().collect::<Vec<_>>(), [changed("a", ChangeKind::Modified, 6, 3)]);
    let included = plan.clone().include_foreign(|file| file.path == "a");
    assert_eq!((included.changes().count(), included.foreign().count()), (2, 0));
    at.restore(&plan);
    let content = |at: &Fixture, path: &str| std::fs::read_to_string(at.folder().join(path)).unwrap();
    assert_eq!((content(&at, "a"), content(&at, "b")), ("three!".into(), "one".into()));

    let restored = at.restore(&included);
    assert_eq!(content(&at, "a"), "one");
    let redo = at.plan(restored.after, restored.before, &[restored.change()]);
    at.restore(&redo);
    assert_eq!(content(&at, "a"), "three!", "the change of others was not lost");
}

#[test]
fn a_file_that_others_have_changed_between_two_calls_is_foreign() {
    let mut at = Fixture::new();
    at.write("a", "one");
    let start = at.take(None).id;
    let (first, one) = at.call(start, |at| at.write("a", "two"));
    at.write("a", "three");
    let (second, two) = at.call(first.id, |at| at.write("a", "four"));
    let plan = at.plan(second.id, start, &[one, two]);
    assert!(plan.is_empty());
    assert_eq!(plan.foreign().count(), 1);
    // The second call alone is taken back to what others had written.
    let plan = at.plan(second.id, first.id, &[one, two]);
    assert_eq!(plan.foreign().count(), 0);
    at.restore(&plan);
    assert_eq!(std::fs::read_to_string(at.folder().join("a")).unwrap(), "three");
}

#[test]
fn two_sessions_that_rewind_past_each_other_leave_each_others_files() {
    let mut at = Fixture::new();
    at.write("both", "0");
    let start = at.take(None).id;
    let (one, change_one) = at.call(start, |at| {
        at.write("one", "1");
        at.write("both", "1");
    });
    let (two, change_two) = at.call(start, |at| {
        at.write("two", "2");
        at.write("both", "2");
    });
    let plan = at.plan(one.id, start, &[change_one]);
    at.restore(&plan);
    let left = at.files();
    assert!(!left.contains_key("one") && left.contains_key("two"));
    let plan = at.plan(two.id, start, &[change_two]);
    at.restore(&plan);
    assert_eq!(at.files().len(), 1);
    assert_eq!(std::fs::read_to_string(at.folder().join("both")).unwrap(), "1", "as it was before the call");
}

#[test]
fn a_folder_of_the_session_stays_if_others_have_put_something_into_it() {
    let mut at = Fixture::new();
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| at.write("new/mine", "1"));
    at.write("new/yours", "2");
    let plan = at.plan(call.id, start, &[change]);
    assert_eq!(plan.changes().collect::<Vec<_>>(), [changed("new/mine", ChangeKind::Deleted, 1, 0)]);
    assert_eq!(at.restore(&plan).left, []);
    assert_eq!(at.files().keys().collect::<Vec<_>>(), ["new", "new/yours"]);
}

#[test]
fn what_a_gitignore_excludes_is_covered_only_if_it_is_named() {
    let mut at = Fixture::new();
    at.write(".gitignore", "out/\n");
    at.write("out/other", "other");
    at.write("out/named", "old");
    let before = at.files();
    let start = at.take_named(None, &["./out/named", "out/created"]);
    assert_eq!(start.not_covered, [], "what is ignored is not listed");
    at.write("out/named", "new");
    at.write("out/created", "new");
    at.write("out/other", "changed by a command");
    let call = at.take(start.id);
    assert_eq!(paths(&call.changed), BTreeSet::from(["out/created", "out/named"]));
    let plan = at.plan(call.id, start.id, &[call.change().unwrap()]);
    at.restore(&plan);
    let mut expected = before;
    expected.insert("out/other".into(), Node::File { content: "changed by a command".into(), mode: 0o644 });
    assert_eq!(at.files(), expected);
}

/// Without a line for what is excluded, the file would count as created by the call, and a rewind would delete it.
#[test]
fn a_file_that_was_not_covered_before_a_call_is_never_deleted() {
    let mut at = Fixture::new();
    at.write(".gitignore", "out/\nnamed\n");
    at.write("out/data", "precious");
    at.write("named", "precious");
    let start = at.take(None).id;
    at.write(".gitignore", "");
    let call = at.take_named(start, &["named"]);
    let plan = at.plan(call.id, start, &[call.change().unwrap()]);
    assert_eq!(plan.changes().collect::<Vec<_>>(), [changed(".gitignore", ChangeKind::Modified, 0, 11)]);
    let ignored = |path: &str| NotCovered { path: path.into(), reason: NotCoveredReason::Ignored };
    assert_eq!(plan.not_covered(), [ignored("named"), ignored("out"), ignored("out/data")]);
    at.restore(&plan);
    assert_eq!(at.files().len(), 4);
}

#[test]
fn a_large_file_is_named_and_left() {
    let mut at = Fixture::new().with(|options| options.max_file_bytes = 4);
    at.write("a", "12345");
    let start = at.take(None);
    let too_large = NotCovered { path: "a".into(), reason: NotCoveredReason::TooLarge };
    assert_eq!(start.not_covered, std::slice::from_ref(&too_large));
    let (call, change) = at.call(start.id, |at| {
        at.write("a", "1");
        at.write("b", "67890");
    });
    let plan = at.plan(call.id, start.id, &[change]);
    assert!(plan.is_empty());
    assert_eq!(
        plan.not_covered(),
        [too_large, NotCovered { path: "b".into(), reason: NotCoveredReason::TooLarge }]
    );
}

#[test]
fn a_file_that_changes_after_the_plan_was_made_is_left() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("b", "one");
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("a", "two");
        at.remove("b");
        at.write("new/c", "two");
    });
    let plan = at.plan(call.id, start, &[change]);
    at.write("a", "three");
    at.write("b", "three");
    at.write("new/c", "three");
    let before = at.files();
    let restored = at.restore(&plan);
    assert_eq!(at.files(), before);
    let left: Vec<_> = restored.left.iter().map(|left| (&*left.path, &left.reason)).collect();
    use crate::snapshot::LeftReason::{Changed, NotEmpty};
    assert_eq!(left, [("a", &Changed), ("b", &Changed), ("new", &NotEmpty), ("new/c", &Changed)]);
    assert_eq!((restored.restored.len(), restored.before), (0, restored.after));
}

#[test]
fn a_settled_file_is_not_read_again_and_a_racily_clean_one_is() {
    let mut at = Fixture::new();
    at.write("a", "one");
    let first = at.take_at(None, &[], ALL_SETTLED).id;
    // The cache now says something else of the same metadata, as if a change did not show in them.
    let lie = "insert or ignore into content (digest, bytes) values (zeroblob(32), x'00');
               update seen set digest = zeroblob(32)";
    let file = at.outside().join("data/snapshots.sqlite");
    let forge = || rusqlite::Connection::open(&file).unwrap().execute_batch(lie).unwrap();
    forge();
    at.reopen();
    let trusted = at.take_at(first, &[], ALL_SETTLED);
    assert_eq!(paths(&trusted.changed), BTreeSet::from(["a"]), "the cache was asked, not the file");

    let mut at = Fixture::new();
    at.write("a", "one");
    let first = at.take_at(None, &[], ALL_RACY).id;
    let file = at.outside().join("data/snapshots.sqlite");
    let rows = "select count(*) from seen";
    let count: i64 = rusqlite::Connection::open(file).unwrap().query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0, "a racily clean file is not in the cache");
    assert_eq!(at.take_at(first, &[], ALL_SETTLED).id, first);
}

#[test]
fn a_fork_has_all_files_of_a_snapshot_and_its_folder_must_be_empty() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut at = Fixture::new().with(|options| options.max_file_bytes = 1000);
    at.write("d/a", "one");
    at.write("run", "#!/bin/sh");
    std::fs::set_permissions(at.folder().join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(at.folder().join("empty")).unwrap();
    symlink("../elsewhere", at.folder().join("link")).unwrap();
    let expected = at.files();
    at.write("large", &"x".repeat(1001));
    let id = at.take(None).id;
    at.write("d/a", "two");
    let fork = at.outside().join("forks/one");
    let not_covered = at.state.materialise(id, &fork).unwrap();
    assert_eq!(not_covered, [NotCovered { path: "large".into(), reason: NotCoveredReason::TooLarge }]);
    assert_eq!(read(&fork), expected);
    let again = at.state.materialise(id, &fork).unwrap_err();
    assert!(matches!(again, SnapshotError::NotEmpty { .. }), "{again}");
    assert_eq!(read(&fork), expected);
}

#[test]
fn retention_deletes_what_no_kept_snapshot_needs() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("same", "same");
    let mut ids = vec![at.take_at(None, &[], ALL_SETTLED).id];
    for (step, content) in ["two", "three", "four"].into_iter().enumerate() {
        at.write("a", content);
        at.write(&format!("new{step}"), content);
        at.remove("same");
        at.write("same", "same");
        ids.push(at.take_at(ids[step], &[], ALL_SETTLED).id);
    }
    let manifests: Vec<_> = ids.iter().map(|id| at.state.manifest(*id).unwrap()).collect();
    let swept = at.state.collect(&HashSet::from([ids[1], ids[3]]), i64::MAX).unwrap();
    // All were taken at the end of time.
    assert_eq!(swept.snapshots, 0);
    let file = at.outside().join("data/snapshots.sqlite");
    rusqlite::Connection::open(file).unwrap().execute_batch("update snapshot set taken = 1").unwrap();
    let swept = at.state.collect(&HashSet::from([ids[1], ids[3]]), 2).unwrap();
    assert_eq!((swept.snapshots, swept.contents, swept.bytes), (2, 1, 3));
    for kept in [1, 3] {
        let manifest = at.state.store.manifest(ids[kept]).unwrap();
        assert_eq!(manifest, *manifests[kept], "snapshot {kept}");
    }
    assert!(matches!(at.state.manifest(ids[0]), Err(SnapshotError::Unknown(_))));
    let links = at.state.store.links(ids[1], ids[3]).unwrap();
    assert_eq!(links.len(), 1);
    let changed: BTreeSet<Name> = links[0].delta.keys().cloned().collect();
    assert_eq!(changed.iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "new1", "new2"]);

    // The cache still knows the content that was deleted.
    at.write("a", "four");
    let last = at.take_at(ids[3], &[], ALL_SETTLED).id;
    at.write("b", "only here");
    let gone = at.take_at(last, &[], ALL_SETTLED).id;
    let file = at.outside().join("data/snapshots.sqlite");
    rusqlite::Connection::open(file).unwrap().execute_batch("update snapshot set taken = 1").unwrap();
    at.state.collect(&HashSet::from([ids[3]]), 2).unwrap();
    let again = at.take_at(ids[3], &[], ALL_SETTLED).id;
    assert_eq!(again, gone);
    let fork = at.outside().join("fork");
    at.state.materialise(again, &fork).unwrap();
    assert_eq!(read(&fork), at.files());
}

#[test]
fn a_snapshot_that_another_session_begins_with_is_spared_by_its_time() {
    let mut at = Fixture::new();
    at.write("a", "one");
    let first = at.take_at(None, &[], 1).id;
    assert_eq!(at.take_at(None, &[], 9).id, first);
    assert_eq!(at.state.collect(&HashSet::new(), 9).unwrap().snapshots, 0);
    assert_eq!(at.state.collect(&HashSet::new(), 10).unwrap().snapshots, 1);
    assert!(matches!(at.state.manifest(first), Err(SnapshotError::Unknown(_))));
}

#[test]
fn the_store_grows_by_what_has_changed() {
    let mut at = Fixture::new();
    for file in 0..100 {
        at.write(&format!("d{}/f{file}", file % 7), &format!("{file}\n").repeat(500));
    }
    let first = at.take(None).id;
    let file = at.outside().join("data/snapshots.sqlite");
    let db = rusqlite::Connection::open(file).unwrap();
    let pages = || {
        let pages: i64 =
            db.query_row("select page_count from pragma_page_count", [], |row| row.get(0)).unwrap();
        4096 * pages
    };
    let before = pages();
    let mut bytes = 0;
    for file in 0..50 {
        let content = format!("changed {file}\n").repeat(800);
        bytes += content.len() as i64;
        at.write(&format!("d{}/f{file}", file % 7), &content);
    }
    at.take(first);
    assert!(pages() - before <= bytes * 11 / 10, "{} for {bytes}", pages() - before);
}

#[tokio::test]
async fn sessions_rewind_redo_and_fork_with_files() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, data, fork) = (dir.path().join("folder"), dir.path().join("data"), dir.path().join("fork"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&data).unwrap();
    let options = SnapshotOptions::new(data.join("snapshots.sqlite"));
    let snapshots = Snapshots::open(&folder, options.clone()).unwrap();
    let none: [&str; 0] = [];
    let before = snapshots.take(None, none).await.unwrap().id;
    std::fs::write(folder.join("a"), "one").unwrap();
    let taken = snapshots.take(Some(before), ["a"]).await.unwrap();
    let own = [taken.change().unwrap()];

    let again = Snapshots::open(&folder, options).unwrap();
    let plan = again.plan(taken.id, before, &own).await.unwrap();
    let restored = again.restore(&plan).await.unwrap();
    assert!(!folder.join("a").exists());
    let redo = snapshots.plan(restored.after, restored.before, &[restored.change()]).await.unwrap();
    snapshots.restore(&redo).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "one");
    assert_eq!(snapshots.materialise(taken.id, &fork).await.unwrap(), []);
    assert_eq!(read(&fork), read(&folder));

    let backwards = snapshots.plan(before, taken.id, &own).await.unwrap_err();
    assert!(matches!(backwards, SnapshotError::NotBefore { .. }), "{backwards}");
    let kept = HashSet::from([before]);
    let since = std::time::SystemTime::UNIX_EPOCH;
    assert_eq!(snapshots.collect(kept.clone(), since).await.unwrap().snapshots, 0);
    let since = since + std::time::Duration::from_secs(1 << 33);
    assert!(snapshots.collect(kept, since).await.unwrap().snapshots > 0);
    let unknown = snapshots.take(Some(taken.id), none).await.unwrap_err();
    assert!(matches!(unknown, SnapshotError::Unknown(id) if id == taken.id), "{unknown}");

    let inside = SnapshotOptions::new(folder.join("snapshots.sqlite"));
    let error = Snapshots::open(&folder, inside).unwrap_err();
    assert!(matches!(error, SnapshotError::StoreInFolder { .. }), "{error}");
}
