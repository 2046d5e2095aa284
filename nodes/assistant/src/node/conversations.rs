//! The conversations of the last requests.

use std::sync::{Mutex, PoisonError};

use superstep_nodes::__private::Lineage;
use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::{Conversation, Message};

use crate::context::{Counted, Held, Prepared, Trim};
use crate::state::AssistantState;

/// The conversations of the last requests, so that a request copies only the messages since the last one of its session.
#[derive(Default)]
pub(super) struct Conversations(Mutex<Vec<Last>>);

/// The number of sessions whose conversation is kept.
const SESSIONS: usize = 8;

/// The conversation of the last request of a session, and all that it was made of.
pub(super) struct Last {
    lineage: Lineage,
    /// The number of messages of the state.
    messages: usize,
    trims: Vec<Trim>,
    compactions: Vec<Compaction>,
    attachments: Vec<Message>,
    /// The number of messages of the view.
    shown: usize,
    /// The tokens of the request, if they were counted.
    counted: Option<u64>,
    conversation: Conversation,
}

impl Conversations {
    /// Takes the conversation of the last request of a session, if the view begins with it: messages were only added.
    pub(super) fn take(&self, state: &AssistantState) -> Option<Last> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|last| last.lineage == state.messages.lineage())?;
        let last = kept.remove(at);
        // Other sessions need not wait for the comparison.
        drop(kept);
        Some(last).filter(|last| last.is_of(state))
    }

    /// Returns the conversation for the next request of a session.
    pub(super) fn next(
        &self,
        state: &AssistantState,
        last: Option<Last>,
        prepared: &Prepared<'_>,
    ) -> Conversation {
        if !prepared.trims.is_empty() || prepared.snip.is_some() {
            // The next request has the new records, and another view.
            return prepared.view.clone().into_conversation();
        }
        let last = match last.filter(|last| last.conversation.is_complete()) {
            Some(last) => last.with(state, prepared),
            None => Last::new(state, prepared),
        };
        let conversation = last.conversation.clone();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == SESSIONS {
            kept.remove(0);
        }
        kept.push(last);
        conversation
    }
}

impl Last {
    fn new(state: &AssistantState, prepared: &Prepared<'_>) -> Self {
        Self {
            lineage: state.messages.lineage(),
            messages: state.messages.len(),
            trims: state.trims.clone(),
            compactions: state.compactions.clone(),
            attachments: state.attachments.clone(),
            shown: prepared.view.len(),
            counted: prepared.counted,
            conversation: prepared.view.clone().into_conversation(),
        }
    }

    /// Adds the messages of a view that are new.
    fn with(mut self, state: &AssistantState, prepared: &Prepared<'_>) -> Self {
        let new = prepared.view.iter().skip(self.shown).cloned().map(Held::into_owned);
        self.conversation.extend(new);
        let (messages, shown) = (state.messages.len(), prepared.view.len());
        Self { messages, shown, counted: prepared.counted, ..self }
    }

    /// Returns the tokens of the messages, if they were counted.
    pub(super) fn counted(&self) -> Option<Counted> {
        self.counted.map(|tokens| Counted { shown: self.shown, tokens })
    }

    fn is_of(&self, state: &AssistantState) -> bool {
        // A branch of the session may have fewer messages.
        self.messages <= state.messages.len()
            && self.trims == state.trims
            && self.compactions == state.compactions
            && self.attachments == state.attachments
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use superstep_core::reducer::{KeyedLog, LogEdit, LogWrite, Reducer};
    use superstep_nodes::message::{MessageId, ToolCall};

    use super::*;
    use crate::context::{ContextSettings, prepare, prepare_after};

    /// Changes a session: mostly by a message more.
    fn change(state: &mut AssistantState, number: usize, kind: u8) {
        let call = |number: usize| ToolCall::new(format!("c{number}"), "look", json!({ "at": number }));
        let said = |message| LogWrite(vec![LogEdit::Put(message)]);
        let before = number.saturating_sub(2);
        let write = match kind {
            0..3 => said(Message::human(format!("m{number}"), "What is it?")),
            3..5 => said(Message::ai_with_calls(format!("m{number}"), "", vec![call(number)])),
            5..8 => said(Message::tool(format!("m{number}"), &call(number.saturating_sub(1)), "seen")),
            8 => said(Message::tool(format!("m{number}"), &call(before), "late")),
            9 => said(Message::human(format!("m{before}"), "What is this?")),
            10 => LogWrite::remove([format!("m{before}")]),
            _ => return state.trims.push(Trim::whole(MessageId::new(format!("m{before}")))),
        };
        KeyedLog::reduce(&mut state.messages, write);
    }

    proptest! {
        /// Two branches of a session take turns, and each request is made as if it were the first.
        #[test]
        fn a_conversation_that_was_continued_is_that_of_all_messages(
            kinds in prop::collection::vec((0_u8..12, any::<bool>(), prop::bool::weighted(0.1)), 1..40),
        ) {
            let (conversations, settings) = (Conversations::default(), ContextSettings::default());
            let mut branches = [AssistantState::default(), AssistantState::default()];
            for (number, (kind, branch, is_copied)) in kinds.into_iter().enumerate() {
                let branch = usize::from(branch);
                if is_copied {
                    branches[branch] = branches[1 - branch].clone();
                }
                let state = &mut branches[branch];
                change(state, number, kind);
                let (last, history) = (conversations.take(state), state.history(9));
                let counted = last.as_ref().and_then(Last::counted);
                let prepared = prepare_after(counted, &history, None, &settings);
                let all = prepare(&history, None, &settings);
                prop_assert_eq!(prepared.tokens, all.tokens);
                prop_assert_eq!(conversations.next(state, last, &prepared), all.view.into_conversation());
            }
        }
    }

    #[test]
    fn one_message_more_copies_no_other() {
        let (conversations, settings) = (Conversations::default(), ContextSettings::default());
        let mut state = AssistantState::default();
        let request = |state: &AssistantState| {
            let last = conversations.take(state);
            let is_continued = last.is_some();
            let prepared = prepare(&state.history(0), None, &settings);
            (is_continued, conversations.next(state, last, &prepared)[0].text().as_ptr())
        };
        for number in 0..3 {
            change(&mut state, number, 0);
        }
        let (is_continued, text) = request(&state);
        assert!(!is_continued);
        change(&mut state, 3, 0);
        assert_eq!(request(&state), (true, text));
        change(&mut state, 4, 9);
        assert_ne!(request(&state), (true, text), "a message was replaced");
    }
}
