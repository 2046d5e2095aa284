//! Redacts the events of a run: nodes may emit a secret, ask with it, or quote it in an error.

use std::sync::Arc;

use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, SecretPast, StoreError};
use superstep_core::id::ThreadId;
use superstep_core::run::{EventKind, Interrupt, RunEvent, Status};
use superstep_core::state::{Json, SecretTexts};

/// All texts that the secret fields of a thread and its subgraphs ever held, as far as they are stored.
pub(super) struct KnownSecrets {
    saver: Option<Arc<dyn Checkpointer>>,
    past: SecretPast,
    /// `true` if something may have been stored since the last read.
    is_behind: bool,
}

impl KnownSecrets {
    /// Creates it without reading; the first event that needs redaction does.
    pub(super) fn of(saver: Option<&Arc<dyn Checkpointer>>, thread: &ThreadId) -> Self {
        let past = SecretPast::of(thread.clone(), [At::Head]);
        Self { saver: saver.cloned(), past, is_behind: true }
    }

    /// Notes that more may have been stored since the last read.
    pub(super) fn expect_more(&mut self) {
        self.is_behind = true;
    }

    /// Redacts an event. If the secrets cannot be read from the store, emitted values and questions are hidden as a
    /// whole; errors lose only the secrets of their state, and may say why the store could not be read.
    pub(super) async fn out_of(&mut self, mut event: RunEvent) -> RunEvent {
        match &mut event.kind {
            EventKind::TaskFinished { .. } | EventKind::CheckpointSaved { .. } => self.is_behind = true,
            EventKind::Custom { data: value, .. } | EventKind::MessageChunk { chunk: value, .. } => {
                self.learn().await;
                self.in_value(value);
            }
            EventKind::TaskFailed { error, .. } => {
                self.learn().await;
                let texts = [&mut error.message].into_iter().chain(&mut error.causes);
                texts.for_each(|text| self.in_text(text));
            }
            EventKind::RunFailed { message } => {
                self.learn().await;
                self.in_text(message);
            }
            EventKind::Interrupted { interrupts } => self.in_questions(interrupts).await,
            EventKind::RunFinished { status } => self.in_status(status).await,
            _ => {}
        }
        event
    }

    /// Redacts the end of a run.
    pub(super) async fn in_status(&mut self, status: &mut Status) {
        if let Status::Interrupted { interrupts } = status {
            self.in_questions(interrupts).await;
        }
    }

    async fn in_questions(&mut self, questions: &mut [Interrupt]) {
        self.learn().await;
        for asked in questions {
            let default = asked.deadline.as_mut().map(|deadline| &mut deadline.default);
            let values = [&mut asked.question].into_iter().chain(default);
            if self.is_behind || !self.past.knows_who_asked(asked.id, &asked.path) {
                values.for_each(|value| *value = hidden());
                asked.key = SecretTexts::HIDDEN.into();
            } else {
                values.for_each(|value| self.in_value(value));
                self.in_text(&mut asked.key);
            }
        }
    }

    fn in_value(&self, value: &mut Json) {
        *value = match self.is_behind {
            true => hidden(),
            // A value that is not JSON has no texts to search.
            false => self.past.texts().hide(value).unwrap_or_else(|_| hidden()),
        };
    }

    fn in_text(&self, text: &mut String) {
        *text = self.past.texts().hide_text(text);
    }

    /// Reads what was stored since the last time.
    async fn learn(&mut self) {
        if self.is_behind {
            self.is_behind = self.read_on().await.is_err();
            if self.is_behind {
                self.past.start_over();
            }
        }
    }

    async fn read_on(&mut self) -> Result<(), StoreError> {
        let Some(saver) = &self.saver else { return Ok(()) };
        self.past.look_again();
        while let Some((thread, from, limit)) = self.past.wanted() {
            let steps = match saver.steps(&thread, from, limit).await {
                // The thread was deleted in the meantime.
                Err(StoreError::NoCheckpoint { .. }) => Vec::new(),
                steps => steps?,
            };
            self.past.add(&steps);
        }
        Ok(())
    }
}

fn hidden() -> Json {
    Json::encode(SecretTexts::HIDDEN).expect("a text has a JSON form")
}
