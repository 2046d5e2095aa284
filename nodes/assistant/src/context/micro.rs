//! The fourth pass: results that are out of date become lines.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use serde_json::Value;
use superstep_nodes::message::{Message, ToolCall, ToolStatus};

use super::draft::Draft;
use super::settings::{MicroKind, MicroRule};
use super::trim::{Shown, with_content};

/// The part of the effective window that a batch has to win: one in so many tokens. The cache of the provider does not
/// hold what comes behind the first message that changes.
const WORTHWHILE: u64 = 5;

/// A number of bytes that is a token at least. It only tells when counting is worth its time.
const BYTES: u64 = 3;

/// The result of a call of a tool with a rule.
struct Found<'h> {
    at: usize,
    tool: &'h str,
    rule: &'h MicroRule,
    target: &'h str,
    input: &'h Value,
    is_ok: bool,
}

/// The reason for which a result is out of date.
enum Reason {
    Repeated,
    Changed,
    Old,
}

/// Shows a line instead of each result that is out of date by its tool's [rule](MicroRule), if that wins a fifth of the
/// window.
pub(super) fn run(draft: &mut Draft<'_>) {
    let Some(window) = draft.window.filter(|_| !draft.settings.micro.is_empty()) else { return };
    let worthwhile = window.effective() / WORTHWHILE;
    let found = results(draft);
    let outdated = outdated(draft, &found);
    let rough: u64 = outdated.iter().map(|(result, _)| rough_tokens(draft, result.at)).sum();
    if rough < worthwhile {
        return;
    }
    let counter = draft.counter();
    let lines: Vec<_> = outdated
        .into_iter()
        .map(|(result, reason)| {
            let text = line(draft, result, &reason);
            let before = counter.message(&draft.shown(result.at));
            let after = counter.message(&with_content(&draft.tail[result.at], text.as_str().into()));
            (result.at, text, before, after)
        })
        .filter(|(_, _, before, after)| after < before)
        .collect();
    if lines.iter().map(|(_, _, before, after)| before - after).sum::<u64>() >= worthwhile {
        for (at, text, before, after) in lines {
            draft.decide(at, Shown::Line { text }, before, after);
        }
    }
}

/// The results of tools with rules, in order.
fn results<'h>(draft: &Draft<'h>) -> Vec<Found<'h>> {
    let rules = &draft.settings.micro;
    let mut calls: &'h [ToolCall] = &[];
    let mut found = Vec::new();
    for (at, message) in draft.tail.iter().enumerate() {
        match message {
            Message::Ai(said) => calls = &said.tool_calls,
            Message::Tool(answer) => {
                let Some(call) = calls.iter().find(|call| call.id == answer.tool_call_id) else { continue };
                let Some(rule) = rules.get(&call.name) else { continue };
                let Some(target) = call.input.get(&rule.target).and_then(Value::as_str) else { continue };
                let (tool, input) = (call.name.as_str(), &call.input);
                found.push(Found { at, tool, rule, target, input, is_ok: answer.status == ToolStatus::Ok });
            }
            Message::Human(_) | Message::System(_) => {}
        }
    }
    found
}

/// The results that are out of date and not yet shown as lines, in order.
fn outdated<'f, 'h>(draft: &Draft<'h>, found: &'f [Found<'h>]) -> Vec<(&'f Found<'h>, Reason)> {
    let mut done = HashSet::with_capacity_and_hasher(found.len(), FixedState::default());
    let mut changed = HashSet::new();
    let mut outdated = Vec::new();
    for (age, result) in found.iter().rev().enumerate() {
        let is_recent = age < draft.settings.recent_results;
        let reason = match result.rule.kind {
            MicroKind::Change => None,
            _ if done.contains(&(result.tool, result.input)) => Some(Reason::Repeated),
            MicroKind::Read if !is_recent && changed.contains(result.target) => Some(Reason::Changed),
            MicroKind::Search if !is_recent => Some(Reason::Old),
            MicroKind::Read | MicroKind::Search => None,
        };
        if result.is_ok && result.rule.kind == MicroKind::Change {
            changed.insert(result.target);
        } else if result.is_ok {
            done.insert((result.tool, result.input));
        }
        outdated.extend(reason.filter(|_| is_open(draft, result.at)).map(|reason| (result, reason)));
    }
    outdated.reverse();
    outdated
}

/// Tells whether a message may become a line.
fn is_open(draft: &Draft<'_>, at: usize) -> bool {
    let is_line = draft.marks[at].iter().any(|mark| matches!(mark.shown, Shown::Line { .. }));
    !is_line && !draft.is_whole(at) && !draft.is_folded(at)
}

/// The line for a result, with the place of the whole text if that is stored.
fn line(draft: &Draft<'_>, result: &Found<'_>, reason: &Reason) -> String {
    let blob = draft.marks[result.at].iter().rev().find_map(|trim| match &trim.shown {
        Shown::Shortened { blob, .. } => Some(format!(" The whole text is in {blob}.")),
        _ => None,
    });
    let reason = match reason {
        Reason::Repeated => "the same call was made again later",
        Reason::Changed => "a later call changed its target",
        Reason::Old => "it is old; make the call again if it is needed",
    };
    format!("[The result is left out: {reason}.{}]", blob.unwrap_or_default())
}

/// An estimate of the tokens of a message that is hardly ever too low, without reading its text.
fn rough_tokens(draft: &Draft<'_>, at: usize) -> u64 {
    let shown = draft.shown(at);
    let parts = shown.content().parts();
    match parts.iter().map(|part| Some(part.as_text()?.len() as u64)).sum::<Option<u64>>() {
        Some(bytes) => bytes / BYTES + 1,
        None => draft.counter().content(shown.content()),
    }
}
