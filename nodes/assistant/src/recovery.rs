//! Recovery from failed model calls, as a pure function of the failure and of the attempts so far.
//!
//! ```text
//! ModelError ──┬─failure()──▶ ModelFailure ──┐
//! StopReason ──┘                             ├──▶ next ──▶ Action, and the new Recovery
//!                              Recovery ─────┘
//! ```
//!
//! | failure | first | then | then | at last |
//! |---|---|---|---|---|
//! | overflow | drain folds, if some are staged | compact, once | – | `prompt_too_long` |
//! | truncated | raise the output limit, once | continue the reply, 3 times | – | `model_error` |
//! | overloaded, rate limited | wait 3 times | switch the model | wait 3 times | `model_error` |
//! | unreachable | wait twice | switch the model | wait twice | `model_error` |
//! | unavailable | switch the model | – | – | `model_error` |
//! | media | strip pictures, once | – | – | `image_error` |
//! | fatal | – | – | – | `model_error` |
//!
//! [`Recovery`] is part of the state, so its counters survive a crash, and a fork has those of its checkpoint.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::model::ModelFailure;

use crate::exit::Exit;

/// The next step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Wait, then send the request again.
    Wait(Duration),
    /// Send the request to the fallback model, from now on.
    SwitchModel,
    /// Show the staged folds as their summaries, then send the request again.
    DrainFolds,
    /// Compact the conversation, then send the request again.
    CompactReactively,
    /// Take pictures out of the request, then send it again.
    StripMedia,
    /// Send the request again with this limit of output tokens.
    Escalate(u32),
    /// Keep the part of the reply that came, and ask the model to continue it.
    ResumeOutput,
    /// End the run, and report the failure.
    Surface(Exit),
}

/// The attempts at recovery so far, in the state of an assistant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Recovery {
    /// The number of waits since the last whole reply, or since the switch to the fallback model.
    pub waits: u32,
    /// `true` once the fallback model has taken over. It stays for the session.
    pub switched_model: bool,
    /// `true` once folds were drained since the last whole reply.
    pub drained: bool,
    /// The use of the one reactive compaction.
    pub reactive: OneShot,
    /// The use of the one attempt without pictures.
    pub stripped_media: OneShot,
    /// The raised output limit, in tokens.
    pub max_output: Option<u32>,
    /// The number of times that the reply was continued.
    pub resumed: u32,
}

/// The use of an attempt that is made once for each message of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OneShot {
    /// Not used.
    #[default]
    Unused,
    /// Used, and no whole reply has followed.
    Used,
    /// Used, and a whole reply has followed: the next message of the user makes it available again.
    Proven,
}

/// The limits of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// The number of waits for a model that is overloaded or limits the rate of calls.
    pub waits: u32,
    /// The number of waits for a model that cannot be reached.
    pub unreachable_waits: u32,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest wait. If the provider asks for more, the model counts as unavailable.
    pub longest_wait: Duration,
    /// The raised output limit, in tokens.
    pub max_output: u32,
    /// The number of times that a reply is continued.
    pub resumes: u32,
}

impl Default for RecoveryOptions {
    /// Three waits of 1, 2 and 4 seconds, two for a model that cannot be reached, none longer than 5 minutes; an output
    /// limit of 64,000 tokens; three continuations.
    fn default() -> Self {
        Self {
            waits: 3,
            unreachable_waits: 2,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
            max_output: 64_000,
            resumes: 3,
        }
    }
}

/// The circumstances of a failure that recovery depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// `true` if there is a fallback model.
    pub has_fallback: bool,
    /// `true` if folds are staged that the request does not show yet.
    pub has_folds: bool,
}

/// Returns the next step after a failure, and the attempts so far with that step counted.
///
/// Every sequence of failures without a whole reply between them leads to [`Action::Surface`]: each other step uses up
/// one of a limited number.
pub fn next(
    recovery: &Recovery,
    failure: ModelFailure,
    circumstances: Circumstances,
    options: &RecoveryOptions,
) -> (Recovery, Action) {
    let mut next = recovery.clone();
    let action = match failure {
        ModelFailure::Overflow { .. } => next.after_overflow(circumstances),
        ModelFailure::Truncated => next.after_truncation(options),
        ModelFailure::Overloaded { retry_after } | ModelFailure::RateLimited { retry_after } => {
            next.wait(options.waits, retry_after, circumstances, options)
        }
        ModelFailure::Unreachable => next.wait(options.unreachable_waits, None, circumstances, options),
        ModelFailure::Unavailable => next.switch_model(circumstances),
        ModelFailure::Media => match next.stripped_media.take() {
            true => Action::StripMedia,
            false => Action::Surface(Exit::ImageError),
        },
        ModelFailure::Fatal => Action::Surface(Exit::ModelError),
    };
    (next, action)
}

impl Recovery {
    /// Counts a whole reply: the counters begin again, except those of one-shot attempts.
    pub fn after_reply(&mut self) {
        *self = Self {
            switched_model: self.switched_model,
            reactive: self.reactive.proven(),
            stripped_media: self.stripped_media.proven(),
            ..Self::default()
        };
    }

    /// Counts a message of the user: a one-shot attempt that led to a whole reply is available again.
    pub fn after_message(&mut self) {
        self.reactive = self.reactive.renewed();
        self.stripped_media = self.stripped_media.renewed();
    }

    fn after_overflow(&mut self, circumstances: Circumstances) -> Action {
        if circumstances.has_folds && !self.drained {
            self.drained = true;
            return Action::DrainFolds;
        }
        match self.reactive.take() {
            true => Action::CompactReactively,
            false => Action::Surface(Exit::PromptTooLong),
        }
    }

    fn after_truncation(&mut self, options: &RecoveryOptions) -> Action {
        if self.max_output.is_none() {
            self.max_output = Some(options.max_output);
            return Action::Escalate(options.max_output);
        }
        if self.resumed < options.resumes {
            self.resumed += 1;
            return Action::ResumeOutput;
        }
        Action::Surface(Exit::ModelError)
    }

    fn wait(
        &mut self,
        waits: u32,
        retry_after: Option<Duration>,
        circumstances: Circumstances,
        options: &RecoveryOptions,
    ) -> Action {
        let doubled = || options.first_wait.saturating_mul(2_u32.saturating_pow(self.waits));
        let wait = retry_after.unwrap_or_else(|| doubled().min(options.longest_wait));
        if self.waits >= waits || wait > options.longest_wait {
            return self.switch_model(circumstances);
        }
        self.waits += 1;
        Action::Wait(wait)
    }

    fn switch_model(&mut self, circumstances: Circumstances) -> Action {
        if !circumstances.has_fallback || self.switched_model {
            return Action::Surface(Exit::ModelError);
        }
        self.switched_model = true;
        self.waits = 0;
        Action::SwitchModel
    }
}

impl OneShot {
    /// Uses the attempt; returns `false` if it was used before.
    fn take(&mut self) -> bool {
        std::mem::replace(self, Self::Used) == Self::Unused
    }

    fn proven(self) -> Self {
        match self {
            Self::Unused => Self::Unused,
            Self::Used | Self::Proven => Self::Proven,
        }
    }

    fn renewed(self) -> Self {
        match self {
            Self::Unused | Self::Proven => Self::Unused,
            Self::Used => Self::Used,
        }
    }
}

#[cfg(test)]
mod tests;
