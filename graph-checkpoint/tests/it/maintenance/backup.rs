//! Copies of files, also while they are written.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Existing, MaintenanceError};
use superstep_checkpoint::{CheckpointReader, SqliteReader};
use superstep_core::checkpoint::At;

use super::written::{open, written};
use crate::material::*;

fn files(folder: &std::path::Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Copies made while a program commits as fast as it can are consistent: each is a prefix of the line of commits, with
/// at least the commits before the copy began.
#[test]
fn a_copy_of_a_file_in_use_is_a_beginning_of_what_is_committed() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        let stop = AtomicBool::new(false);
        let path = &file.path;
        std::thread::scope(|scope| {
            let stop = &stop;
            let copying = scope.spawn(move || {
                let _stops = Stops(stop);
                let mut lengths = Vec::new();
                for number in 0..5 {
                    let before = line(path).len();
                    let copy = path.with_file_name(format!("copy{number}.db"));
                    maintenance::backup(path, &copy, Existing::Refuse).unwrap();
                    let verified = maintenance::verify(&copy).unwrap();
                    assert!(verified.is_sound(), "{:?}", verified.findings);
                    lengths.push((before, line(&copy)));
                }
                lengths
            });
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let mut last = advance(&saver, "w", None, [set(0, "[]")]).await;
                    while !stop.load(Ordering::Relaxed) {
                        last = advance(&saver, "w", Some(&last), [extend(0, "[1]")]).await;
                    }
                });
            });
            let whole = line(path);
            for (before, copied) in copying.join().unwrap() {
                assert!(copied.len() >= before, "{before}");
                assert_eq!(copied[..], whole[..copied.len()]);
            }
        });
    });
}

/// Stops the program that commits, also when a check has failed.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The ids of thread `w`, oldest first.
fn line(path: &std::path::Path) -> Vec<superstep_core::id::CheckpointId> {
    let history = SqliteReader::open(path).unwrap().history(&thread("w"), &At::Head, usize::MAX).unwrap();
    history.into_iter().rev().map(|line| line.id).collect()
}

#[test]
fn a_copy_is_a_file_of_the_same_kind_that_stands_alone() {
    run(async {
        let file = written().await;
        let to = file.folder.path().join("copy.db");
        let copied = maintenance::backup(&file.path, &to, Existing::Refuse).unwrap();
        assert_eq!((copied.checkpoints, copied.bytes), (71, fs::metadata(&to).unwrap().len()));
        assert_eq!(files(file.folder.path()), 2, "nothing else is left");
        let header = |path| {
            let connection = Connection::open(path).unwrap();
            let read =
                |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
            (read("application_id"), read("user_version"))
        };
        assert_eq!(header(&to), header(&file.path));
        // A copy that a program continues.
        let saver = open(&to).await;
        let last = head(&saver, "t").await.checkpoint;
        advance(&saver, "t", Some(&last), [set(2, "1")]).await;
    });
}

#[test]
fn what_is_there_is_replaced_only_when_that_is_wanted() {
    run(async {
        let file = written().await;
        let to = file.folder.path().join("copy.db");
        fs::write(&to, "precious").unwrap();
        let refused = maintenance::backup(&file.path, &to, Existing::Refuse).unwrap_err();
        assert!(matches!(refused, MaintenanceError::Exists(_)), "{refused}");
        assert_eq!(fs::read(&to).unwrap(), b"precious");
        maintenance::backup(&file.path, &to, Existing::Replace).unwrap_err();
        assert_eq!(fs::read(&to).unwrap(), b"precious", "it is no checkpoint file");
        for stale in [&[][..], &fs::read(&file.path).unwrap()[..5000]] {
            fs::write(&to, stale).unwrap();
            maintenance::backup(&file.path, &to, Existing::Replace).unwrap();
            assert!(maintenance::verify(&to).unwrap().is_sound());
        }

        let itself = maintenance::backup(&file.path, &file.path, Existing::Replace).unwrap_err();
        assert!(matches!(itself, MaintenanceError::Itself(_)), "{itself}");
        // The log of a program that has the copy open would be taken for that of the new one.
        let saver = open(&to).await;
        advance(&saver, "v", None, []).await;
        let used = maintenance::backup(&file.path, &to, Existing::Replace).unwrap_err();
        assert!(matches!(used, MaintenanceError::InUse(_)), "{used}");
    });
}

#[test]
fn nothing_is_left_of_a_copy_that_failed() {
    run(async {
        let file = written().await;
        let nowhere = file.folder.path().join("none").join("copy.db");
        let unwritable = maintenance::backup(&file.path, &nowhere, Existing::Refuse).unwrap_err();
        assert!(matches!(unwritable, MaintenanceError::Unwritable { .. }), "{unwritable}");
        // A page that cannot be read.
        let length = fs::metadata(&file.path).unwrap().len();
        fs::OpenOptions::new().write(true).open(&file.path).unwrap().set_len(length / 2).unwrap();
        let to = file.folder.path().join("copy.db");
        let broken = maintenance::backup(&file.path, &to, Existing::Refuse).unwrap_err();
        assert!(matches!(broken, MaintenanceError::Store(_)), "{broken}");
        assert_eq!(files(file.folder.path()), 1);
    });
}

/// Other targets than checkpoint files would be lost or changed.
#[cfg(unix)]
#[test]
fn what_is_no_checkpoint_file_is_never_replaced() {
    use std::os::unix::{fs::symlink, net::UnixListener};

    run(async {
        let file = written().await;
        let at = |name: &str| file.folder.path().join(name);
        let _socket = UnixListener::bind(at("socket")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("text"), "precious").unwrap();
        Connection::open(at("other")).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        symlink(at("text"), at("link")).unwrap();
        symlink(&file.path, at("itself")).unwrap();
        let before = files(file.folder.path());
        for name in ["socket", "folder", "text", "other", "dangling", "link"] {
            let kind = fs::symlink_metadata(at(name)).unwrap().file_type();
            let exists = maintenance::backup(&file.path, at(name), Existing::Refuse).unwrap_err();
            assert!(matches!(exists, MaintenanceError::Exists(_)), "{name}: {exists}");
            let foreign = maintenance::backup(&file.path, at(name), Existing::Replace).unwrap_err();
            assert!(matches!(foreign, MaintenanceError::Foreign(_)), "{name}: {foreign}");
            assert_eq!(fs::symlink_metadata(at(name)).unwrap().file_type(), kind, "{name}");
        }
        let itself = maintenance::backup(&file.path, at("itself"), Existing::Replace).unwrap_err();
        assert!(matches!(itself, MaintenanceError::Itself(_)), "{itself}");
        assert_eq!(fs::read(at("text")).unwrap(), b"precious");
        assert_eq!(files(file.folder.path()), before, "nothing is left of the attempts");
    });
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    run(async {
        let file = written().await;
        let other = file.folder.path().join("other");
        fs::create_dir(&other).unwrap();
        let (real, link) = (other.join("real.db"), file.folder.path().join("link.db"));
        drop(open(&real).await);
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let copied = maintenance::backup(&file.path, &link, Existing::Replace).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(line(&real), line(&file.path));
        assert_eq!(copied.bytes, fs::metadata(&real).unwrap().len());
        assert_eq!((files(&other), files(file.folder.path())), (1, 3), "nothing else is left");
    });
}

#[test]
fn files_of_others_beside_the_copy_stay_also_those_of_another_copy() {
    run(async {
        let file = written().await;
        let to = file.folder.path().join("copy.db");
        let number = std::process::id();
        let foreign = [format!("copy.db.{number}.part"), format!("copy.db.{number}-0.part")];
        let foreign = foreign.map(|name| file.folder.path().join(name));
        for path in &foreign {
            fs::write(path, "of others").unwrap();
        }
        drop(open(&to).await);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        maintenance::backup(&file.path, &to, Existing::Replace).unwrap();
                        assert!(maintenance::verify(&to).unwrap().is_sound());
                    }
                });
            }
        });
        for path in &foreign {
            assert_eq!(fs::read(path).unwrap(), b"of others");
        }
        assert_eq!(files(file.folder.path()), 4);
    });
}
