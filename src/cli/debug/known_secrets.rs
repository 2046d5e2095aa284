//! Secrets in what a run tells while it goes on: nodes may emit one, ask with it, or quote it in an error.

use std::sync::Arc;

use crate::checkpoint::{At, Checkpointer, StoreError};
use crate::cli::concealed::learn;
use crate::id::{CheckpointId, ThreadId};
use crate::run::{EventKind, Interrupt, RunEvent, Status};
use crate::state::{Json, SecretTexts};

/// How many checkpoints are read at once to come to one that is known.
const PAGE: usize = 16;

/// The texts that a thread's secret fields ever held, as far as they are stored. What a node tells of a value before its
/// result is stored, nobody can know to be secret.
pub(super) struct KnownSecrets {
    saver: Option<Arc<dyn Checkpointer>>,
    thread: ThreadId,
    texts: SecretTexts,
    /// The latest checkpoint that was read.
    read: Option<CheckpointId>,
    /// Whether something may have been stored since.
    is_behind: bool,
}

impl KnownSecrets {
    /// Reads nothing until there is something to hide them in.
    pub(super) fn of(saver: Option<&Arc<dyn Checkpointer>>, thread: &ThreadId) -> Self {
        let (saver, thread) = (saver.cloned(), thread.clone());
        Self { saver, thread, texts: SecretTexts::default(), read: None, is_behind: true }
    }

    /// Says that somebody else may have stored something.
    pub(super) fn expect_more(&mut self) {
        self.is_behind = true;
    }

    /// The event without them. Where the store cannot say what is secret, nothing of what nodes emit and ask is told; errors
    /// come without the secrets of their state, and may say why it cannot.
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

    /// The end of a run without them.
    pub(super) async fn in_status(&mut self, status: &mut Status) {
        if let Status::Interrupted { interrupts } = status {
            self.in_questions(interrupts).await;
        }
    }

    async fn in_questions(&mut self, questions: &mut [Interrupt]) {
        self.learn().await;
        for asked in questions {
            let default = asked.deadline.as_mut().map(|deadline| &mut deadline.default);
            [&mut asked.question].into_iter().chain(default).for_each(|value| self.in_value(value));
        }
    }

    fn in_value(&self, value: &mut Json) {
        let hidden = || Json::encode(SecretTexts::HIDDEN).expect("a text has a JSON form");
        *value = match self.is_behind {
            true => hidden(),
            // What is no JSON has no texts that are told.
            false => self.texts.hide(value).unwrap_or_else(|_| hidden()),
        };
    }

    fn in_text(&self, text: &mut String) {
        *text = self.texts.hide_text(text);
    }

    /// Learns what was stored since the last time.
    async fn learn(&mut self) {
        if self.is_behind {
            self.is_behind = self.read_on().await.is_err();
        }
    }

    async fn read_on(&mut self) -> Result<(), StoreError> {
        let Some(saver) = &self.saver else { return Ok(()) };
        let head = saver.steps(&self.thread, At::Head, PAGE).await?;
        let Some(newest) = head.first() else { return Ok(()) };
        let (newest, schema) = (newest.checkpoint.id, &newest.schema);
        if schema.fields.iter().any(|field| field.secret) {
            let is_known = head.iter().any(|step| Some(step.checkpoint.id) == self.read);
            let steps = match is_known || head.len() < PAGE {
                true => head,
                false => saver.steps(&self.thread, At::Head, usize::MAX).await?,
            };
            steps.iter().for_each(|step| learn(&mut self.texts, step));
        }
        self.read = Some(newest);
        Ok(())
    }
}
