//! Snippets of `docs/writing-a-saver.md`.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep::checkpoint::conformance::{self, Subject};
use superstep::checkpoint::{Checkpointer, SqliteSaver, StoreError};
use superstep::driver::checkpoint::{Around, Commit, Committed};
use superstep::error::BoxError;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use superstep::checkpoint::MemorySaver;

use super::story::{stories, topic};

/// Counts the commits.
struct Counted {
    saver: MemorySaver,
    commits: AtomicU64,
}

#[async_trait]
impl Around for Counted {
    fn inner(&self) -> &dyn Checkpointer {
        &self.saver
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.saver.commit(commit).await
    }
}

struct Files {
    folder: tempfile::TempDir,
    opened: AtomicU32,
}

#[async_trait]
impl Subject for Files {
    type Saver = SqliteSaver;

    async fn fresh(&self) -> Result<SqliteSaver, BoxError> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(SqliteSaver::open(self.folder.path().join(format!("{number}.db"))).await?)
    }

    async fn reopen(&self, saver: &SqliteSaver) -> Result<Option<SqliteSaver>, BoxError> {
        let path = saver.path().ok_or("it has a file")?;
        Ok(Some(SqliteSaver::open(path).await?))
    }
}

#[tokio::test]
async fn a_saver_around_another_one_sees_the_calls() -> super::Result {
    let counted = Arc::new(Counted { saver: MemorySaver::new(), commits: AtomicU64::new(0) });
    let (stories, _) = stories();
    let stories = stories.shared_checkpointer(counted.clone());
    stories.thread("rust").run(topic("Rust")).await?.interrupted()?;
    assert!(counted.commits.load(Ordering::Relaxed) > 0);
    Ok(())
}

/// The tests of the suite itself run all items.
#[tokio::test(flavor = "multi_thread")]
async fn a_saver_is_run_against_the_suite() -> super::Result {
    let files = Files { folder: tempfile::tempdir()?, opened: AtomicU32::new(0) };
    let report = conformance::run_only(&files, "heads.").await;
    report.assert();
    if std::env::var_os("SUPERSTEP_TORTURE").is_some() {
        conformance::run(&files).await.assert();
    }
    Ok(())
}

/// The page names only existing items, and all groups.
#[test]
fn the_page_names_items_that_there_are() {
    let page = include_str!("../../../docs/writing-a-saver.md");
    let names: Vec<&str> = conformance::items().map(|item| item.name).collect();
    let spans: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let is_item =
        |span: &&&str| conformance::items().any(|item| span.starts_with(&format!("{}.", item.group)));
    for span in spans.iter().filter(is_item) {
        assert!(names.contains(span), "there is no item {span}");
    }
    for item in conformance::items() {
        let is_named =
            spans.iter().any(|span| *span == item.group || span.starts_with(&format!("{}.", item.group)));
        assert!(is_named, "the page does not tell of the group {}", item.group);
    }
}
