//! Hooks as effects.

use std::convert::Infallible;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep_core::node::{Effects, OnUnknown};
use superstep_core::run::CancellationToken;

use crate::hook::{CallAnswer, CallEvent, CallHook, EndEvent, StopAnswer, StopHook};
use crate::permission::Verdict;

/// The record of a hook.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Heard<A> {
    /// The hook answered, or failed.
    Answer(A),
    /// The user stopped the turn first.
    Stopped,
}

/// Asks a hook about a call. If it fails, consent is asked for.
pub(super) async fn call_hook(
    effects: &Effects,
    key: String,
    hook: &dyn CallHook,
    call: &CallEvent<'_>,
    stop: &CancellationToken,
) -> Heard<CallAnswer> {
    let answer = async {
        let answer = hook.before_call(call).await;
        answer.unwrap_or_else(|error| CallAnswer::Decide(Verdict::Ask, error.to_string()))
    };
    heard(effects, hook.name(), key, answer, stop).await
}

/// Asks a hook about the end of a run. If it fails, it objects.
pub(super) async fn stop_hook(
    effects: &Effects,
    key: String,
    hook: &dyn StopHook,
    end: &EndEvent<'_>,
    stop: &CancellationToken,
) -> Heard<StopAnswer> {
    let answer = async {
        let answer = hook.before_end(end).await;
        answer.unwrap_or_else(|error| StopAnswer::Object(error.to_string()))
    };
    heard(effects, hook.name(), key, answer, stop).await
}

/// Records an answer. A hook that a crash cut off is asked again, as it only looks.
async fn heard<A: Serialize + DeserializeOwned>(
    effects: &Effects,
    hook: &str,
    key: String,
    answer: impl Future<Output = A>,
    stop: &CancellationToken,
) -> Heard<A> {
    let run = || async {
        let answer = stop.run_until_cancelled(answer).await;
        Ok::<_, Infallible>(answer.map_or(Heard::Stopped, Heard::Answer))
    };
    let effects = effects.on_unknown(OnUnknown::Retry);
    match effects.run_keyed(&format!("hook.{hook}"), key, run).await {
        Ok(heard) => heard,
        Err(never) => match never {},
    }
}
