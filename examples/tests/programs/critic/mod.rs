//! The behavior of a critic, and the messages that it sends to its model.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod messages;
mod resume;
mod runs;
mod settings;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelError, ModelReply, Scripted, Turn, Usage};
use superstep::nodes::rag::{Chunker, EmbedError, Embedder, Embedding, HashEmbedder, KnowledgeBase};
use tempfile::TempDir;

use superstep_examples::critic::*;

/// A folder with a photograph, and some advice in a knowledge base.
struct Desk {
    folder: TempDir,
    knowledge: KnowledgeBase,
}

impl Desk {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        image::RgbImage::from_pixel(120, 80, image::Rgb([90, 120, 200]))
            .save(folder.path().join("lake.png"))
            .unwrap();
        let file = folder.path().join("advice.db");
        let knowledge = KnowledgeBase::open(file, "composition", HashEmbedder::default()).unwrap();
        for (source, text) in [
            ("lines.md", "Leading lines draw the eye into the picture."),
            ("thirds.md", "The rule of thirds puts lines such as the horizon off the centre."),
        ] {
            knowledge.add(source, &Chunker::default().split(text)).await.unwrap();
        }
        Self { folder, knowledge }
    }

    /// One whose searches fail, as nothing can be embedded.
    async fn broken() -> Self {
        let mut desk = Self::new().await;
        let file = desk.folder.path().join("broken.db");
        desk.knowledge = KnowledgeBase::open(file, "composition", Away).unwrap();
        desk
    }

    fn photo(&self) -> PathBuf {
        self.folder.path().join("lake.png")
    }

    fn input(&self) -> CriticStateUpdate {
        CriticState::of(self.photo().to_str().unwrap())
    }

    fn config(&self, model: &Arc<Scripted>) -> CriticConfig {
        CriticConfig::new(Arc::clone(model), self.knowledge.clone())
    }

    /// Runs a critique to its end.
    async fn state(&self, model: &Arc<Scripted>) -> CriticState {
        self.state_with(model, CriticSettings::default()).await
    }

    async fn state_with(&self, model: &Arc<Scripted>, settings: CriticSettings) -> CriticState {
        let graph = critic(self.config(model).settings(settings).unwrap()).unwrap();
        graph.run(self.input()).await.unwrap().finished().unwrap()
    }
}

/// An embedder that is not there.
struct Away;

#[async_trait]
impl Embedder for Away {
    fn name(&self) -> &str {
        "away"
    }

    async fn embed(&self, _: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Err(ModelError::Unreachable { reason: "no route".into() }.into())
    }
}

fn search(id: &str, query: &str) -> ToolCall {
    ToolCall::new(id, COMPOSITION_TOOL, json!({ "query": query }))
}

/// Asks for these, and has used so much.
fn asking(calls: &[ToolCall], usage: Usage) -> Turn {
    Turn::Reply(ModelReply::new("gpt-4.1", "").with_calls(calls.to_vec()).with_usage(usage))
}

fn saying(text: &str, usage: Usage) -> Turn {
    Turn::Reply(ModelReply::new("gpt-4.1", text).with_usage(usage))
}

/// A model that asks for one search each time, so often, and then says something.
fn searching(times: u32) -> Arc<Scripted> {
    let asks = |model: Scripted, n| {
        model.then(asking(&[search(&format!("c{n}"), "leading lines")], Usage::of(100, 10)))
    };
    Arc::new((1..=times).fold(Scripted::new(), asks).then(saying("Well balanced.", Usage::of(500, 50))))
}
