//! The commands that go back: rewind, redo and fork.

use superstep_assistant::rewind::{Rewind, redo};
use superstep_assistant::snapshot::{Left, Restored, Snapshots};
use superstep_core::checkpoint::{Source, Summary};
use superstep_core::id::CheckpointId;
use superstep_nodes::message::{Message, MessageId};

use super::front::{Front, Gone};
use crate::agent::past::{Forked, claim, reason_of};
use crate::agent::screen::{Line, changed_files};
use crate::failure::Failure;
use crate::page::{BAD, DIM, NAME, NOTE, Page};
use crate::screen::Answer;

/// The number of messages in the list.
const MOST_MESSAGES: usize = 15;

/// A message of the user that a session can be taken back to.
struct Place {
    /// The checkpoint that the session continues from: the one before the message, or that of the first message itself.
    to: Summary,
    message: String,
}

impl Front {
    /// Takes the session back to an earlier message, or lists the messages.
    pub(super) fn rewind(&mut self, arguments: &str) -> Result<(), Gone> {
        let Some(snapshots) = self.bench.snapshots.clone() else {
            return Err(
                Failure::unusable("files cannot be restored: there are no snapshots of this folder").into()
            );
        };
        match arguments {
            "" => self.list_messages(),
            "redo" => self.redo(&snapshots),
            step => match step.trim_start_matches('@').parse() {
                Ok(step) => self.rewind_to(step, &snapshots),
                Err(_) => Ok(self.say(BAD, &format!("`{step}` is not a step. /rewind lists the messages."))?),
            },
        }
    }

    fn places(&self) -> Result<Vec<Place>, Failure> {
        let thread = self.session.thread();
        self.runtime.block_on(async {
            let lineage = thread.lineage().await?;
            let inputs = lineage.iter().enumerate().filter(|(_, it)| it.source == Source::Input);
            let mut places = Vec::new();
            for (at, input) in inputs.take(MOST_MESSAGES) {
                // The next checkpoint has the message, in its conversation or before it.
                let Some(after) = at.checked_sub(1).and_then(|after| lineage.get(after)) else { continue };
                let state = thread.at(after.id).await?.into_state();
                let said = |message: &&Message| matches!(message, Message::Human(_)) && is_said(message.id());
                let said =
                    || state.messages.iter().rev().find(said).map(|message| message.text().into_owned());
                let request = state.request.clone().filter(|request| !request.trim().is_empty());
                let Some(message) = request.or_else(said) else { continue };
                let to = lineage.get(at + 1).unwrap_or(input).clone();
                places.push(Place { to, message });
            }
            Ok(places)
        })
    }

    fn list_messages(&mut self) -> Result<(), Gone> {
        let places = if self.state()?.is_some() { self.places()? } else { Vec::new() };
        if places.is_empty() {
            return Ok(self.say(DIM, "There is no message to go back to.")?);
        }
        let row = |it: &Place| {
            let first = it.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            (NAME, it.to.step.to_string(), format!("before: {}", first.trim()))
        };
        let rows: Vec<_> = places.iter().rev().map(row).collect();
        self.rows(rows)?;
        Ok(self.say(DIM, "/rewind STEP takes the session and its files back; /rewind redo undoes that.")?)
    }

    fn rewind_to(&mut self, step: i64, snapshots: &Snapshots) -> Result<(), Gone> {
        let Some((to, message)) = self.found(step)? else {
            return Ok(
                self.say(BAD, &format!("The session has no step {step}. /rewind lists the messages."))?
            );
        };
        let planned = self.runtime.block_on(Rewind::plan(self.session.thread(), to, snapshots));
        let mut plan = planned.map_err(Failure::from)?;
        let (changes, foreign): (Vec<_>, Vec<_>) = (plan.changes().collect(), plan.foreign().collect());
        let mut lines = vec![Line::new(NOTE, &format!("Back to step {step}. These files change:"))];
        lines.extend(changed_files(&changes));
        if changes.is_empty() {
            lines.push(Line::new(DIM, "  none"));
        }
        if !foreign.is_empty() {
            lines.push(Line::new(NOTE, "These files stay, because another program has changed them, too:"));
            lines.extend(changed_files(&foreign));
        }
        let left_out =
            plan.not_covered().iter().map(|it| Line::new(DIM, &format!("  not covered: {}", it.path)));
        lines.extend(left_out);
        self.terminal.print(&lines)?;
        let keys: &[(char, &str)] = match foreign.is_empty() {
            true => &[('y', "rewind"), ('n', "change nothing")],
            false => {
                &[('y', "rewind"), ('f', "rewind, and restore those files, too"), ('n', "change nothing")]
            }
        };
        match self.pick(keys)? {
            Some('y') => {}
            Some('f') => plan = plan.include_foreign(|_| true),
            _ => return Ok(()),
        }
        let _hold = self.runtime.block_on(claim(&self.bench, &self.session))?;
        let restored = self.runtime.block_on(plan.apply()).map_err(Failure::from)?;
        self.forget_questions();
        self.restored(restored)?;
        self.prefill = message.unwrap_or_default();
        self.see_state()?;
        Ok(())
    }

    /// Returns the checkpoint of a step, and the message that was sent there.
    fn found(&self, step: i64) -> Result<Option<(CheckpointId, Option<String>)>, Failure> {
        if let Some(place) = self.places()?.into_iter().find(|place| place.to.step == step) {
            return Ok(Some((place.to.id, Some(place.message))));
        }
        let lineage = self.runtime.block_on(self.session.thread().lineage())?;
        Ok(lineage.into_iter().find(|it| it.step == step).map(|it| (it.id, None)))
    }

    fn redo(&mut self, snapshots: &Snapshots) -> Result<(), Gone> {
        let _hold = self.runtime.block_on(claim(&self.bench, &self.session))?;
        let restored =
            self.runtime.block_on(redo(self.session.thread(), snapshots)).map_err(Failure::from)?;
        self.prefill.clear();
        self.restored(restored)?;
        self.see_state()?;
        Ok(())
    }

    fn restored(&mut self, restored: Option<Restored>) -> Result<(), Gone> {
        let Some(Restored { restored, left, .. }) = restored else {
            return Ok(self.say(NOTE, "Done. No files changed.")?);
        };
        let mut lines = vec![Line::new(NOTE, "Done. Restored files:")];
        lines.extend(changed_files(&restored));
        let stays = |it: Left| Line::new(BAD, &format!("  stays: {} ({})", it.path, reason_of(it.reason)));
        lines.extend(left.into_iter().map(stays));
        Ok(self.terminal.print(&lines)?)
    }

    /// Makes a new session in another folder.
    pub(super) fn fork(&mut self, folder: &str) -> Result<(), Gone> {
        if folder.is_empty() {
            return Ok(self.say(DIM, "Name a folder: /fork FOLDER")?);
        }
        if self.editable()?.is_none() {
            return Ok(());
        }
        let folder = self.bench.places.workspace.join(folder);
        let thread = self.session.thread();
        let forked = self.runtime.block_on(async {
            let head = thread.head().await?;
            Forked::make(&self.bench, thread, head.id(), &folder).await
        })?;
        let mut page = Page::new(self.terminal.look());
        forked.show(&mut page);
        Ok(self.terminal.print_text(&page.finish())?)
    }
}

/// Returns `true` for messages that a person or an agent sent. The loop adds others, such as the texts of files.
fn is_said(message: &MessageId) -> bool {
    let id = message.as_str();
    let of_loop = [".objection", ".resume", ".attached", ".rewound"];
    !id.contains(".context.") && !of_loop.iter().any(|end| id.ends_with(end))
}
