//! Snippets of `docs/several-machines.md`.

use std::process::ExitCode;

use superstep::checkpoint::PostgresSaver;
use superstep::prelude::*;

use super::story::{Story, stories};

type Ended = std::result::Result<ExitCode, Box<dyn std::error::Error>>;

async fn in_a_file(essays: Graph<Story>, path: &str) -> Ended {
    let essays = essays.checkpointer(SqliteSaver::open(path).await?);
    if let Some(exit) = superstep::serve(&[&essays]).subcommand("serve").await {
        return Ok(exit);
    }
    Ok(ExitCode::SUCCESS)
}

async fn in_a_database(essays: Graph<Story>, url: &str) -> Ended {
    let essays = essays.checkpointer(PostgresSaver::open(url).await?);
    if let Some(exit) = superstep::restate(&[&essays]).subcommand("work").await {
        return Ok(exit);
    }
    Ok(ExitCode::SUCCESS)
}

#[tokio::test]
async fn the_place_of_the_threads_is_one_line() -> super::Result {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("essays.db");
    let ended = in_a_file(stories().0, file.to_str().expect("a path of letters")).await?;
    assert_eq!(format!("{ended:?}"), format!("{:?}", ExitCode::SUCCESS));
    let url = format!("host={} user=essays", folder.path().display());
    let error = in_a_database(stories().0, &url).await.expect_err("nothing listens there").to_string();
    assert!(error.contains("failed to connect to the database"), "{error}");
    Ok(())
}
