//! The third pass: the oldest messages leave the state.

use std::collections::HashSet;
use std::ops::Range;

use superstep_nodes::compaction::{Summariser, units};
use superstep_nodes::message::{Message, MessageId};

use super::Held;
use super::draft::Draft;
use super::trim::{self, ByMessage, Shown, Trim};

/// A decision to take the oldest messages out of the state. The caller sets the field of the messages to these, and
/// removes the records; the history of the thread keeps everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Snip {
    /// The messages that stay.
    pub messages: Vec<Message>,
    /// The number of messages that were taken out.
    pub snipped: usize,
    /// The ids of the compactions whose messages are gone.
    pub compactions: Vec<String>,
    /// The ids of the trims whose messages are gone.
    pub trims: Vec<String>,
    /// `true` if a model was shown some of the messages until now: without a compaction that covers them.
    pub(super) hides: bool,
}

/// The id of the message at the place of messages that were taken out, if models had been shown them.
const MARKER: &str = "snipped";

/// The least that the horizon may be.
const LEAST_HORIZON: usize = 100;

/// Takes the older half of the messages out, once there are more than the horizon. Never a part of a call with its
/// answers, and not:
///
/// - system messages, pinned ones, and those by which a compaction is found
/// - the question that the model works on
///
/// It waits until a quarter of the horizon goes at once, so that the view changes rarely. Messages that a compaction
/// covers go first: the view does not change then.
pub(super) fn run(draft: &mut Draft<'_>) {
    let messages = draft.history.messages;
    let horizon = draft.settings.horizon.max(LEAST_HORIZON);
    if messages.len() <= horizon {
        return;
    }
    let covered = messages.len() - draft.tail.len();
    let kept = kept(draft, covered);
    let goes = |at: usize| !kept.contains(&at);
    let worthwhile = horizon / 4;
    let most = messages.len() - horizon / 2;
    let mut cut =
        units(messages).iter().map(|unit| unit.start).take_while(|start| *start <= most).last().unwrap_or(0);
    let folded = draft.folds.iter().map(|(range, _)| range.start + covered..range.end + covered);
    cut = folded
        .filter(|range| range.start < cut && cut < range.end)
        .map(|range| range.start)
        .next()
        .unwrap_or(cut);
    if (covered..cut).filter(|at| goes(*at)).count() < worthwhile {
        cut = cut.min(covered);
    }
    let snipped = (0..cut).filter(|at| goes(*at)).count();
    if snipped < worthwhile {
        return;
    }
    take_out(draft, covered, cut, &kept, snipped);
}

/// The positions of the messages that stay in any case.
fn kept(draft: &Draft<'_>, covered: usize) -> HashSet<usize> {
    let (messages, compactions) = (draft.history.messages, draft.history.compactions);
    let mut ids: HashSet<&MessageId> = HashSet::new();
    if let Some(compaction) = draft.compaction {
        ids.extend(compaction.pinned.iter().chain([&compaction.through]));
        let records = draft.history.trims.iter().chain(&draft.decided);
        let question = records
            .filter(|trim| matches!(&trim.shown, Shown::Question { compaction: it } if *it == compaction.id));
        ids.extend(question.map(|trim| &trim.message));
    }
    // The next summary continues the last one that a model wrote.
    let exists = |id: &MessageId| messages[..covered].iter().any(|message| message.id() == id);
    let by_models = compactions.iter().rev().filter(|made| matches!(made.by, Summariser::Model { .. }));
    ids.extend(by_models.map(|made| &made.through).find(|through| exists(through)));
    // The first message of a fold that the compaction covers in part.
    let begins_covered =
        draft.folds.iter().filter(|(range, fold)| fold.message != *draft.tail[range.start].id());
    ids.extend(begins_covered.map(|(_, fold)| &fold.message));
    let stays = |message: &Message| matches!(message, Message::System(_)) || ids.contains(message.id());
    let mut kept: HashSet<usize> = (0..messages.len()).filter(|at| stays(&messages[*at])).collect();
    // Before a compaction has found them, only its rules know the pinned ones. A call is pinned with its answers.
    if let Some(rules) = draft.history.compaction {
        let is_pinned = |unit: &Range<usize>| messages[unit.clone()].iter().any(|it| rules.is_pinned(it));
        kept.extend(units(messages).into_iter().filter(is_pinned).flatten());
    }
    // The last question, and the response to it: without the response it would count as not answered.
    if let Some(asked) = messages.iter().rposition(|message| matches!(message, Message::Human(_))) {
        let is_response =
            |message: &Message| matches!(message, Message::Ai(said) if said.tool_calls.is_empty());
        kept.insert(asked);
        kept.extend(messages[asked..].iter().position(is_response).map(|at| asked + at));
    }
    kept
}

fn take_out(draft: &mut Draft<'_>, covered: usize, cut: usize, kept: &HashSet<usize>, snipped: usize) {
    let history = draft.history;
    let messages = history.messages;
    let stay = |from: usize, to: usize| (from..to).filter(|at| kept.contains(at)).map(|at| &messages[at]);
    let hides = cut > covered;
    let is_marked = || messages.iter().any(|message| message.id().as_str() == MARKER);
    let marker = (hides && !is_marked()).then(marker);
    let left: Vec<&Message> = stay(0, cut.min(covered)).chain(&messages[cut.min(covered)..covered]).collect();
    let behind: Vec<&Message> = stay(covered.min(cut), cut).chain(&messages[cut.max(covered)..]).collect();
    let all: Vec<Message> =
        left.into_iter().cloned().chain(marker.clone()).chain(behind.into_iter().cloned()).collect();
    let ids: HashSet<&MessageId> = all.iter().map(Message::id).collect();
    let is_gone = |trim: &Trim| {
        !ids.contains(&trim.message) || trim.through().is_some_and(|through| !ids.contains(through))
    };
    let trims = history.trims.iter().filter(|trim| is_gone(trim)).map(|trim| trim.id.clone()).collect();
    let compactions = history.compactions.iter().filter(|made| !ids.contains(&made.through));
    let compactions = compactions.map(|made| made.id.clone()).collect();
    draft.decided.retain(|trim| !is_gone(trim));
    draft.snip = Some(Snip { messages: all, snipped, compactions, trims, hides });
    if hides {
        let recorded = ByMessage::of(history.trims);
        let gone = cut - covered;
        draft.head.extend(marker.map(Held::new));
        let shown = (covered..cut).filter(|at| kept.contains(at)).map(|at| &messages[at]);
        draft.head.extend(shown.map(|message| trim::shown(message, recorded.on(message))));
        draft.tail = &messages[cut..];
        draft.marks.drain(..gone);
        draft.folds.retain(|(range, _)| range.start >= gone);
        for (range, _) in &mut draft.folds {
            *range = range.start - gone..range.end - gone;
        }
        draft.sent = draft.sent.saturating_sub(gone);
    }
}

/// A system message, as the last message of a person is a question.
fn marker() -> Message {
    Message::system(
        MARKER,
        "[Earlier messages of this session were taken out here. They are in its history.]",
    )
}
