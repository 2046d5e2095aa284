//! Calls of tools that were cut off when the program ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::node::{EffectAnswer, EffectQuestion};
use superstep_core::run::{Interrupt, Past, Thread};
use superstep_nodes::__private::{open_calls, recorded_by_person};
use superstep_nodes::message::{ToolCall, ToolStatus};

use crate::node::before_open_calls;
use crate::rewind::{RewindError, unfinished};
use crate::snapshot::{ChangedFile, Snapshots};
use crate::state::{AssistantState, listed};

/// A call of a tool that was cut off when the program ended, so that it is not known whether it did anything.
///
/// A resumed session makes no such call again by itself. It asks, by an [`Interrupt`] whose question is an
/// [`EffectQuestion`]; this adds what a person needs to decide, and turns the decision into the answer:
///
/// ```no_run
/// # use superstep_assistant::snapshot::Snapshots;
/// # use superstep_assistant::{AssistantState, CutOffAnswer, CutOffCall};
/// # use superstep_core::run::{Status, Thread};
/// # async fn example(thread: Thread<AssistantState>, snapshots: Snapshots) -> Result<(), Box<dyn std::error::Error>> {
/// let Status::Interrupted { interrupts } = thread.resume().await?.status else { return Ok(()) };
/// for interrupt in interrupts {
///     let Some(cut_off) = CutOffCall::of(&thread, &interrupt, Some(&snapshots)).await? else { continue };
///     println!("{} was cut off; since it began, {:?} changed", cut_off.call.name, cut_off.changed);
///     let run = thread.answer_to(interrupt.id, &cut_off.answer(&CutOffAnswer::RunAgain)).await?;
///     println!("the session has {:?}", run.status);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CutOffCall {
    /// The call. Its input is null if an edit has taken the call out of the conversation.
    pub call: ToolCall,
    /// The number of times that it was begun.
    pub starts: u32,
    /// The files that have changed since the calls of its turn began, by path; `None` if no snapshot was taken.
    pub changed: Option<Vec<ChangedFile>>,
}

/// The decision on a call that was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutOffAnswer {
    /// It happened. The model reads so in the result.
    Happened {
        /// What else the model should know, such as the output; may be empty.
        note: String,
    },
    /// It is made once more.
    RunAgain,
    /// It is not made again, and the model reads that its outcome is not known.
    GiveUp,
}

/// The beginning of the names of the effects of calls.
const CALL: &str = "tool.";

impl CutOffCall {
    /// Returns the call that a question of a thread is about; `None` if it is another kind of question.
    ///
    /// # Errors
    /// Fails if the thread or the snapshots cannot be read.
    pub async fn of(
        thread: &Thread<AssistantState>,
        interrupt: &Interrupt,
        snapshots: Option<&Snapshots>,
    ) -> Result<Option<Self>, RewindError> {
        let Ok(question) = interrupt.question::<EffectQuestion>() else { return Ok(None) };
        let Some(name) = question.effect.strip_prefix(CALL) else { return Ok(None) };
        let Some((position, id)) = question.key.split_once(':') else { return Ok(None) };
        let levels = unfinished(thread, thread.head().await?).await?;
        let asks = |level: &&Past<_>| {
            level.interrupts().iter().any(|ask| ask.id == interrupt.id && ask.path.is_empty())
        };
        let asking = levels.iter().find(asks);
        let mut open = asking.map_or_else(Vec::new, |level| open_calls(&level.state().messages));
        open.retain(|(at, _)| at.to_string() == position);
        let unseen = || ToolCall::new(id, name, serde_json::Value::Null);
        let call = open.pop().map_or_else(unseen, |(_, call)| call);
        let before = asking.and_then(|level| before_open_calls(level.loaded()));
        let changed = match snapshots.zip(before) {
            Some((snapshots, before)) => Some(snapshots.take(Some(before), [""; 0]).await?.changed),
            None => None,
        };
        Ok(Some(Self { call, starts: question.starts, changed }))
    }
    /// Returns the answer to the question.
    pub fn answer(&self, answer: &CutOffAnswer) -> EffectAnswer {
        let mut text =
            String::from("The call was cut off because the program ended, and its output is lost. ");
        let status = match answer {
            CutOffAnswer::RunAgain => return EffectAnswer::RunAgain,
            CutOffAnswer::Happened { note } => {
                text.push_str("The user says that it happened. ");
                text.push_str(note);
                ToolStatus::Ok
            }
            CutOffAnswer::GiveUp => {
                text.push_str("It was not made again. Whether it did anything is not known.");
                ToolStatus::Error
            }
        };
        let mut text = text.trim_end().to_owned();
        if let Some(changed) = &self.changed {
            let paths = changed.iter().map(|file| file.path.as_str());
            text.push_str("\nFiles that have changed since the calls of this turn began: ");
            text.push_str(&listed(paths));
        }
        EffectAnswer::Happened(recorded_by_person(&self.call, status, &text))
    }
}
