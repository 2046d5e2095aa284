//! The first pass: the compaction that counts, and the records so far.

use std::collections::HashMap;

use superstep_nodes::compaction::ViewParts;
use superstep_nodes::message::{Message, MessageId};

use super::Held;
use super::draft::Draft;
use super::trim::{self, ByMessage, Shown, Trim};

/// Leaves out what the compaction covers, applies the records, and places the attachments behind the summary.
///
/// A question that was not answered when the conversation was compacted stays behind the summary after it is answered:
/// models would otherwise be shown other messages though nothing was recorded.
pub(super) fn run<'h>(draft: &mut Draft<'h>) {
    let history = draft.history;
    let parts = ViewParts::of(history.messages, history.compactions);
    let covered = &history.messages[..history.messages.len() - parts.recent.len()];
    let recorded = ByMessage::of(history.trims);
    draft.compaction = parts.compaction;
    draft.tail = parts.recent;
    let question = parts.compaction.and_then(|compaction| {
        let is_of_it =
            |trim: &&Trim| matches!(&trim.shown, Shown::Question { compaction: it } if *it == compaction.id);
        let recorded = history.trims.iter().find(is_of_it);
        let message = recorded.and_then(|trim| covered.iter().rfind(|message| *message.id() == trim.message));
        if let (None, Some(question)) = (message, parts.question) {
            let shown = Shown::Question { compaction: compaction.id.clone() };
            draft.decided.push(Trim::uncounted(question.id().clone(), shown));
        }
        message.or(parts.question)
    });
    let is_question = |message: &Message| question.is_some_and(|question| question.id() == message.id());
    let shown = |message: &'h Message| trim::shown(message, recorded.on(message));
    let attachments = history.attachments.iter().filter(|_| parts.compaction.is_some());
    draft.head = parts.kept.into_iter().filter(|message| !is_question(message)).map(shown).collect();
    draft.head.extend(parts.summary.map(Held::new));
    draft.head.extend(attachments.map(shown));
    draft.head.extend(question.map(shown));
    mark(draft, &recorded, covered);
    let sent = history.anchor.and_then(|anchor| draft.tail.iter().rposition(|it| *it.id() == anchor.reply));
    draft.sent = sent.map_or(0, |reply| reply + 1);
}

/// Finds the records on the messages of the tail.
fn mark<'h>(draft: &mut Draft<'h>, recorded: &ByMessage<'h>, covered: &[Message]) {
    draft.marks.truncate(draft.tail.len());
    draft.marks.iter_mut().for_each(Vec::clear);
    draft.folds.clear();
    if recorded.is_empty() {
        return;
    }
    let folds = draft.history.trims.iter().filter_map(|trim| Some((trim.through()?, trim)));
    let folds: HashMap<&MessageId, &'h Trim> = folds.collect();
    let mut begun: HashMap<&MessageId, usize> = HashMap::new();
    for (at, message) in draft.tail.iter().enumerate() {
        let on_it = recorded.on(message);
        if !on_it.is_empty() {
            if on_it.iter().any(|trim| trim.through().is_some()) {
                begun.insert(message.id(), at);
            }
            draft.marks[at] = on_it.iter().map(|trim| Held::Borrowed(*trim)).collect();
        }
        let Some(fold) = folds.get(message.id()) else { continue };
        // Its first messages may be covered by a compaction that came later.
        let is_covered = || covered.iter().any(|message| *message.id() == fold.message);
        let start = begun.get(&fold.message).copied().or_else(|| is_covered().then_some(0));
        let end_before = draft.folds.last().map_or(0, |(range, _)| range.end);
        if let Some(start) = start.filter(|start| *start >= end_before) {
            draft.folds.push((start..at + 1, Held::Borrowed(fold)));
        }
    }
}
