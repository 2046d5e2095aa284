//! The policies of a described node.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use crate::node::{Cache, CachePolicy, OnMismatch, OnUnknown, Policy, Retry};
use crate::state::{JsonState, Place, Problems, Schema};

const ON_UNKNOWN: [(&str, OnUnknown); 3] =
    [("fail", OnUnknown::Fail), ("retry", OnUnknown::Retry), ("ask", OnUnknown::Ask)];

const ON_MISMATCH: [(&str, OnMismatch); 2] =
    [("fail", OnMismatch::Fail), ("run_again", OnMismatch::RunAgain)];

/// Reads the policies from the members of a node.
pub(super) fn read(place: &Place<'_>, schema: &Schema, problems: &mut Problems) -> Policy {
    let retry = place.member("retry").and_then(|retry| retrying(&retry, problems));
    let defer = place.member("defer").and_then(|defer| defer.truth(problems));
    let unknown = place.member("on_unknown").and_then(|unknown| choice(&unknown, &ON_UNKNOWN, problems));
    let mismatch = place.member("on_mismatch").and_then(|found| choice(&found, &ON_MISMATCH, problems));
    Policy {
        timeout: time(place, "timeout_ms", problems),
        idle_timeout: time(place, "idle_timeout_ms", problems),
        retries: retry.into_iter().collect(),
        deferred: defer.unwrap_or_default(),
        on_unknown: unknown.unwrap_or_default(),
        on_mismatch: mismatch.unwrap_or_default(),
        cache: place.member("cache").and_then(|cache| caching(&cache, schema, problems)),
        ..Policy::default()
    }
}

fn time(place: &Place<'_>, name: &str, problems: &mut Problems) -> Option<Duration> {
    let time = place.member(name).and_then(|time| time.whole(problems));
    time.map(Duration::from_millis)
}

/// Reads the cache policy: `true`, or a time to live.
fn caching(place: &Place<'_>, schema: &Schema, problems: &mut Problems) -> Option<CachePolicy> {
    let cache = Cache::<JsonState>::new();
    if !place.value.is_object() {
        return place.truth(problems)?.then(|| cache.into_policy(schema));
    }
    place.known(&["time_to_live_ms"], problems);
    let cache = match time(place, "time_to_live_ms", problems) {
        Some(time) => cache.time_to_live(time),
        None => cache,
    };
    Some(cache.into_policy(schema))
}

fn retrying(place: &Place<'_>, problems: &mut Problems) -> Option<Retry> {
    place.known(&["attempts", "initial_ms", "max_ms", "fixed_ms", "jitter"], problems)?;
    let attempts = place.required("attempts", problems)?;
    let number = u32::try_from(attempts.whole(problems)?).unwrap_or(u32::MAX);
    if number == 0 {
        problems.add(&attempts, "the first attempt counts, so there is at least 1");
    }
    let [initial, max, fixed] = ["initial_ms", "max_ms", "fixed_ms"].map(|name| time(place, name, problems));
    if fixed.is_some() && (initial.is_some() || max.is_some()) {
        problems.add(place, "\"fixed_ms\" excludes \"initial_ms\" and \"max_ms\"");
    }
    let mut retry = match fixed {
        Some(wait) => Retry::fixed(number, wait),
        None => Retry::exponential(number),
    };
    if let Some(initial) = initial {
        retry = retry.initial(initial);
    }
    if let Some(max) = max {
        retry = retry.max(max);
    }
    let jitter = place.member("jitter").and_then(|jitter| jitter.truth(problems));
    Some(if jitter == Some(false) { retry.without_jitter() } else { retry })
}

/// Reads a policy that is chosen by name.
fn choice<P: Copy>(place: &Place<'_>, known: &[(&str, P)], problems: &mut Problems) -> Option<P> {
    let name = place.text(problems)?;
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        problems.add(place, format!("there is no policy {name:?} (there are {})", names.join(", ")));
    }
    found
}
