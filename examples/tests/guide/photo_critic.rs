//! Snippets of `docs/photo-critic.md`. The model is a script.

use superstep::nodes::images::ImagePreparation;
use superstep::nodes::message::{Content, Detail, Part};
use superstep::nodes::rag::EmbedderName;
use superstep::prelude::*;
use superstep_examples::critic::{
    CriticSettings, CriticState, Critique, VisionDetail, critic, critique_image,
};

use std::path::Path;

use superstep::nodes::model::Scripted;
use superstep_examples::critic::CriticConfig;

const PHOTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/photo_critic/landscape.jpg");
const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/photo_critic/advice");

async fn critic_of(folder: &Path, model: Scripted) -> Result<CriticConfig, Box<dyn std::error::Error>> {
    let (file, texts) = (folder.join("advice.db"), TEXTS);
    let settings = CriticSettings {
        model: "anthropic:claude-sonnet-4-5".parse()?,
        embedder: EmbedderName::Hash,
        database: file,
        ..CriticSettings::default()
    };
    let report = settings.knowledge()?.ingest(texts).run().await?;
    assert_eq!(report.added, 6);
    Ok(CriticConfig::new(model, settings.knowledge()?))
}

#[tokio::test]
async fn a_photograph_is_critiqued() -> super::Result {
    let (folder, photo) = (tempfile::tempdir()?, PHOTO);
    let config = critic_of(folder.path(), Scripted::new().say("The path leads to the sun.")).await?;

    let critique = critique_image(photo).with(config).detail(VisionDetail::High).await?;
    println!("{}\n{}", critique.output, critique.token_usage);
    assert_eq!(critique.output, "The path leads to the sun.");
    Ok(())
}

#[tokio::test]
async fn a_critique_is_stored_step_by_step() -> super::Result {
    let folder = tempfile::tempdir()?;
    let config = critic_of(folder.path(), Scripted::new().say("The path leads to the sun.")).await?;
    let (steps, photo) = (folder.path().join("steps.db"), PHOTO);

    let graph = critic(config)?.checkpointer(SqliteSaver::open(steps).await?);
    let thread = graph.thread("lake");
    let state = thread.run(CriticState::of(photo)).await?.finished()?;
    let critique = Critique::of(&state)?;
    assert_eq!(critique.output, "The path leads to the sun.");
    Ok(())
}

#[test]
fn a_picture_is_made_ready() -> super::Result {
    let photo = PHOTO;
    let picture = ImagePreparation::new().max_size(1_024).read(photo)?;
    let question =
        Content::from_iter([Part::text("What is on it?"), Part::Image(picture.to_image(Detail::Low))]);
    assert_eq!((question.parts().len(), picture.size()), (2, (640, 427)));
    Ok(())
}
