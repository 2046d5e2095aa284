use serde_json::json;

use super::*;
use crate::message::{Message, ToolCall};
use crate::model::{ModelReply, RoughTokens, StopReason, TokenCounter};
use crate::prompt::{SummaryPrompt, material};

mod properties;

/// Counts letters.
struct Letters;

impl TokenCounter for Letters {
    fn text(&self, text: &str) -> u64 {
        text.chars().count() as u64
    }
}

fn human(id: &str, letters: usize) -> Message {
    Message::human(id, "x".repeat(letters))
}

fn manager() -> ContextManager {
    ContextManager::new().counter(Letters)
}

fn reply(text: &str) -> ModelReply {
    ModelReply::new("m", text)
}

/// The messages, compacted with this summary if they are to be.
fn compacted(
    manager: &ContextManager,
    messages: &[Message],
    held: &[Compaction],
    summary: &str,
) -> Vec<Compaction> {
    let made = manager.plan(messages, held).and_then(|plan| plan.accept("c", &reply(summary), 0).ok());
    held.iter().cloned().chain(made).collect()
}

/// Instructions of 2,000 tokens, 14 messages of 500 and 5 of 600: 12,000.
fn fixture() -> Vec<Message> {
    let of = |id: String, tokens: usize| {
        Message::human(id, "word ".repeat(tokens - 3)[..4 * (tokens - 3)].to_owned())
    };
    let system = Message::system("system", "rule ".repeat(2_000)[..4 * 1_997].to_owned());
    let earlier = (0..14).map(|n| of(format!("m{n}"), 500));
    let recent = (14..19).map(|n| of(format!("m{n}"), 600));
    [system].into_iter().chain(earlier).chain(recent).collect()
}

#[test]
fn s0_089_twenty_messages_of_12_000_tokens_are_shown_in_5_500() {
    let (manager, messages) = (ContextManager::new(), fixture());
    assert_eq!((messages.len(), manager.count(&messages)), (20, 12_000));
    let plan = manager.plan(&messages, &[]).unwrap();
    let compaction = plan.accept("c", &reply(&"fact ".repeat(400)[..1_900]), 0).unwrap();
    let shown = manager.count(&view(&messages, std::slice::from_ref(&compaction)));
    assert!((4_950..=6_050).contains(&shown), "{shown}");
    assert_eq!((compaction.tokens_before, compaction.tokens_after), (12_000, shown));
    assert!((0.4..=0.6).contains(&(1.0 - compaction.ratio())), "{}", compaction.ratio());
}

/// Conversations of 12,000 tokens, with messages of 600 to 1,200.
fn conversations() -> Vec<Vec<Message>> {
    let say = |id: String, tokens: usize| {
        Message::human(id, "word ".repeat(tokens - 3)[..4 * (tokens - 3)].to_owned())
    };
    let even = |count: usize| (0..count).map(|n| say(format!("m{n}"), 12_000 / count)).collect::<Vec<_>>();
    vec![even(10), even(12), even(15), fixture()]
}

#[test]
fn s0_017_a_compaction_takes_out_half_on_average() {
    let manager = ContextManager::new().target(6_000);
    let reduction = |messages: &Vec<Message>| {
        let plan = manager.plan(messages, &[]).unwrap();
        1.0 - plan.accept("c", &reply(&"fact ".repeat(500)[..2_000]), 0).unwrap().ratio()
    };
    let reductions: Vec<_> = conversations().iter().map(reduction).collect();
    let mean = reductions.iter().sum::<f64>() / reductions.len() as f64;
    assert!((0.4..=0.6).contains(&mean), "{mean}: {reductions:?}");
    // Of many short messages more is taken out, as those that stay are a smaller part.
    let short: Vec<Message> = (0..60).map(|n| Message::human(format!("m{n}"), "word ".repeat(160))).collect();
    assert!(reduction(&short) > 0.8);
}

#[test]
fn s0_092_without_compactions_the_window_is_full_after_25_messages_and_with_them_never() {
    const WINDOW: u64 = 15_000;
    let manager = ContextManager::new();
    let (mut messages, mut compactions): (Vec<Message>, Vec<Compaction>) = (Vec::new(), Vec::new());
    for n in 0..200 {
        messages.push(Message::human(format!("m{n}"), "word ".repeat(480)[..4 * 597].to_owned()));
        assert_eq!(manager.count(&messages) <= WINDOW, messages.len() <= 25, "{n}");
        if let Some(plan) = manager.plan(&messages, &compactions) {
            let compaction = plan.accept(&format!("c{n}"), &reply(&"fact ".repeat(400)), 0).unwrap();
            compactions.push(compaction);
        }
        assert!(manager.count(&view(&messages, &compactions)) <= WINDOW, "{n}");
    }
    assert!(compactions.len() > 10);
}

#[test]
fn test_compaction_triggers_correctly() {
    // Three tokens are for the frame of each message.
    let messages: Vec<Message> = (0..10).map(|n| human(&n.to_string(), 797)).collect();
    let manager = manager();
    assert_eq!((manager.count(&messages), manager.plan(&messages, &[]).is_none()), (8_000, true));
    let one_more: Vec<Message> = messages[1..].iter().cloned().chain([human("10", 798)]).collect();
    assert_eq!(manager.count(&one_more), 8_001);
    assert_eq!(manager.plan(&one_more, &[]).unwrap().summarised(), 5);
    let low = manager.clone().threshold(100);
    let short = |letters| {
        [human("0", 20), human("1", 20), human("2", 20), human("3", 5), human("4", 5), human("5", letters)]
    };
    assert!(low.plan(&short(12), &[]).is_none() && low.plan(&short(13), &[]).is_some());
}

#[test]
fn test_compaction_preserves_recent_messages() {
    let messages: Vec<Message> = (0..20).map(|n| human(&n.to_string(), 600 + n)).collect();
    let shown = view(&messages, &compacted(&manager(), &messages, &[], "s"));
    assert_eq!(shown[1..], messages[15..]);
    assert!(shown[0].text().starts_with("[Summary of 15 earlier messages, which are not shown]\ns"));
}

#[test]
fn s0_014_s0_019_system_messages_come_first_then_what_is_pinned_then_the_summary() {
    let mut messages = vec![Message::system("s1", "one"), human("task", 500), human("a", 4_000)];
    messages.extend([Message::system("s2", "two"), human("b", 4_000)]);
    messages.extend((0..5).map(|n| human(&format!("r{n}"), 10)));
    let manager = manager().pin(|message| message.id().as_str() == "task");
    let compactions = compacted(&manager, &messages, &[], "sum");
    let shown = view(&messages, &compactions);
    let ids: Vec<_> = shown.iter().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["s1", "s2", "task", "c.summary", "r0", "r1", "r2", "r3", "r4"]);
    assert_eq!(compactions[0].summarised, 2);

    // What is pinned stays when more is compacted.
    messages.extend((5..15).map(|n| human(&format!("r{n}"), 900)));
    let compactions = compacted(&manager, &messages, &compactions, "sum 2");
    assert_eq!(view(&messages, &compactions)[2], messages[1]);
    assert_eq!((compactions.len(), compactions[1].summarised), (2, 12));
}

#[test]
fn what_is_to_be_answered_is_shown_after_the_summary_though_it_is_covered() {
    let mut messages: Vec<Message> = (0..4).map(|n| human(&n.to_string(), 900)).collect();
    messages.push(human("question", 30));
    for round in 0..6 {
        let call = ToolCall::new("c", "look", json!({}));
        messages.push(Message::ai_with_calls(format!("a{round}"), "", vec![call.clone()]));
        messages.push(Message::tool_error(format!("t{round}"), &call, "y".repeat(900)));
    }
    let manager = manager().threshold(4_000).target(3_000).recent(2);
    let compactions = compacted(&manager, &messages, &[], "sum");
    let shown = view(&messages, &compactions);
    let ids: Vec<_> = shown.iter().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["c.summary", "question", "a5", "t5"]);
    assert_eq!(manager.count(&shown), compactions[0].tokens_after);
    assert_eq!(compactions[0].summarised, 15, "later it is represented by the summary");

    messages.push(human("next", 30));
    let shown = view(&messages, &compactions);
    let ids: Vec<_> = shown.iter().map(|message| message.id().as_str()).collect();
    assert_eq!(ids, ["c.summary", "a5", "t5", "next"]);
}

#[test]
fn where_hardly_anything_is_left_to_summarise_no_call_is_made() {
    let mut messages = vec![human("small", 100)];
    messages.extend((0..5).map(|n| human(&n.to_string(), 2_000)));
    assert!(manager().plan(&messages, &[]).is_none());
    messages[0] = human("larger", 600);
    assert_eq!(manager().plan(&messages, &[]).unwrap().summarised(), 1);
}

#[test]
fn s0_022_a_call_is_not_separated_from_its_answers() {
    let calls = ["a", "b"].map(|id| ToolCall::new(id, "look", json!({})));
    let mut messages: Vec<Message> = (0..9).map(|n| human(&n.to_string(), 900)).collect();
    messages.push(Message::ai_with_calls("asks", "", calls.to_vec()));
    messages.extend(calls.iter().map(|call| Message::tool(format!("r{}", call.id), call, "found")));
    messages.extend((9..13).map(|n| human(&n.to_string(), 10)));
    let shown = view(&messages, &compacted(&manager(), &messages, &[], "s"));
    assert_eq!(shown[1].id().as_str(), "asks");
    assert_eq!(shown.len(), 8);
}

#[test]
fn s0_020_where_nothing_is_older_than_the_recent_messages_nothing_is_compacted() {
    let large: Vec<Message> = (0..5).map(|n| human(&n.to_string(), 5_000)).collect();
    assert!(manager().plan(&large, &[]).is_none());
    let pinned: Vec<Message> = (0..9).map(|n| human(&n.to_string(), 5_000)).collect();
    assert!(manager().pin(|_| true).plan(&pinned, &[]).is_none());
}

#[test]
fn a_summary_that_is_no_use_is_not_taken() {
    let messages: Vec<Message> = (0..10).map(|n| human(&n.to_string(), 900)).collect();
    let manager = manager();
    let plan = manager.plan(&messages, &[]).unwrap();
    assert_eq!(plan.accept("c", &reply(" \n"), 0), Err(Unaccepted::Blank));
    let cut = ModelReply { stop: StopReason::MaxTokens, ..reply("half a") };
    assert_eq!(plan.accept("c", &cut, 0), Err(Unaccepted::CutShort(StopReason::MaxTokens)));

    // One that makes it no shorter leaves notes, if those do, and otherwise nothing.
    let manager = manager.threshold(300).recent(2);
    for (letters, is_shorter_with_notes) in [(120, true), (40, false)] {
        let messages = [human("0", letters), human("1", 300), human("2", 300)];
        let plan = manager.plan(&messages, &[]).unwrap();
        let (before, longer) = (manager.count(&messages), plan.accept("c", &reply(&"y".repeat(200)), 0));
        let longer = longer.unwrap_err();
        assert!(
            matches!(longer, Unaccepted::NotShorter { before: b, after } if b == before && after > b),
            "{longer}"
        );
        assert_eq!(plan.without_summary("c", longer.to_string()).is_ok(), is_shorter_with_notes);
    }
}

/// Returns the number of tokens of a view without the summary.
fn kept(counter: &dyn TokenCounter, shown: &[Message]) -> u64 {
    let kept = shown.iter().filter(|message| !message.id().as_str().ends_with(".summary"));
    kept.map(|message| counter.message(message)).sum()
}

#[test]
fn s0_079_after_a_compaction_there_are_no_more_tokens_than_the_target_whatever_the_summary_is() {
    // The target was told to the summariser in words, and nothing else came of it.
    const ROOM: u64 = 400;
    let mut messages: Vec<Message> =
        (0..20).map(|n| Message::human(format!("m{n}"), "word ".repeat(600))).collect();
    messages[3] = Message::human("m3", "We agreed on Rust. ".repeat(200));
    let texts = ["a fact ", "事実と数字。", "a fact, 事実, 🦀 "];
    let lengths = [1, 10, 100, 1_000, 20_000];
    let ends = format!("{}END", "x".repeat(30));
    for (text, length, target) in texts
        .iter()
        .flat_map(|text| lengths.iter().flat_map(move |n| [1_000, 4_000, 5_200].map(|t| (text, *n, t))))
    {
        let manager = ContextManager::new().target(target);
        let plan = manager.plan(&messages, &[]).unwrap();
        let written = format!("BEGIN {}{ends}", text.repeat(length));
        let made = plan.accept("c", &reply(&written), 0).unwrap();
        let shown = view(&messages, std::slice::from_ref(&made));
        let most = target.max(kept(&RoughTokens, &shown) + ROOM);
        assert_eq!(manager.count(&shown), made.tokens_after);
        assert!(made.tokens_after <= most, "{} of {most}: {length} times {text}", made.tokens_after);
        match made.summary == written {
            true => assert!(!made.summary.contains('…')),
            // Not much of the room is wasted, and the rest is not taken for the whole.
            false => {
                assert!(
                    made.tokens_after + most / 20 > most,
                    "{} of {most}: {length} times {text}",
                    made.tokens_after
                );
                assert!(
                    made.summary.starts_with("BEGIN ") && made.summary.ends_with("END"),
                    "{}",
                    made.summary
                );
                assert!(made.summary.contains(" characters left out …]"), "{}", made.summary);
            }
        }
        assert!(made.summary == written || length > 10, "{length} times {text}");
        assert!(made.summary != written || length < 20_000, "{length} times {text}");
    }
}

#[test]
fn an_earlier_summary_that_no_longer_fits_is_shown_in_short_only_until_the_next() {
    let mut messages: Vec<Message> = (0..10).map(|n| human(&n.to_string(), 900)).collect();
    let manager = manager().target(6_500);
    let long = "fact ".repeat(200).trim().to_owned();
    let mut held = compacted(&manager, &messages, &[], &long);
    assert_eq!(held[0].summary, long);
    messages.extend((10..15).map(|n| human(&n.to_string(), 2_000)));
    let made = manager.plan(&messages, &held).unwrap().without_summary("n", "it is down").unwrap();
    assert!(made.summary.len() < long.len(), "{}", made.summary);
    held.push(made);
    messages.extend((15..20).map(|n| human(&n.to_string(), 100)));
    let plan = manager.plan(&messages, &held).unwrap();
    let asked: SummaryPrompt = material(&plan.request("r", 0)).unwrap();
    assert_eq!(asked.earlier_summary, Some(long));
}

#[test]
fn test_summarization_captures_key_info() {
    let mut messages: Vec<Message> = (0..9).map(|n| human(&n.to_string(), 200)).collect();
    let manager = manager().threshold(1_500).target(1_500);
    messages[2] = Message::human("2", format!("{}.\nDecision: we store times in UTC.\nOk.", "x".repeat(200)));
    messages[3] = Message::ai("3", "The deploy failed with the error E42.\nBye.");
    let compactions = compacted(&manager, &messages, &[], "Nothing of note.");
    let expected = ["Decision: we store times in UTC.", "The deploy failed with the error E42."];
    assert_eq!(compactions[0].notes, expected);
    let shown = view(&messages, &compactions);
    assert!(
        shown[0].text().contains("Noted word for word:\n- Decision: we store times in UTC."),
        "{shown:?}"
    );

    // They are still there after the next compaction.
    messages.extend((9..20).map(|n| human(&n.to_string(), 200)));
    let compactions = compacted(&manager, &messages, &compactions, "Nothing again.");
    assert_eq!(compactions[1].notes, expected);
}

#[test]
fn without_a_model_what_was_noted_stands_in_its_place() {
    let mut messages: Vec<Message> = (0..10).map(|n| human(&n.to_string(), 900)).collect();
    let manager = manager();
    let by_nobody = |messages: &[Message], held: &[Compaction]| {
        manager.plan(messages, held).unwrap().without_summary("c", "it is down").unwrap()
    };
    let compaction = by_nobody(&messages, &[]);
    let shown = view(&messages, &[compaction])[0].text().into_owned();
    assert_eq!(shown, "[5 earlier messages are not shown and not summarised]");

    messages[1] = Message::human("1", "We agreed on Rust.");
    let compaction = by_nobody(&messages, &[]);
    assert_eq!(compaction.by, Summariser::Nobody { reason: "it is down".into() });
    let shown = view(&messages, &[compaction])[0].text().into_owned();
    let head = "[5 earlier messages are not shown and not summarised; only what follows was noted]";
    assert_eq!(shown, format!("{head}\n\nNoted word for word:\n- We agreed on Rust."));

    // A summary that a model wrote before stays, and is not said to be of all.
    let mut held = compacted(&manager, &messages, &[], "They talk.");
    messages.extend((10..20).map(|n| human(&n.to_string(), 900)));
    held.push(by_nobody(&messages, &held));
    let shown = view(&messages, &held)[0].text().into_owned();
    let head = "[15 earlier messages are not shown; only the first of them are summarised, and of the others only lines noted]";
    assert_eq!(shown, format!("{head}\nThey talk.\n\nNoted word for word:\n- We agreed on Rust."));
}

#[test]
fn an_unsummarised_part_is_summarised_next_time() {
    // One summary that was of no use dropped its part of the conversation for good: the next plan began after it.
    let mut messages: Vec<Message> = (0..10).map(|n| human(&n.to_string(), 900)).collect();
    messages[1] = Message::human("1", "We agreed on Rust.");
    let manager = manager().pin(|message| message.id().as_str() == "2");
    let mut held = Vec::new();
    for (round, seen) in [(0, 4), (1, 14), (2, 24)] {
        let plan = manager.plan(&messages, &held).unwrap();
        assert_eq!((plan.shown(), plan.summarised()), (seen, seen as u64));
        let again = manager.plan(&messages, &held).unwrap();
        assert_eq!(again.request("r", 0), plan.request("r", 0));
        let made = plan.without_summary(&format!("c{round}"), "it is down").unwrap();
        assert_eq!(made.notes, ["We agreed on Rust."], "noted once");
        assert_eq!(made.pinned, [messages[2].id().clone()], "pinned once");
        held.push(made);
        assert_eq!(manager.count(&view(&messages, &held)), held[round].tokens_after);
        assert!(manager.plan(&messages, &held).is_none(), "it is short enough");
        let next = messages.len()..messages.len() + 10;
        messages.extend(next.map(|n| human(&n.to_string(), 900)));
    }
    let before = manager.count(&view(&messages, &held));
    let plan = manager.plan(&messages, &held).unwrap();
    let made = plan.accept("c3", &reply("They talk."), 0).unwrap();
    assert_eq!((plan.shown(), made.summarised, made.tokens_before), (34, 34, before));
    held.push(made);
    let ids: Vec<_> = view(&messages, &held).iter().map(|message| message.id().to_string()).collect();
    assert_eq!(ids, ["2", "c3.summary", "35", "36", "37", "38", "39"]);

    // From then on only what is new is summarised.
    messages.extend((40..50).map(|n| human(&n.to_string(), 900)));
    let plan = manager.plan(&messages, &held).unwrap();
    assert_eq!((plan.shown(), plan.summarised()), (10, 44));
}

#[test]
fn without_new_messages_no_model_is_asked_again_for_an_unsummarised_part() {
    let mut messages: Vec<Message> = (0..5).map(|n| human(&n.to_string(), 900)).collect();
    messages.extend((5..10).map(|n| human(&n.to_string(), 2_000)));
    let manager = manager();
    let held = [manager.plan(&messages, &[]).unwrap().without_summary("c", "it is down").unwrap()];
    assert!(manager.count(&view(&messages, &held)) > manager.limit(), "the last messages alone are too long");
    assert!(manager.plan(&messages, &held).is_none());
    messages.push(human("10", 2_000));
    assert_eq!(manager.plan(&messages, &held).unwrap().shown(), 6);
}

#[test]
fn a_compaction_that_is_taken_back_has_changed_nothing() {
    let messages: Vec<Message> = (0..20).map(|n| human(&n.to_string(), 1_000)).collect();
    let mut compactions = compacted(&manager(), &messages[..16], &[], "first");
    let before = view(&messages, &compactions);
    compactions = compacted(&manager(), &messages, &compactions, "second");
    assert_eq!(compactions.len(), 2);
    compactions.pop();
    assert!(view(&messages, &compactions) == before);
    assert!(view(&messages, &[]) == messages);
}
