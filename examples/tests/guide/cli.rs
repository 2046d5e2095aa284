//! Snippets of `docs/cli.md`.

use std::process::ExitCode;

use super::story::stories;

type Ended = std::result::Result<ExitCode, Box<dyn std::error::Error>>;

async fn program() -> Ended {
    let (essays, _) = stories();
    if let Some(exit) = superstep::debugger(&[&essays]).subcommand("debug").await {
        return Ok(exit);
    }
    Ok(ExitCode::SUCCESS)
}

#[tokio::test]
async fn a_program_that_is_not_debugged_continues() -> super::Result {
    assert_eq!(format!("{:?}", program().await?), format!("{:?}", ExitCode::SUCCESS));
    Ok(())
}
