//! The verbs for the maintenance of a file.

use rusqlite::Connection;
use superstep::cli::{Exit, Look};

use crate::program::{Written, written};
use crate::{Said, said};

fn do_to(file: &Written, sql: &str) {
    Connection::open(&file.path).unwrap().execute_batch(sql).unwrap();
}

fn told(file: &Written, line: &str) -> Said {
    said(&file.path, Look::PIPED, line)
}

#[tokio::test]
async fn damage_is_reported_with_the_row_the_thread_and_the_checkpoint() {
    let file = written().await;
    do_to(
        &file,
        "UPDATE checkpoint SET step = 9 WHERE seq = 2; UPDATE thread SET head = 1 WHERE name = 'zig'",
    );
    let said = told(&file, "verify FILE");
    assert_eq!(said.exit, Exit::No);
    let lines: Vec<&str> = said.out.lines().collect();
    let [thread, checkpoint, count, _] = &*lines else { panic!("{}", said.out) };
    assert_eq!(*thread, "thread row 2, thread zig: its checksum does not match");
    assert!(checkpoint.starts_with("checkpoint row 2, thread rust, checkpoint 0"), "{checkpoint}");
    assert!(checkpoint.ends_with(": its checksum does not match"), "{checkpoint}");
    assert_eq!(*count, "2 problems found");
    let json: serde_json::Value = serde_json::from_str(&told(&file, "verify FILE --json").out).unwrap();
    assert_eq!(json["sound"], false);
    assert_eq!(json["findings"][1]["row"], 2);
    assert_eq!(json["findings"][1]["table"], "checkpoint");
}

#[tokio::test]
async fn a_copy_is_made_beside_and_replaced_only_by_force() {
    let file = written().await;
    let to = file.folder.path().join("copy.db");
    let copy = format!("backup FILE '{}'", to.display());
    let said = told(&file, &copy);
    assert!(said.out.contains("copy.db: "), "{} {}", said.out, said.err);
    assert_eq!(said.exit, Exit::Fine);
    let again = told(&file, &copy);
    assert_eq!(again.exit, Exit::Unusable);
    assert!(
        again.err.ends_with("copy.db exists: choose another name, or replace it with --force\n"),
        "{}",
        again.err
    );
    assert_eq!(told(&file, &format!("{copy} --force")).exit, Exit::Fine);
    assert_eq!(
        told(&file, "backup FILE FILE --force").err,
        "error: FILE is the file to copy: choose another name\n"
    );
    assert_eq!(crate::said(&to, Look::PIPED, "verify FILE").exit, Exit::Fine);
}

#[tokio::test]
async fn an_older_format_is_reported_and_upgraded() {
    let file = written().await;
    let tables = ["thread", "tag", "run", "queue", "assistant", "cron", "event", "expiring"]
        .map(|name| format!("DROP TABLE server_{name};"));
    do_to(&file, &tables.concat());
    do_to(
        &file,
        "ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE branch; DROP TABLE named; PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)",
    );
    let check = told(&file, "migrate FILE --check");
    assert_eq!((check.exit, &*check.out), (Exit::No, "the file has format 2, and would be upgraded to 6\n"));
    assert_eq!(told(&file, "delete FILE rust").exit, Exit::Unusable);
    let done = told(&file, "migrate FILE --json");
    assert_eq!(done.exit, Exit::Fine);
    let json: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(json, serde_json::json!({ "from": 2, "to": 6, "migrated": true }));
    assert_eq!(told(&file, "migrate FILE --check").exit, Exit::Fine);
    assert_eq!(told(&file, "verify FILE").exit, Exit::Fine);
}

#[tokio::test]
async fn what_a_deletion_left_is_taken_out_and_given_back() {
    let file = written().await;
    for number in 0..40 {
        do_to(
            &file,
            &format!(
                "INSERT INTO body(id, hash, text, sum) VALUES ({number} + 99, randomblob(32), printf('%.9000c', 'x'), 0)"
            ),
        );
    }
    let dry = told(&file, "gc FILE --dry-run");
    assert_eq!(dry.out, "would delete 40 long texts (360000 bytes)\n", "{}", dry.err);
    assert_eq!(told(&file, "gc FILE").out, "deleted 40 long texts (360000 bytes)\n");
    assert_eq!(told(&file, "gc FILE").out, "there is nothing to delete\n");
    let json: serde_json::Value = serde_json::from_str(&told(&file, "vacuum FILE --json").out).unwrap();
    assert!(
        json["before"].as_u64().unwrap() > 360_000 && json["after"].as_u64().unwrap() < 226_000,
        "{json}"
    );
    assert_eq!(told(&file, "verify FILE").exit, Exit::Fine);
    let writer = Connection::open(&file.path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = told(&file, "vacuum FILE --patience 0");
    assert_eq!(busy.exit, Exit::Unusable);
    assert_eq!(busy.err, "error: another program kept the file busy for 0ns: try again later\n");
}

#[tokio::test]
async fn older_checkpoints_go_and_every_verb_says_where_the_past_ends() {
    let file = written().await;
    let state = told(&file, "show FILE rust .").out;
    let dry = told(&file, "gc FILE --keep-last 1 --thread rust --dry-run --json");
    let done = told(&file, "gc FILE --keep-last 1 --thread rust --json");
    let json = |said: &Said| -> serde_json::Value { serde_json::from_str(&said.out).unwrap() };
    let (mut dry, done) = (json(&dry), json(&done));
    dry["dry_run"] = false.into();
    assert_eq!(dry, done);
    // It has 8 checkpoints; the latest stays, and the one where `zig` begins.
    assert_eq!(done["pruned"]["checkpoints"], 6);
    assert_eq!(told(&file, "verify FILE").exit, Exit::Fine);
    assert_eq!(told(&file, "show FILE rust .").out, state);
    let log = told(&file, "log FILE rust").out;
    assert_eq!(log.matches("pruned").count(), 2, "{log}");
    for line in ["log FILE zig --graph", "blame FILE rust .", "diff FILE rust", "show FILE rust~1"] {
        let said = told(&file, line);
        assert!(said.exit != Exit::Unusable && said.err.is_empty(), "{line}: {}", said.err);
    }
    assert!(
        told(&file, "blame FILE rust draft").out.contains("pruned"),
        "{}",
        told(&file, "blame FILE rust draft").out
    );
    let why = told(&file, "why FILE rust review");
    assert_eq!(
        why.err, "error: the checkpoint that planned review was pruned: the past ends there\n",
        "{}",
        why.out
    );
    let fork = told(&file, "fork FILE rust~1 --name other");
    assert!(fork.err.contains("pruned"), "{} {}", fork.out, fork.err);
}

#[tokio::test]
async fn a_thread_without_what_to_keep_is_refused() {
    let file = written().await;
    for dry in ["", " --dry-run"] {
        let said = told(&file, &format!("gc FILE --thread rust{dry}"));
        assert_eq!((said.exit, &*said.out), (Exit::Unusable, ""));
        assert!(said.err.contains("--keep-last <N>|--keep-days <D>"), "{}", said.err);
    }
    let both = told(&file, "gc FILE --thread rust --keep-last 99 --keep-days 1");
    assert_eq!((both.exit, &*both.out), (Exit::Fine, "there is nothing to delete\n"), "{}", both.err);
}

#[tokio::test]
async fn deleted_data_is_reported_in_plain_words() {
    let file = written().await;
    do_to(&file, "INSERT INTO locator VALUES (x'00000000000000000000000000000001', 999)");
    let said = told(&file, "gc FILE --dry-run");
    assert_eq!(said.out, "would delete 1 leftover of a deletion (0 bytes)\n", "{}", said.err);
    let pruned = told(&file, "gc FILE --keep-last 1").out;
    // Of 14 checkpoints, the three latest stay, and the one where `zig` begins.
    assert!(pruned.starts_with("deleted 10 checkpoints, "), "{pruned}");
    assert!(pruned.contains(", 1 leftover of a deletion (") && pruned.ends_with(" bytes)\n"), "{pruned}");
}

/// Cut in half, or with an invalid page.
#[tokio::test]
async fn a_damaged_file_is_called_damaged_and_not_written_to() {
    let file = written().await;
    let whole = std::fs::read(&file.path).unwrap();
    let half = &whole[..whole.len() / 2];
    let (root, size): (i64, i64) = Connection::open(&file.path)
        .unwrap()
        .query_row(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'ask_open'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let mut malformed = whole.clone();
    malformed[usize::try_from((root - 1) * size).unwrap()..][..8].fill(0);
    let writing = ["gc FILE", "gc FILE --dry-run", "gc FILE --keep-last 1", "vacuum FILE"];
    let reading =
        ["verify FILE", "threads FILE", "log FILE rust", "du FILE", "delete FILE rust", "migrate FILE"];
    for (bytes, verbs) in [(half, [&writing[..], &reading].concat()), (&malformed, writing.to_vec())] {
        std::fs::write(&file.path, bytes).unwrap();
        for verb in verbs {
            let said = told(&file, verb);
            assert_eq!(said.exit, Exit::No, "{verb}: {}{}", said.out, said.err);
            assert!(
                said.err.contains(" is damaged: ") && said.err.lines().count() == 1,
                "{verb}: {}",
                said.err
            );
            assert!(std::fs::read(&file.path).unwrap() == bytes, "{verb} wrote to it");
        }
    }
}
