//! The verbs that take care of a file.

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
async fn damage_is_told_with_the_row_the_thread_and_the_checkpoint() {
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
    assert_eq!(*count, "2 things are wrong");
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
    assert_eq!(told(&file, "backup FILE FILE --force").err, "error: FILE is the file that is to be copied\n");
    assert_eq!(crate::said(&to, Look::PIPED, "verify FILE").exit, Exit::Fine);
}

#[tokio::test]
async fn an_older_format_is_told_and_upgraded() {
    let file = written().await;
    do_to(&file, "DROP TABLE emitted; PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)");
    let check = told(&file, "migrate FILE --check");
    assert_eq!((check.exit, &*check.out), (Exit::No, "the file has format 2, and would be brought to 3\n"));
    assert_eq!(told(&file, "delete FILE rust").exit, Exit::Unusable);
    let done = told(&file, "migrate FILE --json");
    assert_eq!(done.exit, Exit::Fine);
    let json: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(json, serde_json::json!({ "from": 2, "to": 3, "migrated": true }));
    assert_eq!(told(&file, "migrate FILE --check").exit, Exit::Fine);
    assert_eq!(told(&file, "verify FILE").exit, Exit::Fine);
}

#[tokio::test]
async fn what_a_deletion_left_is_taken_out_and_given_back() {
    let file = written().await;
    for number in 0..40 {
        do_to(
            &file,
            &format!("INSERT INTO body VALUES ({number} + 99, randomblob(32), printf('%.9000c', 'x'), 0)"),
        );
    }
    let dry = told(&file, "gc FILE --dry-run");
    assert_eq!(dry.out, "would take out 40 long texts of 360000 bytes\n", "{}", dry.err);
    assert_eq!(told(&file, "gc FILE").out, "took out 40 long texts of 360000 bytes\n");
    assert_eq!(told(&file, "gc FILE").out, "nothing is there for nobody\n");
    let json: serde_json::Value = serde_json::from_str(&told(&file, "vacuum FILE --json").out).unwrap();
    assert!(
        json["before"].as_u64().unwrap() > 360_000 && json["after"].as_u64().unwrap() < 100_000,
        "{json}"
    );
    assert_eq!(told(&file, "verify FILE").exit, Exit::Fine);
    let writer = Connection::open(&file.path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = told(&file, "vacuum FILE --patience 0");
    assert_eq!(busy.exit, Exit::Unusable);
    assert_eq!(busy.err, "error: another program kept the file busy for 0ns: try again when it does less\n");
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
    // It has 8; the latest stays, and the one where `zig` begins.
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
    assert_eq!(why.err, "error: what planned review was pruned: the past ends there\n", "{}", why.out);
    let fork = told(&file, "fork FILE rust~1 --name other");
    assert!(fork.err.contains("pruned"), "{} {}", fork.out, fork.err);
}
