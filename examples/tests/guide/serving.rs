//! Snippets of `docs/serving.md`.

use std::process::ExitCode;

use superstep::checkpoint::PostgresSaver;

use super::story::stories;

type Ended = std::result::Result<ExitCode, Box<dyn std::error::Error>>;

async fn program() -> Ended {
    let (essays, _) = stories();
    if let Some(exit) = superstep::serve(&[&essays]).subcommand("serve").await {
        return Ok(exit);
    }
    Ok(ExitCode::SUCCESS)
}

#[tokio::test]
async fn a_program_that_does_not_serve_continues() -> super::Result {
    assert_eq!(format!("{:?}", program().await?), format!("{:?}", ExitCode::SUCCESS));
    Ok(())
}

async fn shared(url: &str) -> super::Result {
    let (essays, _) = stories();
    let essays = essays.checkpointer(PostgresSaver::open(url).await?);
    let _router = superstep::serve(&[&essays]).router()?;
    Ok(())
}

#[tokio::test]
async fn a_server_without_its_database_does_not_start() -> super::Result {
    let folder = tempfile::tempdir()?;
    let error = shared(&format!("host={} user=essays", folder.path().display())).await;
    let error = error.expect_err("nothing listens there").to_string();
    assert!(error.contains("failed to connect to the database"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_program_allows_webhooks_in_its_network() -> super::Result {
    let (essays, _) = stories();
    let server = superstep::serve(&[&essays]).allow_webhook_host("hooks.internal:8080");
    assert!(server.router().is_ok());
    let server = superstep::serve(&[&essays]).allow_webhook_host("http://hooks.internal");
    assert!(server.router().is_err_and(|error| error.to_string().contains("is not a host for webhooks")));
    Ok(())
}

#[tokio::test]
async fn a_program_listens_until_it_is_stopped() -> super::Result {
    let (essays, _) = stories();
    let stop = std::future::ready(());
    let server = superstep::serve(&[&essays]).listen("127.0.0.1:0").await?;
    println!("http://{}", server.address());
    server.until(stop).await;
    Ok(())
}
