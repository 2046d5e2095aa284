//! Folders that are made to mislead.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::snapshot::id::Digest;
use crate::snapshot::{LeftReason, NotCovered, NotCoveredReason};

#[test]
fn a_link_out_of_the_folder_is_a_link_and_is_not_followed() {
    let mut at = Fixture::new();
    std::fs::create_dir(at.outside().join("secret")).unwrap();
    std::fs::write(at.outside().join("secret/key"), "key").unwrap();
    symlink(at.outside().join("secret"), at.folder().join("link")).unwrap();
    symlink("/dev/zero", at.folder().join("zero")).unwrap();
    let taken = at.take_named(None, &["link/key"]);
    let manifest = at.state.manifest(taken.id).unwrap();
    let names: Vec<_> = manifest.0.keys().map(|name| &**name).collect();
    assert_eq!(names, ["link", "link/key", "zero"]);
    assert_eq!(manifest.entry("link/key"), crate::snapshot::manifest::Entry::Absent);
}

#[test]
fn a_folder_that_is_replaced_by_a_link_after_the_plan_is_not_written_through() {
    let mut at = Fixture::new();
    at.write("d/changed", "one");
    at.write("d/deleted", "one");
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("d/changed", "two");
        at.write("d/created", "two");
        at.remove("d/deleted");
    });
    let plan = at.plan(call.id, start, &[change]);
    for target in ["outside", "folder/inside"] {
        let target = at.outside().join(target);
        drop(std::fs::remove_dir_all(at.folder().join("d")));
        drop(std::fs::remove_file(at.folder().join("d")));
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("changed"), "two").unwrap();
        std::fs::write(target.join("created"), "two").unwrap();
        symlink(&target, at.folder().join("d")).unwrap();
        let before = read(&target);
        let restored = at.restore(&plan);
        assert_eq!(read(&target), before);
        let left = |path: &str| restored.left.iter().find(|left| left.path == path);
        assert!(matches!(left("d/deleted").unwrap().reason, LeftReason::Failed(_)), "{restored:?}");
    }
}

#[test]
fn a_stored_plan_does_not_lead_out_of_the_folder_nor_into_git() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write(".git/config", "[core]");
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| at.write("a", "two"));
    let plan = serde_json::to_string(&at.plan(call.id, start, &[change])).unwrap();
    let before = read(at.outside());
    let without_data = |mut files: Files| {
        files.retain(|path, _| !path.starts_with("data"));
        files
    };
    for path in ["../a", "/tmp/a", "b/../../a", ".git/config", "x/.GIT/hooks/post-commit", ".", ""] {
        let path = serde_json::to_string(path).unwrap();
        let plan: Restore = serde_json::from_str(&plan.replace("\"a\"", &path)).unwrap();
        let restored = at.restore(&plan);
        assert_eq!(restored.left.len(), 1, "{path}");
        assert_eq!(without_data(read(at.outside())), without_data(before.clone()), "{path}");
    }
}

#[test]
fn nothing_of_git_is_covered() {
    let mut at = Fixture::new();
    at.write(".git/config", "[core]");
    at.write("module/.git", "gitdir: elsewhere");
    let taken = at.take_named(None, &[".git/config", "module/../.git/config"]);
    let manifest = at.state.manifest(taken.id).unwrap();
    assert_eq!(manifest.0.keys().map(|name| &**name).collect::<Vec<_>>(), ["module"]);
    assert!(taken.not_covered.iter().all(|it| it.reason == NotCoveredReason::OutOfReach));
    assert_eq!(taken.not_covered.len(), 2);
    at.write(".git/config", "[other]");
    assert_eq!(at.take(taken.id).id, taken.id);
}

#[test]
fn names_that_are_no_text_are_listed_and_names_with_line_ends_are_covered() {
    let mut at = Fixture::new();
    let broken = at.folder().join(std::ffi::OsStr::from_bytes(b"not\xfftext"));
    std::fs::write(&broken, "1").unwrap();
    symlink(std::ffi::OsStr::from_bytes(b"\xff"), at.folder().join("link")).unwrap();
    let start = at.take(None);
    let not_text = |path: &str| NotCovered { path: path.into(), reason: NotCoveredReason::NotText };
    assert_eq!(start.not_covered, [not_text("link"), not_text("not\u{fffd}text")]);
    let (call, change) = at.call(start.id, |at| at.write("a\nb", "2"));
    let plan = at.plan(call.id, start.id, &[change]);
    at.restore(&plan);
    assert_eq!(at.files().len(), 2);
}

#[test]
fn a_pipe_is_listed_and_is_not_opened() {
    let mut at = Fixture::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at.folder().join("pipe"), kind, mode, 0).unwrap();
    let taken = at.take(None);
    let pipe = NotCovered { path: "pipe".into(), reason: NotCoveredReason::Special };
    assert_eq!(taken.not_covered, [pipe]);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_and_listed_if_it_does_not_end() {
    let mut at = Fixture::new();
    at.write("a", "one");
    let path = at.folder().join("a");
    let mut changes = 1;
    let change = move |_: &str| {
        if changes > 0 {
            changes -= 1;
            std::fs::write(&path, "longer").unwrap();
        }
    };
    at.state.root.points.set(Some(Box::new(change)));
    let first = at.take(None);
    at.state.root.points.set(None);
    let size = at.state.manifest(first.id).unwrap().entry("a").size();
    assert_eq!((size, first.not_covered.len()), (6, 0));

    let path = at.folder().join("a");
    let mut length = 6;
    at.state.root.points.set(Some(Box::new(move |_: &str| {
        length += 1;
        std::fs::write(&path, "x".repeat(length)).unwrap();
    })));
    let second = at.take(first.id);
    at.state.root.points.set(None);
    let changing = NotCovered { path: "a".into(), reason: NotCoveredReason::Changing };
    assert_eq!((second.not_covered, second.changed), (vec![changing], vec![]));
}

#[test]
fn files_that_cannot_be_read_or_written_are_listed_and_the_others_are_restored() {
    let mut at = Fixture::new();
    at.write("closed", "one");
    at.write("fixed/a", "one");
    at.write("z", "one");
    let mode = |at: &Fixture, path: &str, mode| {
        std::fs::set_permissions(at.folder().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("fixed/a", "two");
        at.write("z", "two");
    });
    mode(&at, "closed", 0);
    mode(&at, "fixed", 0o555);
    if std::fs::read(at.folder().join("closed")).is_ok() {
        // The superuser may do everything.
        return;
    }
    let taken = at.take(call.id);
    let unreadable = NotCovered { path: "closed".into(), reason: NotCoveredReason::Unreadable };
    assert_eq!(taken.not_covered, [unreadable]);
    let plan = at.plan(taken.id, start, &[change]);
    let restored = at.restore(&plan);
    mode(&at, "fixed", 0o755);
    assert_eq!(restored.left.iter().map(|left| &*left.path).collect::<Vec<_>>(), ["fixed/a"]);
    assert_eq!(std::fs::read_to_string(at.folder().join("z")).unwrap(), "one");
}

#[test]
fn a_content_that_is_damaged_in_the_store_is_not_written() {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("b", "b one");
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("a", "two");
        at.write("b", "b two");
    });
    let db = rusqlite::Connection::open(at.outside().join("data/snapshots.sqlite")).unwrap();
    let damage = "update content set bytes = x'00' where digest = ?1";
    assert_eq!(db.execute(damage, [Digest::of(b"one").as_bytes()]).unwrap(), 1);
    let plan = at.plan(call.id, start, &[change]);
    let restored = at.restore(&plan);
    assert_eq!(restored.left.len(), 1);
    assert_eq!(restored.left[0].reason, LeftReason::Damaged);
    assert_eq!(std::fs::read_to_string(at.folder().join("a")).unwrap(), "two");
    assert_eq!(std::fs::read_to_string(at.folder().join("b")).unwrap(), "b one");
}
