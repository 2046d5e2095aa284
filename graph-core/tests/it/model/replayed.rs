//! What is recorded of a play, run once more without anything live.

use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::run::{Graph, Replay};

use super::spec::World;
use super::stage::{Stage, Trouble};

/// A play that is replayed, and what happened while it was.
pub(crate) struct Replayed {
    replay: Replay,
    /// Effects that happened: none may.
    effects: usize,
}

impl Replayed {
    /// Replays what is on `thread`, on a stage of its own. Nodes that were told to ask do so again.
    pub(crate) async fn of(
        graph: &Graph<World, Stage>,
        saver: Arc<dyn Checkpointer>,
        thread: &str,
        trouble: &Trouble,
    ) -> Self {
        let stage = Stage::default();
        if matches!(trouble, Trouble::Ask(..)) {
            stage.shared.lock().trouble = trouble.clone();
        }
        let graph = graph.clone().with_context(stage.clone()).shared_checkpointer(saver);
        let replay = graph.thread(thread).replay().await.expect("it ran");
        Self { replay, effects: stage.shared.effects() }
    }

    /// Every superstep came out as it is recorded, and nothing happened.
    pub(crate) fn agrees(&self) -> Result<(), String> {
        let Self { replay, effects } = self;
        if !replay.is_equal() || replay.divergent > 0 || !replay.unverified.is_empty() {
            return Err(format!("{replay:#?}"));
        }
        if *effects > 0 {
            return Err(format!("{effects} effects happened in a replay"));
        }
        if replay.supersteps == 0 { Err("nothing was replayed".into()) } else { Ok(()) }
    }
}
