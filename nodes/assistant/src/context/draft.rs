//! The view on which the passes work.

use std::ops::Range;

use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::Message;
use superstep_nodes::model::TokenCounter;

use super::anchor::{Anchor, Records};
use super::prepare::Counted;
use super::trim::{self, Shown, Trim};
use super::{Blob, ContextSettings, ContextWindow, Held, History, Snip, View};

/// A view that the passes work on, one after the other. It borrows the messages, and notes what differs.
pub(super) struct Draft<'h> {
    pub(super) history: History<'h>,
    pub(super) settings: &'h ContextSettings,
    pub(super) window: Option<ContextWindow>,
    /// The compaction that counts.
    pub(super) compaction: Option<&'h Compaction>,
    /// The messages in front: what is kept of those that the compaction covers, and its summary.
    pub(super) head: Vec<Held<'h, Message>>,
    /// The messages behind those that the compaction covers.
    pub(super) tail: &'h [Message],
    /// The records on each message of the tail, oldest first.
    pub(super) marks: Vec<Vec<Held<'h, Trim>>>,
    /// The folded parts of the tail, in order.
    pub(super) folds: Vec<(Range<usize>, Held<'h, Trim>)>,
    /// The number of messages of the tail that an earlier request had, and its reply.
    pub(super) sent: usize,
    /// The tokens by which the new records change those messages.
    pub(super) sent_change: i64,
    /// The new records.
    pub(super) decided: Vec<Trim>,
    pub(super) blobs: Vec<Blob>,
    pub(super) snip: Option<Snip>,
    /// The tokens of the first messages of the view, if no record is added.
    pub(super) counted: Option<Counted>,
}

impl<'h> Draft<'h> {
    pub(super) fn new(
        history: &History<'h>,
        window: Option<ContextWindow>,
        settings: &'h ContextSettings,
    ) -> Self {
        Self {
            history: *history,
            settings,
            window,
            compaction: None,
            head: Vec::new(),
            tail: history.messages,
            marks: vec![Vec::new(); history.messages.len()],
            folds: Vec::new(),
            sent: 0,
            sent_change: 0,
            decided: Vec::new(),
            blobs: Vec::new(),
            snip: None,
            counted: None,
        }
    }

    /// A message of the tail as it is shown, unless it is folded.
    pub(super) fn shown(&self, at: usize) -> Held<'h, Message> {
        trim::shown(&self.tail[at], &self.marks[at])
    }

    /// The messages of the tail as they are shown, from this one on. A fold is shown at its first message.
    fn shown_from(&self, from: usize) -> impl Iterator<Item = Held<'h, Message>> {
        let mut folds = self.folds.iter().filter(move |(range, _)| range.end > from).peekable();
        (from..self.tail.len()).filter_map(move |at| {
            folds.next_if(|(range, _)| range.end <= at);
            match folds.peek() {
                Some((range, fold)) if range.contains(&at) => {
                    fold.folded().filter(|_| range.start == at).map(Held::new)
                }
                _ => Some(self.shown(at)),
            }
        })
    }

    pub(super) fn is_folded(&self, at: usize) -> bool {
        let next = self.folds.partition_point(|(range, _)| range.end <= at);
        self.folds.get(next).is_some_and(|(range, _)| range.contains(&at))
    }

    /// Tells whether a message has to be shown whole.
    pub(super) fn is_whole(&self, at: usize) -> bool {
        self.marks[at].iter().any(|mark| mark.shown == Shown::Whole)
    }

    /// Records how a message of the tail is shown from now on.
    pub(super) fn decide(&mut self, at: usize, shown: Shown, tokens_before: u64, tokens_after: u64) {
        let trim = Trim { tokens_before, tokens_after, ..Trim::uncounted(self.tail[at].id().clone(), shown) };
        let sent = if at < self.sent { tokens_before } else { 0 };
        let trim = self.weighed(trim, sent);
        // A pass that decides again replaces its record at its place, as in the state.
        let marks = &mut self.marks[at];
        match marks.iter_mut().find(|held| held.id == trim.id) {
            Some(held) => *held = Held::new(trim.clone()),
            None => marks.push(Held::new(trim.clone())),
        }
        self.decided.push(trim);
    }

    /// Counts a new record, of whose messages earlier requests had so many tokens.
    pub(super) fn weighed(&mut self, trim: Trim, sent: u64) -> Trim {
        if sent > 0 {
            // Counts of tokens are far below the largest number.
            self.sent_change += trim.tokens_after as i64 - sent as i64;
        }
        Trim { cache_deleted_input_tokens: sent.saturating_sub(trim.tokens_after), ..trim }
    }

    pub(super) fn counter(&self) -> &'h dyn TokenCounter {
        &*self.settings.counter
    }

    /// The number of tokens of the request: from the last reply on, if the records are still those of its request.
    pub(super) fn tokens(&self) -> u64 {
        let count = |message: Held<'_, Message>| self.counter().message(&message);
        if let Some(anchor) = self.anchor() {
            let sent = anchor.tokens.saturating_add_signed(self.sent_change);
            return sent + self.shown_from(self.sent).map(count).sum::<u64>();
        }
        let decides = !self.decided.is_empty() || self.snip.is_some();
        let none = Counted { shown: 0, tokens: self.history.overhead };
        let counted = self.counted.filter(|_| !decides).unwrap_or(none);
        let shown = self.head.iter().cloned().chain(self.shown_from(0));
        counted.tokens + shown.skip(counted.shown).map(count).sum::<u64>()
    }

    /// The anchor, if the view still shows what its request had.
    pub(super) fn anchor(&self) -> Option<&'h Anchor> {
        let records = Records::of(self.compaction, self.history.trims);
        let shows_the_same = self.snip.as_ref().is_none_or(|snip| !snip.hides);
        self.history.anchor.filter(|anchor| self.sent > 0 && shows_the_same && anchor.records == records)
    }

    pub(super) fn view(&self) -> View<'h> {
        View::of(self.head.iter().cloned().chain(self.shown_from(0)).collect())
    }
}
