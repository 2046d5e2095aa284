//! A studio of a file changes nothing, and says what is wrong with a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use superstep_checkpoint::{CheckpointFile, SqliteSaver};
use superstep_cli::{Documents, RefusalKind};

use super::events::Events;
use super::{Page, essay, essays, printed, written};
use crate::studio::read::READS;

/// The files of a folder: their bytes, and the times of their last changes.
fn contents(folder: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let file = |file: std::fs::DirEntry| {
        let name = file.file_name().into_string().unwrap();
        (name, (std::fs::read(file.path()).unwrap(), file.metadata().unwrap().modified().unwrap()))
    };
    files.map(file).collect()
}

/// Asks every route, and opens a stream of events.
async fn look_at_all(page: &Page) {
    let events = Events::of(page).await;
    for read in READS {
        let params = read.params.iter().map(|(name, _)| match *name {
            "pattern" => (*name, "."),
            "path" => (*name, "draft"),
            "is" => (*name, "exists"),
            "node" => (*name, "write"),
            "from" => (*name, "0"),
            "width" | "count" => (*name, "10"),
            "checkpoint" | "thread" | "a" | "b" | "other" => (*name, "rust"),
            _ => (*name, ""),
        });
        let params: Vec<_> = params.filter(|(_, value)| !value.is_empty()).collect();
        let (status, document) = page.get(read.path, &params).await;
        assert!(status == 200 || read.path == "why", "{} {params:?}: {status} {document}", read.path);
    }
    drop(events);
}

#[tokio::test]
async fn reading_changes_no_byte_of_the_file_and_its_folder() {
    let file = written().await;
    let before = contents(file.folder.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), ["essays.db"]);
    look_at_all(&Page::of(&file.path)).await;
    assert_eq!(contents(file.folder.path()), before);
}

#[tokio::test]
async fn reading_changes_no_byte_of_a_file_that_a_program_has_open() {
    let file = written().await;
    let graph = essays(SqliteSaver::open(&file.path).await.unwrap());
    graph.thread("open").run(essay("Open")).await.unwrap().interrupted().unwrap();
    let page = Page::of(&file.path);
    // The index beside the log is shared memory, in which readers note what they read.
    let stored = |path: &Path| {
        let mut all = contents(path);
        all.remove("essays.db-shm");
        all
    };
    let before = stored(file.folder.path());
    look_at_all(&page).await;
    assert_eq!(stored(file.folder.path()), before);
    assert!(before.contains_key("essays.db-wal"));
}

#[tokio::test]
async fn files_of_older_formats_are_shown_as_they_are() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graph-checkpoint/tests/fixtures");
    for format in 1..=5_u32 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        std::fs::copy(fixtures.join(format!("format-{format}.db")), &path).unwrap();
        let before = contents(folder.path());
        let page = Page::of(&path);
        assert_eq!(page.read("session", &[]).await["format"], format);
        let path = path.to_str().unwrap();
        let threads = page.read("threads", &[]).await;
        assert_eq!(threads, printed(&["threads", path, "--tokens"]), "format {format}");
        for thread in threads["threads"].as_array().unwrap() {
            let name = thread["thread"].as_str().unwrap();
            let log = page.read("log", &[("thread", name), ("graph", "true")]).await;
            assert_eq!(log, printed(&["log", path, name, "--graph"]), "format {format}");
        }
        assert_eq!(contents(folder.path()), before, "format {format}");
    }
}

/// Returns the error of opening a file.
fn refused(path: &Path) -> (RefusalKind, String) {
    let refusal = Documents::open(CheckpointFile::at(path)).unwrap_err();
    (refusal.kind, refusal.text.replace(path.to_str().unwrap(), "FILE"))
}

#[tokio::test]
async fn each_file_that_cannot_be_shown_has_its_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert_eq!(refused(&path("none.db")), (RefusalKind::Unusable, "there is no file FILE".into()));
    std::fs::write(path("empty.db"), []).unwrap();
    let (_, empty) = refused(&path("empty.db"));
    assert!(empty.contains("empty"), "{empty}");
    std::fs::write(
        path("text.db"),
        "not a database, but a text that is long enough for a header\n".repeat(40),
    )
    .unwrap();
    let (_, text) = refused(&path("text.db"));
    assert!(text.contains("FILE") && text.contains("not a"), "{text}");
    std::fs::create_dir(path("folder.db")).unwrap();
    let (_, folder_text) = refused(&path("folder.db"));
    assert!(folder_text.contains("FILE"), "{folder_text}");

    let file = written().await;
    let newer = path("newer.db");
    std::fs::copy(&file.path, &newer).unwrap();
    rusqlite_version(&newer, 99);
    let (_, newer) = refused(&newer);
    assert!(newer.contains("99") && newer.contains("use a newer version"), "{newer}");
}

/// Sets the format in the header of an SQLite file: `user_version`, at byte 60.
fn rusqlite_version(path: &Path, version: u32) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_file_is_shown() {
    let file = written().await;
    // Damages a text that only `trouble` has.
    let mut bytes = std::fs::read(&file.path).unwrap();
    let word = b"the pen is broken";
    let places: Vec<usize> =
        (0..bytes.len() - word.len()).filter(|at| bytes[*at..].starts_with(word)).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + 3].copy_from_slice(b"THE");
    }
    std::fs::write(&file.path, bytes).unwrap();
    let page = Page::of(&file.path);
    let path = file.path.to_str().unwrap();
    let threads = page.read("threads", &[]).await;
    let names = threads["threads"].as_array().unwrap().iter().map(|thread| &thread["thread"]);
    assert_eq!(names.collect::<Vec<_>>(), ["rust", "zig"]);
    assert_eq!(threads["damaged"][0]["thread"], "trouble");
    assert!(threads["damaged"][0]["problem"].as_str().unwrap().contains("damaged"), "{threads}");
    let (status, error) = page.get("show", &[("checkpoint", "trouble")]).await;
    assert_eq!(status, 404, "{error}");
    assert!(error["detail"].as_str().unwrap().contains("damaged"), "{error}");
    assert_eq!(page.read("show", &[("checkpoint", "rust")]).await, printed(&["show", path, "rust"]));
}
