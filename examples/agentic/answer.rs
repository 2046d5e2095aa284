//! The output of the program for a turn.

use std::io;
use std::path::Path;

use serde::Serialize;
use superstep::nodes::compaction::Compaction;
use superstep::nodes::graphs::AgenticState;
use superstep::nodes::model::extractive::is_refusal;
use superstep::nodes::verification::{Verdict, Verification, WhyUnverified};
use superstep::run::Run;
use superstep_examples::print;
use superstep_examples::progress::Shown;

use crate::arguments::Arguments;

/// The response of a turn, with data about the turn.
#[derive(Serialize)]
pub(crate) struct Answer {
    response: String,
    /// `false` for a response that only says that the documents have no answer, so there is nothing to verify.
    answered: bool,
    /// `None` if it could not be judged, was not to be judged, or has no answer.
    verified: Option<bool>,
    score: Option<f64>,
    /// The reason why it was not accepted.
    reason: Option<String>,
    /// The responses of this turn, including refused ones.
    candidates: Vec<Verification>,
    trace: Vec<String>,
    turn: u32,
    messages: usize,
    compacted: Option<Compaction>,
    llm_calls: u64,
    thread_id: String,
    db: String,
}

impl Answer {
    pub(crate) fn of(run: &Run<AgenticState>, trace: Vec<String>, db: &Path) -> Self {
        let state = &run.state;
        let (verified, reason) = match state.verdict() {
            Verdict::Verified(_) => (Some(true), None),
            Verdict::Unverified { why: WhyUnverified::NotJudged { reason }, .. } => (None, Some(reason)),
            Verdict::Unverified { why, last } => (Some(false), Some(refused(&why, &last.result.feedback))),
            Verdict::Unchecked => (None, None),
        };
        let response = state.response().unwrap_or_default().into_owned();
        let answered = !is_refusal(response.trim());
        let (verified, score) = match verified {
            Some(true) if !answered => (None, None),
            verified => (verified, state.verification_score),
        };
        let compacted = state.compactions.last().filter(|_| state.compaction_applied == Some(true));
        Self {
            response,
            answered,
            verified,
            score,
            reason,
            candidates: Verification::of_turn(&state.verifications, state.turn).cloned().collect(),
            trace,
            turn: state.turn,
            messages: state.messages.len(),
            compacted: compacted.cloned(),
            llm_calls: state.ledger.total().calls,
            thread_id: run.thread.to_string(),
            db: db.display().to_string(),
        }
    }

    /// Returns `true` if the response was accepted, or was not to be judged.
    pub(crate) fn is_accepted(&self) -> bool {
        self.reason.is_none()
    }

    /// Prints the answer, without a response that the terminal already shows.
    pub(crate) fn print(&self, arguments: &Arguments, shown: &Shown) -> io::Result<()> {
        if arguments.answering.json {
            return print(serde_json::to_string(self)?);
        }
        if !shown.is(&self.response) {
            print(format_args!("{}\n", self.response))?;
        }
        if arguments.trace && !self.trace.is_empty() {
            print(format_args!("trace: {}", self.trace.join(",")))?;
        }
        if let Some(Compaction { summarised, tokens_before, tokens_after, .. }) = &self.compacted {
            let before = format_args!("{summarised} messages are shown in short");
            print(format_args!("compacted: {before}, {tokens_after} tokens of {tokens_before}"))?;
        }
        match (self.verified, &self.reason) {
            (Some(_), Some(reason)) => print(format_args!("not verified: {reason}"))?,
            (None, Some(reason)) => print(format_args!("not judged: {reason}"))?,
            (Some(_), None) => match self.score {
                Some(score) => print(format_args!("verified: {score:.2} of 1"))?,
                None => print("verified")?,
            },
            (None, None) if !self.answered => print("no answer, so there is nothing to verify")?,
            (None, None) => print("not checked")?,
        }
        let Self { turn, thread_id, messages, llm_calls, db, .. } = self;
        print(format_args!(
            "turn {turn} of thread {thread_id}, {messages} messages, {llm_calls} model calls so far; in {db}"
        ))
    }
}

/// Returns the reason why a response was refused, with the feedback on it.
fn refused(why: &WhyUnverified, feedback: &str) -> String {
    match feedback.trim() {
        "" => why.to_string(),
        feedback => format!("{why}. {feedback}"),
    }
}
