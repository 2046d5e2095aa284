//! Unreferenced data is deleted, and its space is freed.

use std::time::Duration;

use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Collected, MaintenanceError, Retention};
use superstep_core::checkpoint::{At, CheckpointerExt, StoreError};
use superstep_core::state::Op;

use super::written::{long, open, written};
use crate::material::*;

const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn unreferenced_data_is_counted_and_then_deleted_and_nothing_else() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        assert!(maintenance::collectable(&file.path).unwrap().is_empty());
        let whole = saver.steps(&thread("t"), At::Head, 99).await.unwrap();
        // Long texts of a branch that was cut off by hand, work on a checkpoint that is no longer the latest or is
        // missing, and rows of deletions.
        for name in ["x", "y"] {
            advance(&saver, name, None, [set(0, &long(name))]).await;
            saver.delete(&"graph".into(), &thread(name)).await.unwrap();
        }
        advance(&saver, "z", None, [set(0, &long("z"))]).await;
        let by_hand = "DELETE FROM checkpoint WHERE thread = (SELECT id FROM thread WHERE name = 'z');
                       DELETE FROM thread WHERE name = 'z';
                       UPDATE ask SET base = 5; UPDATE effect SET base = 999;
                       INSERT INTO locator VALUES (x'00112233', 4711)";
        Connection::open(&file.path).unwrap().execute_batch(by_hand).unwrap();
        let told = maintenance::collectable(&file.path).unwrap();
        let Collected { bodies, segments, work, remains, bytes } = told;
        assert_eq!((bodies, segments, work, remains), (1, 0, 2, 1), "{told:?}");
        assert!(bytes > 5002, "{told:?}");
        assert_eq!(maintenance::collect(&file.path, PATIENCE).unwrap(), told, "the same is done as was told");
        assert!(maintenance::collect(&file.path, PATIENCE).unwrap().is_empty());
        assert_eq!(maintenance::verify(&file.path).unwrap().findings, []);
        let left = saver.steps(&thread("t"), At::Head, 99).await.unwrap();
        assert_eq!(left[1..], whole[1..]);
        assert_eq!(left[0].checkpoint, whole[0].checkpoint);
    });
}

/// A long text to which only a segment refers is deleted with the segment, in one transaction.
#[test]
fn what_only_unused_segments_refer_to_goes_with_them() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        let mut last = None;
        for number in 0..70 {
            let entry = change(2, [Op::MapPut(json(&format!(r#"{{"{number}":{}}}"#, long("m"))))]);
            last = Some(advance(&saver, "long", last.as_ref(), [entry]).await);
        }
        drop(saver);
        let by_hand = "DELETE FROM checkpoint WHERE thread = (SELECT id FROM thread WHERE name = 'long');
                       DELETE FROM thread WHERE name = 'long'";
        Connection::open(&file.path).unwrap().execute_batch(by_hand).unwrap();
        let told = maintenance::collectable(&file.path).unwrap();
        assert!(told.segments > 0 && told.bodies > 60, "{told:?}");
        assert_eq!(maintenance::collect(&file.path, PATIENCE).unwrap(), told);
        assert!(maintenance::collectable(&file.path).unwrap().is_empty());
    });
}

/// A program that wrote a text just before it was found to be unused refers to it again: it must not go.
#[test]
fn a_program_that_writes_keeps_what_it_refers_to() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        let path = &file.path;
        std::thread::scope(|scope| {
            let collecting = scope.spawn(move || {
                for _ in 0..40 {
                    maintenance::collect(path, PATIENCE).unwrap();
                }
            });
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let mut last = advance(&saver, "w", None, [set(0, "0")]).await;
                    while !collecting.is_finished() {
                        // The same text, unused in between: its row may stay or be deleted.
                        last = advance(&saver, "w", Some(&last), [set(0, &long("w"))]).await;
                        advance(&saver, "v", None, [set(0, &long("v"))]).await;
                        saver.delete(&"graph".into(), &thread("v")).await.unwrap();
                    }
                });
            });
        });
        assert_eq!(maintenance::verify(&file.path).unwrap().findings, []);
        assert_eq!(values(&head(&saver, "w").await)[0].1, long("w"));
    });
}

#[test]
fn free_pages_go_back_while_programs_have_the_file_open() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        for number in 0..60 {
            advance(&saver, "big", None, [set(0, &long(&format!("{number}-")))]).await;
            saver.delete(&"graph".into(), &thread("big")).await.unwrap();
        }
        let mut last =
            advance(&saver, "big", None, [set(0, &long("0123456789012345678901234567890123456789"))]).await;
        last = advance(&saver, "big", Some(&last), [set(0, "1")]).await;
        saver.delete(&"graph".into(), &thread("big")).await.unwrap();
        let kept = head(&saver, "t").await;
        let vacuumed = maintenance::vacuum(&file.path, PATIENCE).unwrap();
        assert!(vacuumed.after + 100_000 < vacuumed.before && vacuumed.shortened, "{vacuumed:?}");
        assert_eq!(std::fs::metadata(&file.path).unwrap().len(), vacuumed.after);
        assert_eq!(maintenance::usage(&file.path).unwrap().free, 0);
        // The program continues undisturbed.
        assert_eq!(head(&saver, "t").await, kept);
        advance(&saver, "t", Some(&kept.checkpoint), [extend(0, "[71]")]).await;
        assert_eq!(maintenance::verify(&file.path).unwrap().findings, []);
        drop(last);
    });
}

#[test]
fn a_long_write_is_an_error_and_a_reader_only_delays_the_end() {
    run(async {
        let file = written().await;
        let other = Connection::open(&file.path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let short = Duration::from_millis(50);
        assert!(matches!(maintenance::vacuum(&file.path, short), Err(MaintenanceError::Busy(_))));
        assert!(matches!(maintenance::collect(&file.path, short), Err(MaintenanceError::Busy(_))));
        other.execute_batch("ROLLBACK; BEGIN; SELECT * FROM thread").unwrap();
        let vacuumed = maintenance::vacuum(&file.path, short).unwrap();
        assert!(!vacuumed.shortened, "{vacuumed:?}");
        other.execute_batch("PRAGMA user_version; COMMIT; PRAGMA user_version = 2").unwrap();
        assert!(matches!(
            maintenance::vacuum(&file.path, short),
            Err(MaintenanceError::OlderFormat { found: 2, .. })
        ));
        assert!(matches!(
            maintenance::collect(&file.path, short),
            Err(MaintenanceError::OlderFormat { found: 2, .. })
        ));
    });
}

/// The references to a row may be on a page that cannot be read, so nothing may be deleted.
#[test]
fn a_malformed_file_is_not_written_to() {
    run(async {
        let file = written().await;
        let root = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'ask_open'";
        let (page, size): (u64, u64) = Connection::open(&file.path)
            .unwrap()
            .query_row(root, [], |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
            })
            .unwrap();
        let mut bytes = std::fs::read(&file.path).unwrap();
        let start = usize::try_from((page - 1) * size).unwrap();
        bytes[start..start + 8].fill(0);
        std::fs::write(&file.path, &bytes).unwrap();
        let keep = Retention::new().keep_last(1);
        for refused in [
            maintenance::collect(&file.path, PATIENCE).map(drop),
            maintenance::collectable(&file.path).map(drop),
            maintenance::prune(&file.path, &keep, PATIENCE).map(drop),
            maintenance::prunable(&file.path, &keep).map(drop),
            maintenance::vacuum(&file.path, PATIENCE).map(drop),
        ] {
            let error = refused.unwrap_err();
            assert!(matches!(error, MaintenanceError::Store(StoreError::Corrupt { .. })), "{error}");
            let text = error.to_string();
            assert!(text.contains("verify") && !text.contains('\n'), "{text}");
        }
        assert!(std::fs::read(&file.path).unwrap() == bytes, "it was written to");
    });
}
