//! Every saver passes every item.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep_checkpoint::{Durability, Key, KeyRing, SqliteOptions, SqliteSaver};
use superstep_conformance::{self as conformance, Clock, Outcome, Report, Subject};
use superstep_core::checkpoint::{Around, Checkpointer, MemorySaver};
use superstep_core::error::BoxError;

struct Memory;

#[async_trait]
impl Subject for Memory {
    type Saver = MemorySaver;

    async fn fresh(&self) -> Result<MemorySaver, BoxError> {
        Ok(MemorySaver::new())
    }

    async fn fresh_at(&self, clock: Clock) -> Result<Option<MemorySaver>, BoxError> {
        Ok(Some(MemorySaver::new().lease_clock(move || clock())))
    }
}

/// A saver that forwards every call.
struct Passing(MemorySaver);

impl Around for Passing {
    fn inner(&self) -> &dyn Checkpointer {
        &self.0
    }
}

struct AroundMemory;

#[async_trait]
impl Subject for AroundMemory {
    type Saver = Passing;

    async fn fresh(&self) -> Result<Passing, BoxError> {
        Ok(Passing(MemorySaver::new()))
    }
}

struct SqliteInMemory;

#[async_trait]
impl Subject for SqliteInMemory {
    type Saver = SqliteSaver;

    async fn fresh(&self) -> Result<SqliteSaver, BoxError> {
        Ok(SqliteSaver::in_memory().await?)
    }
}

/// A separate file for each store. A file that is saved at the end cannot be opened twice.
struct SqliteFile {
    folder: tempfile::TempDir,
    files: AtomicU32,
    durability: Durability,
    keys: Option<KeyRing>,
}

impl SqliteFile {
    fn new(durability: Durability) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the files");
        Self { folder, files: AtomicU32::new(0), durability, keys: None }
    }

    fn next_path(&self) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{number}.db"))
    }

    async fn open(&self, path: PathBuf, options: SqliteOptions) -> Result<SqliteSaver, BoxError> {
        let options = options.durability(self.durability);
        let options = match self.keys.clone() {
            Some(keys) => options.encrypt(keys),
            None => options,
        };
        Ok(options.open(path).await?)
    }
}

#[async_trait]
impl Subject for SqliteFile {
    type Saver = SqliteSaver;

    async fn fresh(&self) -> Result<SqliteSaver, BoxError> {
        self.open(self.next_path(), SqliteSaver::options()).await
    }

    async fn reopen(&self, saver: &SqliteSaver) -> Result<Option<SqliteSaver>, BoxError> {
        if self.durability == Durability::Exit {
            return Ok(None);
        }
        let path = saver.path().expect("it has a file").to_owned();
        self.open(path, SqliteSaver::options()).await.map(Some)
    }

    async fn fresh_at(&self, clock: Clock) -> Result<Option<SqliteSaver>, BoxError> {
        self.open(self.next_path(), SqliteSaver::options().lease_clock(move || clock())).await.map(Some)
    }
}

/// Runs the suite, as a program with several threads does.
pub(crate) fn run<S: Subject>(subject: &S) -> Report {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build();
    runtime.expect("a runtime").block_on(conformance::run(subject))
}

fn not_applicable(report: &Report) -> BTreeSet<&'static str> {
    let skipped = report.items().filter(|(_, outcome)| matches!(outcome, Outcome::NotApplicable(_)));
    skipped.map(|(item, _)| item.group).collect()
}

#[test]
fn the_memory_saver_conforms() {
    let report = run(&Memory);
    report.assert();
    // The items on leases and results that two programs share.
    assert_eq!(
        not_applicable(&report),
        ["crash", "leases", "outrun", "queue", "rows", "sharing", "watch", "webhooks"].into()
    );
}

#[test]
fn a_saver_around_another_one_conforms() {
    run(&AroundMemory).assert();
}

#[test]
fn the_sqlite_saver_conforms_in_memory() {
    let report = run(&SqliteInMemory);
    report.assert();
    assert_eq!(
        not_applicable(&report),
        ["crash", "leases", "outrun", "queue", "rows", "sharing", "watch", "webhooks"].into()
    );
}

#[test]
fn the_sqlite_saver_conforms_on_a_file_at_every_durability() {
    for durability in [Durability::Power, Durability::Process, Durability::Exit] {
        let report = run(&SqliteFile::new(durability));
        report.assert();
        let skipped: &[&str] = if durability == Durability::Exit {
            &["crash", "leases", "outrun", "queue", "rows", "sharing", "watch", "webhooks"]
        } else {
            &[]
        };
        assert!(not_applicable(&report).iter().eq(skipped), "{report}");
    }
}

#[test]
fn the_sqlite_saver_conforms_on_an_encrypted_file() {
    let keys = KeyRing::new("key", Key::new([7; Key::BYTES]));
    let report = run(&SqliteFile { keys: Some(keys), ..SqliteFile::new(Durability::Process) });
    report.assert();
    assert!(not_applicable(&report).is_empty(), "{report}");
}

#[test]
fn items_have_names_of_their_own_and_say_what_they_check() {
    let mut names = BTreeSet::new();
    for item in conformance::items() {
        assert!(names.insert(item.name), "two items are called {}", item.name);
        assert!(item.name.starts_with(&format!("{}.", item.group)), "{item:?}");
        assert!(item.checks.ends_with('.') && !item.checks.starts_with(char::is_lowercase), "{item:?}");
    }
    assert!(names.len() > 140, "{} items", names.len());
}
