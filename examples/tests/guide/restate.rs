//! Snippets of `docs/restate.md`.

use std::process::ExitCode;

use super::story::stories;

type Ended = std::result::Result<ExitCode, Box<dyn std::error::Error>>;

async fn program() -> Ended {
    let (essays, _) = stories();
    if let Some(exit) = superstep::restate(&[&essays]).subcommand("work").await {
        return Ok(exit);
    }
    Ok(ExitCode::SUCCESS)
}

#[tokio::test]
async fn a_program_that_does_not_work_for_restate_continues() -> super::Result {
    assert_eq!(format!("{:?}", program().await?), format!("{:?}", ExitCode::SUCCESS));
    Ok(())
}
