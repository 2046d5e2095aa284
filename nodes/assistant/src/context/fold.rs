//! The fifth pass: finished turns as their summaries.

use std::collections::BTreeMap;
use std::ops::Range;

use superstep_nodes::compaction::KeyInformation;
use superstep_nodes::message::{Message, unanswered_tool_calls};

use super::draft::Draft;
use super::trim::{Shown, Trim};
use super::{ContextSettings, Held, History, boundary};

/// The most notes of a summary, and the most characters of all.
const NOTES: usize = 12;
const NOTE_CHARACTERS: usize = 1_500;

/// Folds all turns that may be folded, if the conversation has become so long that it would be compacted.
pub(super) fn run(draft: &mut Draft<'_>) {
    let Some(window) = draft.window.filter(|_| draft.settings.fold.is_some()) else { return };
    if draft.tokens() >= window.trigger(&draft.settings.auto) {
        commit(draft);
    }
}

/// Returns the records that fold all turns that may be folded: for a request that the provider found too long. Empty if
/// there are none, or if folds are off.
pub fn drain_folds(history: &History<'_>, settings: &ContextSettings) -> Vec<Trim> {
    let mut draft = Draft::new(history, None, settings);
    boundary::run(&mut draft);
    let before = draft.decided.len();
    commit(&mut draft);
    draft.decided.split_off(before)
}

fn commit(draft: &mut Draft<'_>) {
    let Some(recent) = draft.settings.fold else { return };
    for range in finished(draft, recent) {
        fold(draft, range);
    }
}

/// The parts of turns between a question and the response to it, without those of the last turns.
fn finished(draft: &Draft<'_>, recent: usize) -> Vec<Range<usize>> {
    let is_question = |message: &Message| matches!(message, Message::Human(_));
    let asked: Vec<usize> = (0..draft.tail.len()).filter(|at| is_question(&draft.tail[*at])).collect();
    let turns = asked.windows(2).map(|pair| pair[0] + 1..pair[1] - 1);
    let older = asked.len().saturating_sub(recent.max(1));
    turns.take(older).filter(|range| may_fold(draft, range)).collect()
}

fn may_fold(draft: &Draft<'_>, range: &Range<usize>) -> bool {
    let Some(stretch) = draft.tail.get(range.clone()).filter(|stretch| stretch.len() > 1) else {
        return false;
    };
    let responds = matches!(&draft.tail[range.end], Message::Ai(said) if said.tool_calls.is_empty());
    let is_system = |message: &Message| matches!(message, Message::System(_));
    let is_answer = |message: &&Message| matches!(message, Message::Tool(_));
    let calls: usize = stretch.iter().map(|message| message.tool_calls().len()).sum();
    let answers = stretch.iter().filter(is_answer).count();
    let is_paired = calls == answers && unanswered_tool_calls(stretch).is_empty();
    let is_free = |at: usize| !draft.is_whole(at) && !draft.is_folded(at);
    responds && is_paired && !stretch.iter().any(is_system) && range.clone().all(is_free)
}

/// Folds a stretch, if the summary has less than half of its tokens.
fn fold(draft: &mut Draft<'_>, range: Range<usize>) {
    let counter = draft.counter();
    let count = |range: Range<usize>| range.map(|at| counter.message(&draft.shown(at))).sum::<u64>();
    let before = count(range.clone());
    let sent = count(range.start..range.end.min(draft.sent).max(range.start));
    let stretch = &draft.tail[range.clone()];
    let shown = Shown::Fold { through: stretch[stretch.len() - 1].id().clone(), summary: summary(stretch) };
    let trim = Trim::uncounted(stretch[0].id().clone(), shown);
    let after = trim.folded().map_or(0, |summary| counter.message(&summary));
    if after > before / 2 {
        return;
    }
    let trim = draft.weighed(Trim { tokens_before: before, tokens_after: after, ..trim }, sent);
    draft.decided.push(trim.clone());
    let at = draft.folds.partition_point(|(held, _)| held.start < range.start);
    draft.folds.insert(at, (range, Held::new(trim)));
}

/// The summary of a stretch, made without a model: the calls, and what was noted.
fn summary(stretch: &[Message]) -> String {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for call in stretch.iter().flat_map(Message::tool_calls) {
        *calls.entry(&call.name).or_default() += 1;
    }
    let calls: Vec<String> = calls.iter().map(|(tool, count)| format!("{tool} {count} times")).collect();
    let mut text =
        format!("[{} messages of finished work are not shown. Calls: {}]", stretch.len(), calls.join(", "));
    let information = KeyInformation::of(stretch);
    let mut characters = 0;
    // Later notes are more likely to hold.
    let fits = |line: &&String| {
        characters += line.chars().count();
        characters <= NOTE_CHARACTERS
    };
    let mut notes: Vec<&String> = information.lines().iter().rev().take(NOTES).take_while(fits).collect();
    notes.reverse();
    notes.into_iter().for_each(|line| text.extend(["\n- ", line]));
    text
}
