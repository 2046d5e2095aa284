//! Records as the functions that write take them.

use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, EffectId, EffectOutcome, EffectRecord, FailureRecord, LeaseRecord, Recorded,
    StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::Json;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::call::Call;
use super::stored::{self, Texts};
use crate::pending::encode;
use crate::pending::encode_failure;

/// Begins a call that writes, with the lease of the caller.
pub(crate) fn write<'c>(function: &'static str, lease: Option<&'c LeaseRecord>) -> Call<'c> {
    let call = Call::of(function).int(lease.map(|lease| lease.fence.cast_signed()));
    call.bytes(lease.map(|lease| lease.thread.as_str().as_bytes()))
}

/// The checkpoint on which work is stored, and the lease of the caller.
#[derive(Clone, Copy)]
pub(crate) struct Onto<'c> {
    pub(crate) thread: &'c ThreadId,
    pub(crate) base: CheckpointId,
    pub(crate) lease: Option<&'c LeaseRecord>,
    pub(crate) texts: &'c Texts,
}

impl<'c> Onto<'c> {
    pub(crate) fn call(self, function: &'static str) -> Call<'c> {
        write(function, self.lease).name(self.thread.as_str()).uuid(Some(self.base.0))
    }

    pub(crate) fn record(self, result: &'c TaskResult) -> Result<Call<'c>, StoreError> {
        let recorded = Recorded::of(std::slice::from_ref(result), &[]);
        // A result without targets is completed by this one.
        let without = match result.targets {
            None => None,
            Some(_) => {
                Some(self.texts.result(&TaskResult { targets: None, handled: None, ..result.clone() })?)
            }
        };
        let call = self.call("record").bytes(Some(result.task.as_bytes())).text(self.texts.result(result)?);
        Ok(call.text(self.texts.number(recorded)?).text(without))
    }

    /// Replaces the result `held`, which was recorded without targets, by `result`, which completes it.
    pub(crate) fn complete(self, held: String, result: &'c TaskResult) -> Result<Call<'c>, StoreError> {
        let recorded = Recorded::of(std::slice::from_ref(result), &[]);
        let call = self.call("record").bytes(Some(result.task.as_bytes())).text(self.texts.result(result)?);
        Ok(call.text(self.texts.number(recorded)?).text(Some(held)))
    }

    pub(crate) fn fail(self, failure: &'c FailureRecord) -> Result<Call<'c>, StoreError> {
        let text = self.texts.failure(failure)?;
        Ok(self.call("fail").bytes(Some(failure.task.as_bytes())).text(text))
    }

    pub(crate) fn ask(self, asks: &'c [AskRecord]) -> Result<Call<'c>, StoreError> {
        let interrupts: Vec<&[u8]> = asks.iter().map(|ask| &ask.id.as_bytes()[..]).collect();
        let tasks: Vec<&[u8]> = asks.iter().map(|ask| &ask.task.as_bytes()[..]).collect();
        let rows: Vec<AskTexts> =
            asks.iter().map(|ask| AskTexts::of(self.texts, ask)).collect::<Result<_, _>>()?;
        let texts: Vec<String> = rows.iter().map(|row| row.text.clone()).collect();
        let deadlines = rows.iter().map(|row| row.deadline.clone());
        let fallbacks = rows.iter().map(|row| row.fallback.clone());
        let answers = rows.iter().map(|row| row.answer.clone());
        let by_deadline = asks.iter().map(|ask| ask.answered_by == AnsweredBy::Deadline);
        let call = self.call("ask");
        let call = call.argument(interrupts, Type::BYTEA_ARRAY).argument(tasks, Type::BYTEA_ARRAY);
        let call =
            call.argument(texts, Type::TEXT_ARRAY).argument(deadlines.collect::<Vec<_>>(), Type::TEXT_ARRAY);
        let call = call.argument(fallbacks.collect::<Vec<_>>(), Type::TEXT_ARRAY);
        let call = call.argument(answers.collect::<Vec<_>>(), Type::TEXT_ARRAY);
        Ok(call.argument(by_deadline.collect::<Vec<_>>(), Type::BOOL_ARRAY))
    }

    /// Begins an effect. The second attempt of a request is known by its id.
    pub(crate) fn begin(
        self,
        effect: &'c EffectRecord,
        request: Option<Uuid>,
    ) -> Result<Call<'c>, StoreError> {
        let slot = self.texts.slot(&effect.id)?;
        let started = self.texts.started(effect, &slot)?;
        let call = self.call("begin_effect").argument(slot, Type::BYTEA).text(started);
        let call = call.int(i64::from(effect.attempt)).int(i64::from(effect.starts));
        let call = call.bytes(Some(effect.token.as_bytes()));
        let outcome =
            effect.outcome.as_ref().map(|outcome| self.texts.ended(&effect.id, outcome)).transpose()?;
        Ok(call.text(outcome).text(self.texts.success(effect)?).uuid(request))
    }

    pub(crate) fn end(self, id: &'c EffectId, outcome: &EffectOutcome) -> Result<Call<'c>, StoreError> {
        let ended = EffectRecord {
            id: id.clone(),
            attempt: 1,
            starts: 1,
            token: superstep_core::id::IdempotencyKey::from_bytes([0; 16]),
            outcome: Some(outcome.clone()),
        };
        let call = self.call("end_effect").argument(self.texts.slot(id)?, Type::BYTEA);
        Ok(call.text(self.texts.ended(id, outcome)?).text(self.texts.success(&ended)?))
    }
}

/// The texts of a question, as its row has them.
pub(crate) struct AskTexts {
    pub(crate) text: String,
    pub(crate) deadline: Option<String>,
    pub(crate) fallback: Option<String>,
    pub(crate) answer: Option<String>,
}

impl AskTexts {
    pub(crate) fn of(texts: &Texts, ask: &AskRecord) -> Result<Self, StoreError> {
        let rest = AskRecord { deadline: None, answer: None, answered_by: AnsweredBy::Caller, ..ask.clone() };
        let deadline = ask.deadline.as_ref().map(|deadline| deadline.at_ms.to_string());
        let value = |value: &Json| texts.store(&stored::answer(ask.id), value.as_str());
        Ok(Self {
            text: texts.store(&stored::ask(ask.id, deadline.as_deref()), &encode(&rest)?)?,
            fallback: ask.deadline.as_ref().map(|deadline| value(&deadline.default)).transpose()?,
            answer: ask.answer.as_ref().map(value).transpose()?,
            deadline,
        })
    }
}

impl Texts {
    /// Returns the stored form of a result.
    pub(crate) fn result(&self, result: &TaskResult) -> Result<String, StoreError> {
        self.store(&stored::pending(result.task), &encode(result)?)
    }

    /// Returns the stored form of a failure.
    pub(crate) fn failure(&self, failure: &FailureRecord) -> Result<String, StoreError> {
        self.store(&stored::pending(failure.task), &encode_failure(failure)?)
    }

    /// Returns the stored form of an effect that was started, with its [slot](Self::slot).
    pub(crate) fn started(&self, effect: &EffectRecord, slot: &[u8]) -> Result<String, StoreError> {
        let (attempt, starts) = (i64::from(effect.attempt), i64::from(effect.starts));
        let cell = stored::effect(attempt, starts, effect.token.as_bytes(), slot);
        self.store(&cell, &encode(&effect.id)?)
    }

    /// Returns the stored form of the outcome of an effect.
    pub(crate) fn ended(&self, id: &EffectId, outcome: &EffectOutcome) -> Result<String, StoreError> {
        self.store(&stored::outcome(&encode(id)?), &encode(outcome)?)
    }

    /// Returns the number of an effect that succeeded.
    pub(crate) fn success(&self, effect: &EffectRecord) -> Result<Option<String>, StoreError> {
        let is_success = matches!(effect.outcome, Some(EffectOutcome::Ok(_)));
        let number = is_success.then(|| self.number(Recorded::of(&[], std::slice::from_ref(effect))));
        number.transpose()
    }

    /// Returns the task of an effect and the hash by which it is found. Its name and its key may be longer than an index
    /// allows.
    pub(crate) fn slot(&self, id: &EffectId) -> Result<Vec<u8>, StoreError> {
        Ok([id.task.as_bytes(), &self.digest(&encode(id)?).as_bytes()[..16]].concat())
    }
}
