//! Snippets of `docs/secrets.md`.

use superstep::checkpoint::maintenance::{self, Form};
use superstep::checkpoint::{CheckpointFile, CheckpointReader, Key, KeyRing, SqliteReader};
use superstep::prelude::*;

use std::time::Duration;

use super::story::{stories, topic};

#[tokio::test]
async fn a_file_is_encrypted_and_gets_another_key() -> super::Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stories.db");
    let (stories, _) = stories();
    let key = Key::generate()?;
    let keys = KeyRing::new("2026-11", key.clone());
    let saver = SqliteSaver::options().encrypt(keys.clone()).open(&path).await?;
    let stories = stories.checkpointer(saver);
    stories.thread("rust").run(topic("Rust")).await?.interrupted()?;
    drop(stories);

    let file = CheckpointFile::at(&path).keys(keys);
    let reader = SqliteReader::open(file.clone())?;
    let verified = maintenance::verify(file)?;
    assert!(verified.is_sound() && !reader.threads()?.is_empty());

    let patience = Duration::from_secs(5);
    let keys = KeyRing::new("2027-05", Key::generate()?).and("2026-11", key);
    let told = maintenance::rekey(CheckpointFile::at(&path).keys(keys), Form::Encrypted, patience)?;
    assert_eq!(told.retired, ["2026-11"]);
    Ok(())
}
