//! The passes over a conversation, and the decision behind them.

use std::ops::Deref;

use superstep_nodes::compaction::{Compaction, ContextManager};
use superstep_nodes::message::{Conversation, Message, Part};

use super::anchor::Records;
use super::auto::{AutoCompact, AutoDecision, decide};
use super::draft::Draft;
use super::pass::{PASSES, Pass};
use super::trim::{Shown, Trim, without_pictures};
use super::{Anchor, Blob, ContextSettings, ContextWindow, Held, Snip, boundary};

/// A conversation as a state keeps it.
#[derive(Clone, Copy, Debug, Default)]
pub struct History<'h> {
    /// The messages.
    pub messages: &'h [Message],
    /// The compactions so far.
    pub compactions: &'h [Compaction],
    /// The trims so far.
    pub trims: &'h [Trim],
    /// The tokens of the last request and its reply.
    pub anchor: Option<&'h Anchor>,
    /// The messages that a model is shown behind a summary, such as instruction files and the plan. They have to stay the
    /// same until the next compaction: the requests of later turns begin with them.
    pub attachments: &'h [Message],
    /// The tokens of what is in each request beside the messages: instructions and tools.
    pub overhead: u64,
    /// The attempts at compaction so far.
    pub auto: AutoCompact,
    /// The number of the turn.
    pub turn: u32,
    /// The rules of compaction. The messages that they pin stay in the state.
    pub compaction: Option<&'h ContextManager>,
}

/// A conversation as a model is shown it. It borrows the messages that no record changes.
#[derive(Clone, Debug, PartialEq)]
pub struct View<'h>(Vec<Held<'h, Message>>);

/// A conversation that is ready for a request.
#[derive(Clone, Debug)]
pub struct Prepared<'h> {
    /// The messages that the model is shown.
    pub view: View<'h>,
    /// The new records, by which the view was made. The caller puts them into the state with the reply.
    pub trims: Vec<Trim>,
    /// The texts that the caller stores, as the view names their paths.
    pub blobs: Vec<Blob>,
    /// The decision to take messages out of the state, if there are too many. The view is that of the messages left.
    pub snip: Option<Snip>,
    /// The number of tokens of the request: those of the last request and its reply, and an estimate of what came
    /// since.
    pub tokens: u64,
    /// The decision on compaction.
    pub auto: AutoDecision,
    /// The records by which the view was made, for the [anchor](super::Anchor::new) of the reply.
    pub records: Records,
    /// The number of tokens, if no anchor was used.
    pub(crate) counted: Option<u64>,
}

/// The number of tokens of the first messages of a view, with the overhead of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// The number of messages.
    pub(crate) shown: usize,
    pub(crate) tokens: u64,
}

/// Prepares a conversation for a request: applies the records so far, runs the [passes](PASSES), and decides on
/// compaction. `window` is that of the model; without it, results that are out of date stay, and nothing is compacted
/// before the provider refuses a request.
///
/// As long as nothing is recorded, the view of each turn begins with that of the turn before.
///
/// ```
/// use superstep_assistant::context::{AutoDecision, ContextSettings, ContextWindows, History, prepare};
/// use superstep_nodes::message::Message;
///
/// let messages = [Message::human("m1", "What is a superstep?")];
/// let history = History { messages: &messages, ..History::default() };
/// let (window, settings) = (ContextWindows::published().of("gpt-4o"), ContextSettings::default());
/// let prepared = prepare(&history, window, &settings);
/// assert_eq!(prepared.view.into_conversation()[..], messages);
/// assert_eq!(prepared.auto, AutoDecision::Send);
/// ```
pub fn prepare<'h>(
    history: &History<'h>,
    window: Option<ContextWindow>,
    settings: &'h ContextSettings,
) -> Prepared<'h> {
    prepare_after(None, history, window, settings)
}

/// Prepares a conversation as [`prepare`] does, where the first messages of the view may have been counted.
pub(crate) fn prepare_after<'h>(
    counted: Option<Counted>,
    history: &History<'h>,
    window: Option<ContextWindow>,
    settings: &'h ContextSettings,
) -> Prepared<'h> {
    let draft = Draft { counted, ..Draft::new(history, window, settings) };
    run(draft, &PASSES)
}

/// Runs passes in an order: that of [`PASSES`], except in the test that shows why it matters.
pub(super) fn run<'h>(mut draft: Draft<'h>, order: &[Pass]) -> Prepared<'h> {
    order.iter().for_each(|pass| (pass.run)(&mut draft));
    let (tokens, history) = (draft.tokens(), draft.history);
    let removed = draft.snip.as_ref().map_or(&[][..], |snip| &snip.trims);
    let records = Records::of(draft.compaction, history.trims).after(history.trims, removed, &draft.decided);
    Prepared {
        view: draft.view(),
        counted: draft.anchor().is_none().then_some(tokens),
        auto: decide(tokens, draft.window, draft.settings, history.auto, history.turn),
        trims: draft.decided,
        blobs: draft.blobs,
        snip: draft.snip,
        tokens,
        records,
    }
}

/// Returns the records that leave out all pictures that a model is shown, for a request that is too long or whose
/// pictures were refused. Empty if there are none.
pub fn leave_out_pictures(history: &History<'_>, settings: &ContextSettings) -> Vec<Trim> {
    let mut draft = Draft::new(history, None, settings);
    boundary::run(&mut draft);
    let is_picture = |part: &Part| matches!(part, Part::Image(_));
    let shown = draft.view();
    let pictures = shown.iter().filter(|message| message.content().parts().iter().any(is_picture));
    let trim = |message: &Held<'_, Message>| Trim {
        tokens_before: settings.counter.message(message),
        tokens_after: settings.counter.message(&without_pictures(message)),
        ..Trim::uncounted(message.id().clone(), Shown::WithoutPictures)
    };
    pictures.map(trim).collect()
}

impl<'h> View<'h> {
    pub(super) const fn of(messages: Vec<Held<'h, Message>>) -> Self {
        Self(messages)
    }

    /// Returns the conversation for a request, with copies of the messages that are borrowed.
    pub fn into_conversation(self) -> Conversation {
        self.0.into_iter().map(Held::into_owned).collect()
    }
}

impl<'h> Deref for View<'h> {
    type Target = [Held<'h, Message>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
