//! Tests of the passes together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use superstep_core::reducer::{KeyedLog, LogEdit, LogWrite, Reducer};
use superstep_nodes::compaction::{Compaction, ContextManager, view};
use superstep_nodes::message::{Content, Image, Message, Part, ToolCall};
use superstep_nodes::model::{ModelReply, RoughTokens, TokenCounter, Usage};

use super::draft::Draft;
use super::prepare::run;
use super::*;

mod properties;
mod snip;

/// A session, as a state keeps it.
#[derive(Clone, Default)]
struct Session {
    messages: Vec<Message>,
    compactions: Vec<Compaction>,
    trims: Vec<Trim>,
    anchor: Option<Anchor>,
    attachments: Vec<Message>,
    /// The number of compactions so far.
    compacted: usize,
}

impl Session {
    fn of(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }

    fn history(&self) -> History<'_> {
        History {
            messages: &self.messages,
            compactions: &self.compactions,
            trims: &self.trims,
            anchor: self.anchor.as_ref(),
            attachments: &self.attachments,
            overhead: 100,
            ..History::default()
        }
    }

    /// Puts new records into the state.
    fn record(&mut self, trims: &[Trim]) {
        KeyedLog::reduce(&mut self.trims, LogWrite(trims.iter().cloned().map(LogEdit::Put).collect()));
    }

    /// Does what a node does with a prepared conversation.
    fn apply(&mut self, trims: &[Trim], snip: Option<&Snip>) {
        if let Some(snip) = snip {
            self.messages.clone_from(&snip.messages);
            KeyedLog::reduce(&mut self.compactions, LogWrite::remove(&snip.compactions));
            KeyedLog::reduce(&mut self.trims, LogWrite::remove(&snip.trims));
        }
        self.record(trims);
    }

    /// Compacts the messages with this summary, or without one.
    fn compact(&mut self, manager: &ContextManager, summary: Option<&str>) -> bool {
        let id = format!("c{}", self.compacted);
        let messages = trimmed(&self.messages, &self.trims);
        let made = manager.plan(&messages, &self.compactions).and_then(|plan| match summary {
            Some(summary) => plan.accept(&id, &ModelReply::new("m", summary), 0).ok(),
            None => plan.without_summary(&id, "it is down").ok(),
        });
        self.compacted += usize::from(made.is_some());
        self.compactions.extend(made.clone());
        made.is_some()
    }
}

fn call(id: &str, tool: &str, target: &str) -> ToolCall {
    let member = ContextSettings::built_in_rules()[tool].target.clone();
    ToolCall::new(id, tool, json!({ member: target }))
}

/// A call and its result of so many words.
fn round(id: &str, tool: &str, target: &str, words: usize) -> [Message; 2] {
    let call = call(id, tool, target);
    let asked = Message::ai_with_calls(format!("{id}.call"), "", vec![call.clone()]);
    [asked, Message::tool(format!("{id}.result"), &call, "word ".repeat(words))]
}

fn tokens(messages: &[impl std::borrow::Borrow<Message>]) -> u64 {
    messages.iter().map(|message| RoughTokens.message(message.borrow())).sum()
}

fn ids(view: &View<'_>) -> Vec<String> {
    view.iter().map(|message| message.id().to_string()).collect()
}

const WINDOW: ContextWindow = ContextWindow::new(60_000, 10_000);

#[test]
fn s2_073_to_080_there_are_five_passes_in_one_order() {
    let names = PASSES.map(|pass| pass.name());
    assert_eq!(names, ["boundary", "result_budget", "snip", "micro", "fold"]);
}

#[test]
fn s2_014_032_033_131_132_results_that_are_out_of_date_become_lines_in_batches() {
    let mut session = Session::of(vec![Message::human("task", "Repair it.")]);
    session.messages.extend(round("read", "read_file", "a.rs", 4_400));
    session.messages.extend(round("edit", "edit_file", "a.rs", 5));
    session.messages.extend(round("old", "grep", "main", 4_400));
    for n in 0..9 {
        session.messages.extend(round(&format!("other{n}"), "read_file", &format!("{n}.rs"), 5));
    }
    let settings = ContextSettings::default();
    let first = prepare(&session.history(), Some(WINDOW), &settings);
    assert!(first.trims.is_empty(), "what is recent stays");
    session.anchor = Anchor::new("last.call", &Usage::of(first.tokens, 9), first.records);

    session.messages.extend(round("last", "read_file", "a.rs", 4_400));
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    let reasons: Vec<_> = prepared.trims.iter().map(|trim| (trim.message.as_str(), trim.pass())).collect();
    assert_eq!(reasons, [("read.result", "micro"), ("old.result", "micro")]);
    let text = |at: usize| prepared.view[at].text().into_owned();
    assert_eq!(text(2), "[The result is left out: the same call was made again later.]");
    assert_eq!(text(6), "[The result is left out: it is old; make the call again if it is needed.]");
    assert!(prepared.trims.iter().all(|trim| trim.cache_deleted_input_tokens == trim.saved()));
    assert!(prepared.trims.iter().map(Trim::saved).sum::<u64>() >= WINDOW.effective() / 5);

    // A small batch is not worth the provider's cache, and without a window nothing is known of its worth.
    let large = ContextWindow::new(72_000, 8_000);
    assert!(prepare(&session.history(), Some(large), &settings).trims.is_empty());
    assert!(prepare(&session.history(), None, &settings).trims.is_empty());

    // Removing a record undoes it, and one that shows the message whole lasts.
    session.apply(&prepared.trims.clone(), None);
    KeyedLog::reduce(&mut session.trims, LogWrite::remove(["read.result.micro"]));
    session.record(&[Trim::whole("read.result".into())]);
    let view = prepare(&session.history(), Some(WINDOW), &settings).view;
    assert_eq!((&*view[2], view[6].text().starts_with("[The result")), (&session.messages[2], true));
}

#[test]
fn a_result_of_a_file_that_changed_since_becomes_a_line() {
    let mut session = Session::of(vec![Message::human("task", "Repair it.")]);
    session.messages.extend(round("read", "read_file", "a.rs", 20_000));
    session.messages.extend(round("edit", "edit_file", "a.rs", 5));
    let failed = call("failed", "read_file", "a.rs");
    session.messages.push(Message::ai_with_calls("f", "", vec![failed.clone()]));
    session.messages.push(Message::tool_error("g", &failed, "no such file"));
    let settings = ContextSettings { recent_results: 1, results: unlimited(), ..ContextSettings::default() };
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    let expected = "[The result is left out: a later call changed its target.]";
    assert_eq!(prepared.view[2].text(), expected, "a read that failed makes nothing out of date");
}

fn unlimited() -> ResultLimits {
    ResultLimits { per_result: usize::MAX, per_message: usize::MAX, ..ResultLimits::default() }
}

#[test]
fn s2_075_081_190_results_are_within_their_limits_before_anything_is_compacted() {
    let limits = ResultLimits { per_result: 9_000, per_message: 20_000, ..ResultLimits::default() };
    let settings = ContextSettings { results: limits, ..ContextSettings::default() };
    let calls: Vec<_> = (0..4).map(|n| call(&format!("c{n}"), "bash", &format!("run {n}"))).collect();
    let mut messages =
        vec![Message::human("task", "Run."), Message::ai_with_calls("asks", "", calls.clone())];
    let sizes = [100, 30_000, 7_000, 8_000];
    let results = calls
        .iter()
        .zip(sizes)
        .map(|(call, size)| Message::tool(format!("r{}", call.id), call, "x".repeat(size)));
    messages.extend(results);
    let session = Session::of(messages);
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    let lengths: Vec<_> = prepared.view[2..].iter().map(|message| message.text().chars().count()).collect();
    assert!(lengths.iter().sum::<usize>() <= 20_000 && lengths[0] == 100, "{lengths:?}");
    let stored: Vec<_> = prepared.blobs.iter().map(|blob| blob.text.len()).collect();
    assert_eq!(stored, [30_000, 7_000, 8_000]);
    for (trim, blob) in prepared.trims.iter().zip(&prepared.blobs) {
        assert!(
            matches!(&trim.shown, Shown::Shortened { text, blob: path } if *path == blob.path && text.contains(path))
        );
        assert_eq!(trim.cache_deleted_input_tokens, 0, "no request had it");
    }
    let compacted = trimmed(&session.messages, &prepared.trims);
    assert!(compacted.iter().all(|message| message.text().len() <= 9_000));
}

fn folding() -> ContextSettings {
    let auto = vec![Trigger::Fraction(0.1)];
    ContextSettings { fold: Some(2), auto, micro: Default::default(), ..ContextSettings::default() }
}

fn turns(count: usize) -> Session {
    let mut messages = Vec::new();
    for n in 0..count {
        messages.push(Message::human(format!("q{n}"), "Look at it."));
        messages.extend(round(&format!("w{n}"), "read_file", &format!("{n}.rs"), 900));
        messages.push(Message::ai(format!("a{n}"), "It is good."));
    }
    Session::of(messages)
}

#[test]
fn s2_078_140_141_142_finished_turns_are_folded_if_that_is_on_and_stay_so() {
    let mut session = turns(6);
    let off = ContextSettings { fold: None, ..folding() };
    assert!(prepare(&session.history(), Some(WINDOW), &off).trims.is_empty());
    assert!(drain_folds(&session.history(), &off).is_empty());

    let settings = folding();
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    assert_eq!(prepared.trims.len(), 4);
    assert_eq!(ids(&prepared.view)[..3], ["q0", "w0.call.fold", "a0"]);
    assert_eq!(
        prepared.view[1].text(),
        "[2 messages of finished work are not shown. Calls: read_file 1 times]"
    );
    let (view, trims) = (prepared.view.into_conversation(), prepared.trims.clone());
    session.apply(&trims, None);
    assert_eq!(session.messages, turns(6).messages, "the messages are unchanged");
    let again = prepare(&session.history(), Some(WINDOW), &settings);
    assert!(again.trims.is_empty() && again.view.into_conversation() == view);
    KeyedLog::reduce(&mut session.trims, LogWrite::remove(trims.iter().map(|trim| &trim.id)));
    assert_eq!(
        prepare(&session.history(), Some(WINDOW), &off).view.into_conversation()[..],
        session.messages
    );
}

#[test]
fn a_turn_whose_calls_are_answered_late_is_not_folded() {
    let mut session = turns(6);
    let late = session.messages.remove(2);
    session.messages.insert(4, late);
    let trims = prepare(&session.history(), Some(WINDOW), &folding()).trims;
    let folded: Vec<_> = trims.iter().map(|trim| trim.message.as_str()).collect();
    assert_eq!(folded, ["w2.call", "w3.call"], "nor the one in which the answer came");
}

#[test]
fn s2_085_staged_folds_are_what_a_drain_commits() {
    let (mut session, settings) = (turns(6), folding());
    let large = ContextWindow::new(1_000_000, 10_000);
    assert!(prepare(&session.history(), Some(large), &settings).trims.is_empty(), "it is short enough");
    let folds = drain_folds(&session.history(), &settings);
    assert_eq!(folds.len(), 4);
    let before = tokens(&prepare(&session.history(), Some(large), &settings).view);
    session.record(&folds);
    let after = tokens(&prepare(&session.history(), Some(large), &settings).view);
    assert_eq!(before - after, folds.iter().map(Trim::saved).sum::<u64>());
    assert!(drain_folds(&session.history(), &settings).is_empty());
}

#[test]
fn s2_138_pictures_are_left_out_first() {
    let picture = || Content::from_iter([Part::text("See: "), Part::Image(Image::url("u"))]);
    let mut session = Session::of(vec![Message::human("p", picture()), Message::human("t", "Well?")]);
    let settings = ContextSettings::default();
    let trims = leave_out_pictures(&session.history(), &settings);
    assert_eq!(trims.len(), 1);
    session.record(&trims);
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    assert_eq!(prepared.view[0].text(), "See: [a picture, left out]");
    assert!(leave_out_pictures(&session.history(), &settings).is_empty());
}

#[test]
fn s2_015_attachments_stand_behind_the_summary() {
    let mut session = turns(6);
    session.attachments = vec![Message::human("AGENTS.md", "Be brief."), Message::human("plan", "1. Look.")];
    let settings = ContextSettings::default();
    assert_eq!(ids(&prepare(&session.history(), None, &settings).view)[0], "q0");
    assert!(session.compact(&ContextManager::new().threshold(100).recent(1), Some("They work.")));
    assert_eq!(
        ids(&prepare(&session.history(), None, &settings).view),
        ["c0.summary", "AGENTS.md", "plan", "a5"]
    );
}

#[test]
fn s2_077_082_results_that_are_out_of_date_go_before_a_conversation_is_compacted() {
    let mut session = Session::of(vec![Message::human("task", "Search.")]);
    for n in 0..40 {
        session.messages.extend(round(&format!("w{n}"), "grep", &format!("word{n}"), 900));
    }
    let settings = ContextSettings::default();
    let without = ContextSettings { micro: Default::default(), ..settings.clone() };
    assert_eq!(prepare(&session.history(), Some(WINDOW), &without).auto, AutoDecision::Compact);
    assert_eq!(prepare(&session.history(), Some(WINDOW), &settings).auto, AutoDecision::Send);
}

#[test]
fn s2_083_in_the_reversed_order_the_requests_overflow_and_in_the_right_order_they_do_not() {
    let mut session = Session::of(vec![Message::human("task", "Search.")]);
    for n in 0..100 {
        session.messages.extend(round(&format!("w{n}"), "grep", &format!("word{n}"), 3_000));
    }
    let settings = ContextSettings {
        results: ResultLimits { per_result: 8_000, ..ResultLimits::default() },
        ..ContextSettings::default()
    };
    let manager = ContextManager::new().threshold(0);
    let request = |messages: &[Message]| {
        let plan = manager.plan(messages, &[]).unwrap();
        RoughTokens.request(&plan.request("r", 0))
    };
    // Compaction first: its request is made of messages that no pass has shortened.
    assert!(request(&session.messages) > WINDOW.tokens);
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    assert!(request(&trimmed(&session.messages, &prepared.trims)) < WINDOW.effective());

    let mut reversed = PASSES;
    reversed.reverse();
    let reversed = run(Draft::new(&session.history(), Some(WINDOW), &settings), &reversed);
    assert!(tokens(&reversed.view) > WINDOW.tokens && tokens(&prepared.view) < WINDOW.effective());
}

/// Counts the bytes that are counted.
#[derive(Clone, Default)]
struct Work(Arc<AtomicU64>);

impl Work {
    fn take(&self) -> f64 {
        self.0.swap(0, Ordering::Relaxed) as f64
    }
}

impl TokenCounter for Work {
    fn text(&self, text: &str) -> u64 {
        self.0.fetch_add(text.len() as u64, Ordering::Relaxed);
        RoughTokens.text(text)
    }
}

#[test]
fn one_message_more_is_not_counted_with_all_the_others() {
    let mut session = Session::default();
    for n in 0..500 {
        let id = |part: &str| format!("{part}{n}");
        session.messages.push(Message::human(id("q"), "Look at it. ".repeat(20)));
        let tool = if n % 2 == 0 { "grep" } else { "read_file" };
        session.messages.extend(round(&id("w"), tool, &format!("{}", n % 300), 220));
        session.messages.push(Message::ai(id("a"), "It is good. ".repeat(20)));
    }
    let work = Work::default();
    let settings = ContextSettings { counter: Arc::new(work.clone()), ..ContextSettings::default() };
    let window = Some(ContextWindow::new(400_000, 20_000));
    let all: u64 = session.messages.iter().map(|message| work.message(message)).sum();
    let once = work.take();
    assert!((170_000..230_000).contains(&all) && session.messages.len() == 2_000, "{all}");

    let prepared = prepare(&session.history(), window, &settings);
    let cold = work.take() / once;
    let anchor = Anchor::new("reply", &Usage::of(prepared.tokens, 4), prepared.records.clone());
    let trims = prepared.trims.clone();
    session.apply(&trims, None);
    session.anchor = anchor;
    session.messages.extend([Message::ai("reply", "It is."), Message::human("next", "And this one?")]);
    let prepared = prepare(&session.history(), window, &settings);
    let warm = work.take() / once;
    println!("cold {cold:.2}, with one message more {warm:.3} of counting all");
    assert!(cold <= 3.0 && warm <= 0.2, "cold {cold}, with one message more {warm}");
    assert!(prepared.trims.is_empty());
}
