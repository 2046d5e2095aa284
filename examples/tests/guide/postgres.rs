//! Snippets of `docs/postgres.md`.

use superstep::checkpoint::{PostgresSaver, StoreError};

async fn open(url: &str) -> Result<PostgresSaver, StoreError> {
    PostgresSaver::options().schema("essays").connections(32).open(url).await
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error() -> super::Result {
    let folder = tempfile::tempdir()?;
    let url = format!("host={} user=essays password=hunter2", folder.path().display());
    let error = open(&url).await.expect_err("nothing listens there").to_string();
    assert!(error.contains("failed to connect to the database"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    Ok(())
}
