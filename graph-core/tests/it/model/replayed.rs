//! Replays of a recorded play.

use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::run::{Graph, Replay};

use super::spec::World;
use super::stage::{Stage, Trouble};

/// A replay of a play, and the effects that happened during it.
pub(crate) struct Replayed {
    replay: Replay,
    /// The number of effects that happened, which must be 0.
    effects: usize,
}

impl Replayed {
    /// Replays the play on `thread`, on a stage of its own. Nodes that asked in the play ask again.
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

    /// Checks that every superstep gave its recorded result, and that no effect happened.
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
