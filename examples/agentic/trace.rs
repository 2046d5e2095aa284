//! The phases of a turn.

use superstep::checkpoint::Source;
use superstep::nodes::graphs::AgenticState;
use superstep::prelude::*;
use superstep::run::ThreadError;

/// Returns the nodes that ran in the latest turn of a thread, in order, including those of an interrupted process.
pub(crate) async fn phases(thread: &Thread<AgenticState>) -> Result<Vec<String>, ThreadError> {
    let mut history = thread.history()?;
    let mut ran = Vec::new();
    while let Some(step) = history.next().await?.filter(|step| step.source != Source::Input) {
        ran.extend(step.ran.iter().rev().filter(|node| !node.is_start()).map(ToString::to_string));
    }
    ran.reverse();
    Ok(ran)
}
