//! The content of older files, before and after their migration to the current format.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{At, CheckpointReader, SqliteReader, maintenance};
use superstep::driver::checkpoint::Summary;
use superstep::prelude::SqliteSaver;

use crate::releases::files::{Copy, FORMATS, exports};
use crate::releases::program::{GRAPHS, fill};

#[test]
fn a_file_of_every_format_is_read_as_it_is() {
    assert_eq!(
        FORMATS.len() as u32 + 1,
        SqliteReader::FORMAT,
        "the file of the last format is made at its release"
    );
    for format in FORMATS {
        let file = Copy::of(format);
        let bytes = std::fs::read(&file.path).unwrap();
        let reader = SqliteReader::open(&file.path).unwrap();
        assert_eq!(reader.format(), format);
        let names: Vec<String> =
            reader.threads().unwrap().iter().map(|thread| thread.thread.to_string()).collect();
        let mut expected: Vec<String> =
            GRAPHS.iter().flat_map(|name| [format!("{name} done"), format!("{name} open")]).collect();
        expected.push("chain fork".into());
        expected.sort();
        assert_eq!(names, expected);
        for name in &names {
            let steps = reader.steps(&name.as_str().into(), &At::Head, usize::MAX).unwrap();
            assert!(steps.len() > 3, "{name}");
            reader.names(&name.as_str().into()).unwrap();
        }
        let verified = maintenance::verify(&file.path).unwrap();
        assert_eq!((verified.format, verified.findings), (format, Vec::new()));
        maintenance::usage(&file.path).unwrap();
        drop(reader);
        assert!(std::fs::read(&file.path).unwrap() == bytes, "the file of format {format} was written to");
        assert_eq!(file.folder.path().read_dir().unwrap().count(), 1, "nothing is left beside it");
    }
}

/// The steps of each thread, without ids and times.
fn histories(path: &Path) -> Vec<String> {
    let reader = SqliteReader::open(path).unwrap();
    let mut told = Vec::new();
    for thread in reader.threads().unwrap() {
        for line in reader.history(&thread.thread, &At::Head, usize::MAX).unwrap() {
            let Summary { step, source, ran, next, .. } = line;
            told.push(format!("{} {step} {source:?} {ran:?} {next:?}", thread.thread));
        }
    }
    told
}

#[tokio::test]
async fn todays_program_writes_the_history_that_every_release_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.db");
    fill(Arc::new(SqliteSaver::open(&path).await.unwrap())).await.unwrap();
    for format in FORMATS {
        assert_eq!(histories(&Copy::of(format).path), histories(&path), "format {format}");
    }
}

#[test]
fn every_thread_is_the_same_in_todays_format() {
    for format in FORMATS {
        let file = Copy::of(format);
        let before = exports(&file.path);
        let done = maintenance::migrate(&file.path).unwrap();
        assert_eq!((done.from, done.to), (format, SqliteReader::FORMAT));
        let verified = maintenance::verify(&file.path).unwrap();
        assert_eq!((verified.format, verified.findings), (SqliteReader::FORMAT, Vec::new()));
        assert!(exports(&file.path) == before, "format {format}");
    }
}
