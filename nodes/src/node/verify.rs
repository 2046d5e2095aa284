//! The node that verifies a response.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_core::state::{Field, FieldId, State};

use super::conversation::last_response;
use super::fields::{MessagesField, Read, all, turn_of};
use super::judge::judge;
use super::model_calls::ModelCalls;
use super::tally::{Tallies, Tally};
use super::{OptionalCount, OptionalText};
use crate::model::{ChatModel, StopReason};
use crate::verification::{
    OnJudgeError, OutputVerifier, Submission, Verification, VerificationResult, VerifiedBy,
};

/// The node that verifies the latest response and records the result: first by rules, and if all are kept, by a model
/// that judges it. An [`OutputVerifier`] says what is verified, and how.
///
/// A response that was refused leads to [`VerifyNext::Refine`] as long as there are [attempts](Self::attempts) left and
/// the model does not say again what was refused before; all else leads to [`VerifyNext::Finish`]. So the last response
/// is given in the end, accepted or not: the [`Verdict`](crate::verification::Verdict) on the turn says which.
///
/// If a reply of the judge is not a judgement, the judge is asked once more, with that reply and what is wrong with it.
/// If the second is none either, or the model fails, the verifier's [`OnJudgeError`] decides: the response is given and
/// the record says why it was not judged, or the node fails. A rule that cannot be checked fails the node in any case.
///
/// While the run is observed, each verification is emitted as a custom event of the name [`Verify::EVENT`], with the
/// [`Verification`] as its data.
pub struct Verify<S: State> {
    judge: Option<Arc<dyn ChatModel>>,
    verifier: OutputVerifier,
    messages: MessagesField<S>,
    verifications: Field<S, Vec<Verification>>,
    request: Option<Read<S, Option<String>>>,
    attempts: Option<(Read<S, u32>, u32)>,
    turn: Option<Field<S, u32>>,
    stop: Option<Field<S, Option<StopReason>>>,
    results: Vec<(FieldId, Write<S>)>,
    tallies: Tallies<S>,
}

type Write<S> = Box<dyn Fn(&VerificationResult) -> <S as State>::Update + Send + Sync>;

impl<S: State> Verify<S> {
    /// The name of the events of verifications.
    pub const EVENT: &'static str = "verification";

    /// Makes a node that verifies the responses in `messages` as `verifier` says, with `judge` as its judge;
    /// `verifications` has the reducer `Append`.
    pub fn new(
        judge: Arc<dyn ChatModel>,
        verifier: OutputVerifier,
        messages: MessagesField<S>,
        verifications: Field<S, Vec<Verification>>,
    ) -> Self {
        Self { judge: Some(judge), ..Self::by_rules(verifier, messages, verifications) }
    }

    /// Makes a node that verifies by the rules of `verifier` alone, without any model.
    pub fn by_rules(
        verifier: OutputVerifier,
        messages: MessagesField<S>,
        verifications: Field<S, Vec<Verification>>,
    ) -> Self {
        Self {
            judge: None,
            verifier,
            messages,
            verifications,
            request: None,
            attempts: None,
            turn: None,
            stop: None,
            results: Vec::new(),
            tallies: Tallies::none(),
        }
    }

    /// Reads the user's request from this field. Without it, and where it is missing or blank, the request is the text
    /// of the last human message.
    #[must_use]
    pub fn request<T: OptionalText>(mut self, request: Field<S, T>) -> Self {
        self.request = Some(Box::new(move |state| request.get(state).get().map(str::to_owned)));
        self
    }

    /// Has a refused response refined while this field is below `max`: the field in which [`Refine`](super::Refine)
    /// counts. With 0, and without this, responses are verified and never refined.
    #[must_use]
    pub fn attempts<T: OptionalCount>(mut self, attempts: Field<S, T>, max: u32) -> Self {
        self.attempts = Some((Box::new(move |state| attempts.get(state).get()), max));
        self
    }

    /// Tells the turns of a conversation apart by this count. Without it there is one turn.
    #[must_use]
    pub fn turn(mut self, turn: Field<S, u32>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Refuses a response that a limit has cut off, or at which the model still paused after the last continuation, as
    /// this field says, in which the [agent](super::Agent::stop) writes why the model ended it.
    #[must_use]
    pub fn stop(mut self, stop: Field<S, Option<StopReason>>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Writes whether the response was accepted; `None` if it could not be judged.
    #[must_use]
    pub fn passed(self, field: Field<S, Option<bool>>) -> Self {
        self.result(field.id(), move |result| field.write(result.passed))
    }

    /// Writes the score of the response, from 0 to 1; `None` if it could not be judged.
    #[must_use]
    pub fn score(self, field: Field<S, Option<f64>>) -> Self {
        self.result(field.id(), move |result| field.write(result.score.map(f64::from)))
    }

    /// Writes the changes that the next response has to make; `None` if there are none.
    #[must_use]
    pub fn feedback(self, field: Field<S, Option<String>>) -> Self {
        self.result(field.id(), move |result| {
            field.write(Some(result.feedback.clone()).filter(|feedback| !feedback.trim().is_empty()))
        })
    }

    fn result(
        mut self,
        id: FieldId,
        write: impl Fn(&VerificationResult) -> S::Update + Send + Sync + 'static,
    ) -> Self {
        self.results.push((id, Box::new(write)));
        self
    }

    /// Counts the model calls in a field, such as a [`Ledger`](crate::model::Ledger), for the purpose
    /// [`Verifier`](crate::model::Purpose::Verifier).
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    async fn verify(&self, state: &S, calls: &ModelCalls) -> Result<Output<S, VerifyNext>, NodeError> {
        let messages = self.messages.get(state);
        let said = last_response(messages)
            .ok_or_else(|| NodeError::terminal("there is no response to verify: no AI message is there"))?;
        let turn = turn_of(self.turn.as_ref(), state);
        let earlier: Vec<_> = Verification::of_turn(self.verifications.get(state), turn).collect();
        let response = said.content.to_text().into_owned();
        let result = match self.refused_before(&earlier, &response) {
            Some(result) => result,
            None => {
                let mut submission = Submission::of_turn(messages, response.as_str());
                let stop = self.stop.as_ref().and_then(|stop| stop.get(state).as_ref());
                submission.is_cut_off =
                    matches!(stop, Some(StopReason::MaxTokens | StopReason::WindowFull | StopReason::Pause));
                let request = self.request.as_ref().and_then(|read| read(state));
                if let Some(request) = request.filter(|request| !request.trim().is_empty()) {
                    submission.request = request;
                }
                self.examine(submission, calls).await?
            }
        };
        let attempt = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
        let verification = Verification { turn, attempt, message: said.id.clone(), response, result };
        calls.emit(Self::EVENT, &verification);
        let route = self.next(state, &verification.result);
        let results: Vec<_> = self.results.iter().map(|(_, write)| write(&verification.result)).collect();
        let record = self.verifications.write(vec![verification]);
        let made = calls.made();
        let update = [record].into_iter().chain(results).chain(self.tallies.writes(&made));
        Ok(Output { update: Some(all(update)), route })
    }

    /// The result of a response that is the same as one that was refused in this turn.
    fn refused_before(&self, earlier: &[&Verification], response: &str) -> Option<VerificationResult> {
        let same = earlier.iter().find(|held| held.refused(response));
        let same = same.filter(|_| self.verifier.refuses_repeats())?;
        Some(VerificationResult { by: VerifiedBy::Earlier { attempt: same.attempt }, ..same.result.clone() })
    }

    async fn examine(
        &self,
        submission: Submission,
        calls: &ModelCalls,
    ) -> Result<VerificationResult, NodeError> {
        let by_rules = match self.verifier.has_rules() || submission.lacks().is_some() {
            true => {
                let check = || self.verifier.check_rules(&submission);
                Some(calls.run("rules", check).await.map_err(NodeError::terminal)?)
            }
            false => None,
        };
        if let Some(refused) = by_rules.as_ref().filter(|result| result.requires_refinement()) {
            return Ok(refused.clone());
        }
        match &self.judge {
            Some(model) if self.verifier.asks_judge() => self.judgement(submission, model, calls).await,
            _ => {
                Ok(by_rules.unwrap_or_else(|| self.verifier.unjudged("there is neither a rule nor a judge")))
            }
        }
    }

    async fn judgement(
        &self,
        submission: Submission,
        model: &Arc<dyn ChatModel>,
        calls: &ModelCalls,
    ) -> Result<VerificationResult, NodeError> {
        let prompt = self.verifier.prompt(submission);
        let request = prompt.to_request(calls.message_id());
        let read = |reply: &_| prompt.read(reply).map(|judgement| self.verifier.judged(judgement, reply));
        let none = match judge(calls, model, request, read).await? {
            Ok(result) => return Ok(result),
            Err(none) => none,
        };
        let is_for_the_policy = none.is_worth_another_attempt(calls);
        match self.verifier.judge_error_policy() {
            OnJudgeError::Accept if !is_for_the_policy => Ok(self.verifier.unjudged(none.to_string())),
            OnJudgeError::Accept | OnJudgeError::Fail => Err(none.into()),
        }
    }

    fn next(&self, state: &S, result: &VerificationResult) -> VerifyNext {
        let has_attempts = self.attempts.as_ref().is_some_and(|(made, max)| made(state) < *max);
        let is_repeated = matches!(result.by, VerifiedBy::Earlier { .. });
        match result.requires_refinement() && has_attempts && !is_repeated {
            true => VerifyNext::Refine,
            false => VerifyNext::Finish,
        }
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Verify<S> {
    type Output = Result<Output<S, VerifyNext>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        drop(task);
        self.verify(&state, &calls).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.verifications.id());
        self.results.iter().for_each(|(field, _)| node.writes_field(*field));
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Verify<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut node = f.debug_struct("Verify");
        node.field("judge", &self.judge.as_ref().map(|judge| judge.name()));
        node.field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

/// The next step after a [`Verify`](super::Verify).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyNext {
    /// The response is given: it was accepted, it could not be judged, or there can be no other one.
    Finish,
    /// The response was refused, and another one may be better.
    Refine,
}

#[cfg(test)]
mod tests;
