//! Damage to a file is found and named.

use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Finding};
use superstep_core::checkpoint::StoreError;

use super::written::{long, open, written, written_of};
use crate::material::*;

/// The `sql` to run on the file, and the findings that must follow: table, row, thread and the problem.
type Case = (&'static str, &'static [(&'static str, Option<i64>, Option<&'static str>, &'static str)]);

fn told(finding: &Finding) -> (&'static str, Option<i64>, Option<&str>, &str) {
    let thread = finding.thread.as_ref().map(|thread| thread.as_str());
    (finding.table, finding.row, thread, &finding.problem)
}

const SUM: &str = "its checksum does not match";

const DAMAGED: &[Case] = &[
    ("UPDATE thread SET graph = 'other' WHERE name = 't'", &[("thread", Some(1), Some("t"), SUM)]),
    ("UPDATE checkpoint SET step = 7 WHERE seq = 5", &[("checkpoint", Some(5), Some("t"), SUM)]),
    (
        "UPDATE checkpoint SET changes = replace(changes, '[68]', '[67]') WHERE seq = 70",
        &[("checkpoint", Some(70), Some("t"), SUM)],
    ),
    (
        "UPDATE checkpoint SET changes = replace(changes, '[1,3]', '[1,4]') WHERE seq = 5",
        &[("checkpoint", Some(5), Some("t"), SUM)],
    ),
    (
        "UPDATE segment SET text = replace(text, '4,5,', '5,4,') WHERE id = 1",
        &[("segment", Some(1), None, SUM)],
    ),
    ("UPDATE segment SET prev = 2 WHERE id = 1", &[("segment", Some(1), None, SUM)]),
    (
        "UPDATE locator SET seq = 6 WHERE seq = 5",
        &[
            ("locator", None, None, "it names checkpoint row 6, which is another one"),
            ("checkpoint", Some(5), Some("t"), "it is not in the locator, so it cannot be found by its id"),
        ],
    ),
    ("UPDATE pending SET text = replace(text, '1', '2')", &[("pending", Some(1), Some("t"), SUM)]),
    ("UPDATE ask SET deadline = 2", &[("ask", Some(1), Some("t"), SUM)]),
    ("UPDATE effect SET attempt = 2", &[("effect", Some(1), Some("t"), SUM)]),
    ("UPDATE emitted SET text = replace(text, '7', '8')", &[("emitted", Some(1), Some("t"), SUM)]),
    ("UPDATE lease SET holder = 'nobody'", &[("lease", Some(1), None, SUM)]),
    (
        "UPDATE item SET value = '2'",
        &[("item", Some(1), None, "the entry \"k\" at \"notes/\": its checksum does not fit")],
    ),
];

const MISSING: &[Case] = &[
    (
        "DELETE FROM checkpoint WHERE seq = 50",
        &[
            // Its operations are in a segment.
            ("checkpoint", Some(51), Some("t"), "its parent, row 50, is missing or damaged"),
            ("locator", None, None, "it names checkpoint row 50, which is missing"),
        ],
    ),
    (
        "DELETE FROM checkpoint WHERE seq = 68",
        &[
            ("checkpoint", Some(69), Some("t"), "its parent, row 68, is missing or damaged"),
            ("checkpoint", Some(69), Some("t"), "field a: its version at row 68 is missing"),
        ],
    ),
    (
        "DELETE FROM segment WHERE id = 1",
        &[("checkpoint", Some(2), Some("t"), "field a: segment row 1, which it refers to, is missing")],
    ),
    (
        "DELETE FROM checkpoint WHERE seq = 71",
        &[
            ("thread", Some(1), Some("t"), "its head, checkpoint row 71, is missing"),
            ("pending", Some(1), Some("t"), "it stands on checkpoint row 71, which is missing"),
            ("ask", Some(1), Some("t"), "it stands on checkpoint row 71, which is missing"),
            ("effect", Some(1), Some("t"), "it stands on checkpoint row 71, which is missing"),
            ("emitted", Some(1), None, "it belongs to checkpoint row 71, which is missing"),
        ],
    ),
    (
        "DELETE FROM locator WHERE seq = 5",
        &[("checkpoint", Some(5), Some("t"), "it is not in the locator, so it cannot be found by its id")],
    ),
    (
        "DELETE FROM body",
        &[("checkpoint", Some(1), Some("t"), "field b: body row 1, which it refers to, is missing")],
    ),
];

const ORPHANS: &[Case] = &[
    (
        "DELETE FROM thread WHERE name = 'u'",
        &[("checkpoint", Some(32), None, "its thread, row 2, is missing or damaged")],
    ),
    (
        "UPDATE thread SET id = 9 WHERE name = 'u'",
        &[
            ("thread", Some(9), Some("u"), SUM),
            ("checkpoint", Some(32), None, "its thread, row 2, is missing or damaged"),
        ],
    ),
];

async fn finds(cases: &[Case]) {
    let file = written().await;
    for (damage, expected) in cases {
        let copy = file.folder.path().join("damaged.db");
        std::fs::copy(&file.path, &copy).unwrap();
        Connection::open(&copy).unwrap().execute_batch(damage).unwrap();
        let verified = maintenance::verify(&copy).unwrap();
        let found: Vec<_> = verified.findings.iter().map(told).collect();
        assert_eq!(found, *expected, "{damage}");
        assert!(!verified.is_sound());
    }
}

#[test]
fn a_damaged_row_of_each_table_is_named() {
    run(finds(DAMAGED));
}

#[test]
fn a_missing_row_is_named_by_what_refers_to_it() {
    run(finds(MISSING));
}

#[test]
fn rows_of_nothing_are_named() {
    run(finds(ORPHANS));
}

/// A damaged description concerns every checkpoint that names it, a damaged text every value that it is part of.
#[test]
fn what_many_rows_name_is_found_with_all_of_them() {
    run(async {
        let file = written().await;
        for (table, of_each) in [("schema", "its schema, row 1"), ("topology", "its topology, row 1")] {
            for damage in [format!("DELETE FROM {table}"), format!("UPDATE {table} SET text = '{{}}'")] {
                let copy = file.folder.path().join("damaged.db");
                std::fs::copy(&file.path, &copy).unwrap();
                Connection::open(&copy).unwrap().execute_batch(&damage).unwrap();
                let found = maintenance::verify(&copy).unwrap().findings;
                let lack = format!("{of_each}, is missing or damaged");
                assert_eq!(found.iter().filter(|found| found.problem == lack).count(), 71, "{damage}");
                let own = found.iter().filter(|found| found.table == table).count();
                assert_eq!(own, usize::from(damage.starts_with("UPDATE")), "{damage}");
                assert_eq!(found.len(), 71 + own, "{damage}: {found:?}");
            }
        }
        let copy = file.folder.path().join("damaged.db");
        std::fs::copy(&file.path, &copy).unwrap();
        Connection::open(&copy).unwrap().execute_batch("UPDATE body SET text = '\"b\"'").unwrap();
        let verified = maintenance::verify(&copy).unwrap();
        let found: Vec<_> = verified.findings.iter().map(told).collect();
        let value = ("checkpoint", Some(1), Some("t"), "field b: its checksum does not match");
        assert_eq!(found, [value, ("body", Some(1), None, SUM)]);
    });
}

#[test]
fn a_sound_file_is_counted_and_unused_data_is_reported() {
    run(async {
        let file = written().await;
        let verified = maintenance::verify(&file.path).unwrap();
        assert_eq!(verified.findings, []);
        let counts = verified.counts;
        assert_eq!((counts.threads, counts.checkpoints, counts.schemas, counts.topologies), (2, 71, 1, 1));
        assert_eq!((counts.bodies, counts.pending, counts.asks, counts.effects), (1, 1, 1, 1));
        assert_eq!((counts.emitted, counts.items, counts.versions), (1, 1, 73));
        assert_eq!(verified.unused.bodies, 0);
        // A text whose last reference is deleted without it.
        let saver = open(&file.path).await;
        advance(&saver, "v", None, [set(0, &long("v"))]).await;
        drop(saver);
        let gone = "DELETE FROM checkpoint WHERE seq = 72; DELETE FROM thread WHERE name = 'v'";
        Connection::open(&file.path).unwrap().execute_batch(gone).unwrap();
        let verified = maintenance::verify(&file.path).unwrap();
        assert!(verified.is_sound(), "{:?}", verified.findings);
        assert_eq!((verified.unused.bodies, verified.unused.bytes), (1, 5002));
    });
}

/// Rows with correct checksums that do not fit together: every writer checks this, so only a broken one could write
/// them.
#[test]
fn rows_that_do_not_fit_together_are_found() {
    run(async {
        let file = written().await;
        let saver = open(&file.path).await;
        let mut strange = step(None, [set(0, "{\"a\":1}")]);
        strange.tasks[0].node = "nobody".into();
        put(&saver, "v", &strange).await;
        let next = advance(&saver, "v", Some(&strange), [extend(0, "[1]")]).await;
        drop(saver);
        let findings = maintenance::verify(&file.path).unwrap().findings;
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(findings[0].problem, "its graph has no node nobody");
        assert_eq!(findings[0].checkpoint, Some(strange.id));
        assert!(findings[1].problem.starts_with("field a: "), "{}", findings[1].problem);
        assert_eq!(findings[1].checkpoint, Some(next.id));
    });
}

#[test]
fn what_sqlite_itself_finds_is_reported() {
    run(async {
        let file = written().await;
        let root = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'ask_open'";
        let place: (i64, i64) = Connection::open(&file.path)
            .unwrap()
            .query_row(root, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let mut bytes = std::fs::read(&file.path).unwrap();
        let page = usize::try_from((place.0 - 1) * place.1).unwrap();
        bytes[page..page + 8].fill(0);
        std::fs::write(&file.path, bytes).unwrap();
        let findings = maintenance::verify(&file.path).unwrap().findings;
        assert!(findings.len() == 1 && findings[0].table == "file", "{findings:?}");
        assert!(findings[0].problem.contains("malformed"), "{findings:?}");
    });
}

/// The missing pages cannot be read, but the first one identifies the file.
#[test]
fn the_half_of_a_file_is_damaged_and_no_other_file() {
    run(async {
        let file = written().await;
        let whole = std::fs::read(&file.path).unwrap();
        for length in [whole.len() / 2, 5000, 100] {
            std::fs::write(&file.path, &whole[..length]).unwrap();
            let damaged = maintenance::verify(&file.path).unwrap_err();
            assert!(matches!(damaged, StoreError::Corrupt { .. }), "{length}: {damaged}");
            assert!(damaged.to_string().contains("is damaged: "), "{damaged}");
            let damaged = superstep_checkpoint::SqliteSaver::open(&file.path).await.unwrap_err();
            assert!(matches!(damaged, StoreError::Corrupt { .. }), "{length}: {damaged}");
            assert_eq!(std::fs::read(&file.path).unwrap(), whole[..length], "it is left as it is");
        }
        std::fs::write(&file.path, &whole[..60]).unwrap();
        let unknown = maintenance::verify(&file.path).unwrap_err();
        assert!(matches!(unknown, StoreError::NotACheckpointFile(_)), "{unknown}");
        Connection::open(file.path.with_file_name("other"))
            .unwrap()
            .execute_batch("CREATE TABLE t(a)")
            .unwrap();
        let other = std::fs::read(file.path.with_file_name("other")).unwrap();
        std::fs::write(&file.path, &other[..other.len() / 2]).unwrap();
        let foreign = maintenance::verify(&file.path).unwrap_err();
        assert!(matches!(foreign, StoreError::NotACheckpointFile(_)), "{foreign}");
    });
}

#[test]
fn older_formats_are_verified_as_they_are() {
    run(async {
        let file = written_of(15).await;
        let older = "DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE named; DROP TABLE branch; PRAGMA user_version = 2";
        Connection::open(&file.path).unwrap().execute_batch(older).unwrap();
        let verified = maintenance::verify(&file.path).unwrap();
        assert_eq!((verified.format, verified.findings.len()), (2, 0), "{:?}", verified.findings);
        let user = |version: i64| {
            let set = format!("PRAGMA user_version = {version}");
            Connection::open(&file.path).unwrap().execute_batch(&set).unwrap();
        };
        user(2);
        assert_eq!(maintenance::verify(&file.path).unwrap().format, 2);
        user(99);
        assert!(matches!(maintenance::verify(&file.path), Err(StoreError::NewerFormat { .. })));
    });
}
