//! Errors about unreadable and missing things.

use std::fs;

use rusqlite::Connection;
use superstep::cli::{Exit, Look};

use crate::program::{Written, written};
use crate::said;

/// The error of a command line, and its exit code.
fn error(file: &std::path::Path, line: &str) -> (u8, String) {
    let said = said(file, Look::PIPED, line);
    assert_eq!(said.out, "", "{line}");
    assert!(said.err.ends_with('\n'), "{line}");
    (said.exit as u8, said.err.trim_end().to_owned())
}

fn is(found: &(u8, String), code: u8, text: &str) {
    assert_eq!((found.0, &*found.1), (code, text));
}

#[tokio::test]
async fn files_that_cannot_be_read_are_named_with_the_reason() {
    let Written { path, folder } = written().await;
    let at = |name: &str| folder.path().join(name);
    is(&error(&at("none.db"), "threads FILE"), 2, "error: there is no file FILE");
    fs::write(at("empty.db"), "").unwrap();
    is(&error(&at("empty.db"), "threads FILE"), 2, "error: FILE is empty: nothing was stored in it yet");
    fs::write(at("text.db"), "Some text, longer than the header of a database. ".repeat(30)).unwrap();
    is(&error(&at("text.db"), "threads FILE"), 2, "error: FILE is not a checkpoint file");
    is(&error(folder.path(), "threads FILE"), 2, "error: FILE is a folder: name a file in it");
    Connection::open(at("other.db")).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
    is(&error(&at("other.db"), "threads FILE"), 2, "error: FILE is not a checkpoint file");

    fs::copy(&path, at("newer.db")).unwrap();
    Connection::open(at("newer.db")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let newer = error(&at("newer.db"), "threads FILE");
    assert_eq!(newer.0, 2);
    assert!(newer.1.starts_with("error: the file has format 99; this program reads up to "), "{newer:?}");
}

/// An argument that looks like an option used to give an error of nine lines, which did not explain numbers.
#[tokio::test]
async fn an_invalid_number_is_reported_in_one_line() {
    let Written { path, folder: _folder } = written().await;
    for (line, option, value) in [
        ("gc FILE --keep-days -1", "--keep-days <D>", "-1"),
        ("gc FILE --keep-days=-1 --dry-run", "--keep-days <D>", "-1"),
        ("gc FILE --keep-last 1.5", "--keep-last <N>", "1.5"),
        ("gc FILE --keep-last --dry-run", "--keep-last <N>", "--dry-run"),
        ("gc FILE --patience -30s", "--patience <PATIENCE>", "-30s"),
        ("vacuum FILE --patience soon", "--patience <PATIENCE>", "soon"),
        ("rekey FILE --patience -0", "--patience <PATIENCE>", "-0"),
        ("log FILE rust -n -3", "-n <N>", "-3"),
        ("log FILE rust -n ten", "-n <N>", "ten"),
    ] {
        let told = format!("error: invalid value '{value}' for '{option}': it is a whole number, 0 or more");
        is(&error(&path, line), 2, &told);
    }
    let told = "error: invalid value '99999999999999999999' for '--keep-days <D>': it is too large a number";
    is(&error(&path, "gc FILE --keep-days 99999999999999999999"), 2, told);
    assert_eq!(said(&path, Look::PIPED, "log FILE rust -n 0").exit, Exit::Fine);
}

#[tokio::test]
async fn damage_is_reported_and_sound_data_is_read() {
    let Written { path, folder: _folder } = written().await;
    let damage = "UPDATE checkpoint SET manifest = manifest || ' ' WHERE seq = 3";
    Connection::open(&path).unwrap().execute_batch(damage).unwrap();
    let damaged = error(&path, "log FILE rust");
    is(&damaged, 1, "error: checkpoint row 3 is damaged: its checksum does not match");
    assert_eq!(said(&path, Look::PIPED, "log FILE trouble").exit, Exit::Fine);
    assert_eq!(said(&path, Look::PIPED, "threads FILE").exit, Exit::Fine);
    fs::write(&path, &fs::read(&path).unwrap()[..5_000]).unwrap();
    let cut = error(&path, "threads FILE");
    assert!(cut.0 > 0 && cut.1.starts_with("error: "), "{cut:?}");
}

/// One damaged thread used to prevent all others from being listed, and from being found by their names.
#[tokio::test]
async fn a_damaged_thread_is_reported_beside_the_others() {
    let Written { path, folder: _folder } = written().await;
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change(
        "UPDATE checkpoint SET manifest = manifest || ' ' WHERE seq = (SELECT head FROM thread WHERE name = 'zig')",
    );
    let told = said(&path, Look::PIPED, "threads FILE");
    assert_eq!((told.exit, &*told.err), (Exit::No, ""), "the answer is not whole");
    let row = told.out.lines().find(|line| line.starts_with("zig is damaged: checkpoint row "));
    assert!(row.is_some_and(|row| row.ends_with(" is damaged: its checksum does not match")), "{}", told.out);
    assert!(["rust ", "trouble "].iter().all(|name| told.out.contains(name)), "{}", told.out);
    for line in ["log FILE rust", "show FILE trouble", "show FILE rust@2", "blame FILE rust topic"] {
        let told = said(&path, Look::PIPED, line);
        assert_eq!((told.exit, &*told.err), (Exit::Fine, ""), "{line}");
    }
    for line in ["log FILE zig", "show FILE zig@2", "show FILE zig~1", "export FILE zig"] {
        let (code, told) = error(&path, line);
        assert!(code == 1 && told.starts_with("error: checkpoint row "), "{line}: {told}");
    }
    assert!(error(&path, "log FILE zag").1.ends_with("there is no thread or checkpoint zag"));

    change("UPDATE thread SET graph = 'other' WHERE name = 'trouble'");
    let told = said(&path, Look::PIPED, "threads FILE");
    let row = told.out.lines().find(|line| line.starts_with("a thread is damaged: thread row "));
    assert!(row.is_some() && told.exit == Exit::No, "{}", told.out);
    let json = said(&path, Look::PIPED, "threads FILE --json");
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["threads"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(
        (&json["damaged"][1]["thread"], &json["damaged"][0]["thread"]),
        (&"zig".into(), &serde_json::Value::Null)
    );
}

#[tokio::test]
async fn a_missing_name_is_reported_with_similar_ones() {
    let Written { path, folder: _folder } = written().await;
    let error = |line: &str| error(&path, line);
    is(&error("log FILE rst"), 1, "error: there is no thread or checkpoint rst; did you mean rust?");
    is(&error("grep FILE x --thread rst"), 1, "error: there is no thread rst; did you mean rust?");
    is(
        &error("grep FILE x --thread essays"),
        1,
        "error: there is no thread essays; `superstep threads` lists the 3 there are",
    );
    is(&error("show FILE 0123456789"), 1, "error: there is no thread or checkpoint 0123456789");
    is(&error("show FILE rust@9"), 1, "error: thread rust has no step 9; its steps are -1 to 6");
    let far = error("show FILE rust~99");
    assert!(far.1.starts_with("error: there are only 7 checkpoints before "), "{far:?}");
    let many = error("show FILE 0194");
    assert!(
        many.0 == 2 && many.1.starts_with("error: 0194 may be any of these checkpoints: 0194"),
        "{many:?}"
    );
    assert!(many.1.ends_with(", and more"), "{many:?}");
    let path_error = error("show FILE rust facts[x]");
    assert!(path_error.0 == 2 && path_error.1.contains("is not a path"), "{path_error:?}");
    let absent = error("show FILE rust fact");
    assert!(
        absent.0 == 1 && absent.1.ends_with("its fields are draft, facts, rounds, token, topic"),
        "{absent:?}"
    );
    let why = error("why FILE rust@5 wite");
    assert!(why.0 == 1 && why.1.ends_with("; did you mean write?"), "{why:?}");

    // The branch does not contain the newer steps. The error used to say that the thread does not have them.
    assert_eq!(said(&path, Look::PIPED, "fork FILE rust@2").exit, Exit::Fine);
    is(
        &error("show FILE rust@5"),
        1,
        "error: thread rust has no step 5; its steps are -1 to 2 on its latest branch; on another branch that step is \
         checkpoint 01941f29-9f28-7000-8000-000009090909",
    );
}

#[tokio::test]
async fn wrong_usage_is_explained() {
    let Written { path, folder: _folder } = written().await;
    for line in [
        "",
        "lg FILE rust",
        "bisect FILE rust",
        "bisect FILE rust --path p",
        "grep FILE '('",
        "graph FILE t --dot --mermaid",
    ] {
        let (code, text) = error(&path, line);
        assert_eq!(code, 2, "{line}");
        assert!(text.contains("Usage") || text.contains("error"), "{text}");
    }
    is(
        &error(&path, "bisect FILE rust --path rounds --is 'is 3'"),
        2,
        "error: \"is 3\" is none of: exists, missing, = JSON, != JSON, < N, <= N, > N, >= N, ~ REGEX, !~ REGEX",
    );
    for line in ["--help", "log --help", "--version"] {
        let told = said(&path, Look::PIPED, line);
        assert_eq!((told.exit, &*told.err), (Exit::Fine, ""));
    }
    let verbs = [
        "threads",
        "interrupts",
        "log",
        "show",
        "diff",
        "blame",
        "why",
        "grep",
        "bisect",
        "compare",
        "graph",
        "delete",
        "release",
        "fork",
        "edit",
        "export",
        "import",
    ];
    for verb in verbs {
        let help = said(&path, Look::PIPED, &format!("{verb} --help")).out;
        assert!(help.contains(&format!(": superstep {verb} essays.db")), "{verb} has no example: {help}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_deleted_and_old_files_are_not_written_to() {
    let Written { path, folder } = written().await;
    is(&error(&path, "delete FILE rst"), 1, "error: there is no thread rst; did you mean rust?");
    let none = folder.path().join("none.db");
    is(&error(&none, "delete FILE rust"), 2, "error: there is no file FILE");
    assert!(!none.exists());
    let old = folder.path().join("old.db");
    fs::copy(&path, &old).unwrap();
    Connection::open(&old)
        .unwrap()
        .execute_batch("DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE branch; PRAGMA user_version = 2")
        .unwrap();
    let before = fs::read(&old).unwrap();
    is(
        &error(&old, "delete FILE rust"),
        2,
        "error: FILE has format 2, which is only read; `superstep migrate` upgrades it to 6",
    );
    assert_eq!(fs::read(&old).unwrap(), before);
}
