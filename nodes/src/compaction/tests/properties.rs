//! Properties that hold for any conversation.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// A message, or a call with its answers, of some letters.
fn turn() -> impl Strategy<Value = (u8, usize, usize)> {
    (0_u8..6, 1_usize..1_200, 1_usize..3)
}

fn messages_of(turns: Vec<(u8, usize, usize)>) -> Vec<Message> {
    let mut messages = Vec::new();
    for (n, (kind, letters, answers)) in turns.into_iter().enumerate() {
        match kind {
            0 => messages.push(Message::system(format!("s{n}"), "x".repeat(letters / 10))),
            1 | 2 => messages.push(human(&format!("h{n}"), letters)),
            3 => messages.push(Message::ai(format!("a{n}"), "y".repeat(letters))),
            _ => {
                let calls: Vec<_> = (0..answers)
                    .map(|call| ToolCall::new(format!("{n}.{call}"), "look", json!({})))
                    .collect();
                messages.push(Message::ai_with_calls(format!("a{n}"), "", calls.clone()));
                let answer =
                    |call: &ToolCall| Message::tool(format!("t{}", call.id), call, "z".repeat(letters));
                messages.extend(calls.iter().map(answer));
            }
        }
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn test_compaction_is_idempotent(turns in prop::collection::vec(turn(), 0..40)) {
        let (manager, messages) = (manager().threshold(3_000).target(1_500), messages_of(turns));
        let once = compacted(&manager, &messages, &[], "summary");
        let twice = compacted(&manager, &messages, &once, "another");
        prop_assert_eq!(view(&messages, &twice), view(&messages, &once));
    }

    #[test]
    fn no_call_and_no_answer_is_ever_alone(turns in prop::collection::vec(turn(), 0..40), then in prop::collection::vec(turn(), 0..40)) {
        let manager = manager().threshold(3_000).target(1_500).pin(|message| message.text().len() % 7 == 0);
        let messages = messages_of(turns.into_iter().chain(then).collect());
        let half = messages.len() / 2;
        let mut compactions = compacted(&manager, &messages[..half], &[], "first");
        compactions = compacted(&manager, &messages, &compactions, "second");
        let shown = view(&messages, &compactions);
        let all: HashSet<_> = shown.iter().map(|message| message.id().clone()).collect();
        let mut open: Vec<&str> = Vec::new();
        for message in &shown {
            if let Message::Tool(answer) = message {
                let at = open.iter().position(|id| *id == answer.tool_call_id);
                prop_assert!(at.is_some(), "{} answers nothing", answer.id);
                open.remove(at.unwrap_or_default());
                continue;
            }
            prop_assert!(open.is_empty(), "{:?} have no answer before {}", open, message.id());
            open = message.tool_calls().iter().map(|call| call.id.as_str()).collect();
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(all.len(), shown.len());
        let systems = |messages: &[Message]| messages.iter().filter(|message| matches!(message, Message::System(_))).count();
        prop_assert_eq!(systems(&shown), systems(&messages));
        prop_assert!(manager.count(&shown) <= manager.count(&messages));
    }

    #[test]
    fn whatever_fails_each_message_is_offered_until_a_model_summarised_it(
        rounds in prop::collection::vec((prop::collection::vec(turn(), 1..20), any::<bool>()), 1..8),
    ) {
        let manager = manager().threshold(3_000).target(1_500).pin(|message| message.text().len() % 7 == 0);
        let sizes: Vec<usize> = rounds.iter().map(|(turns, _)| turns.len()).collect();
        let fails: Vec<bool> = rounds.iter().map(|(_, fails)| *fails).collect();
        let all = messages_of(rounds.into_iter().flat_map(|(turns, _)| turns).collect());
        let (mut held, mut summarised): (Vec<Compaction>, Vec<String>) = (Vec::new(), Vec::new());
        let mut turns = 0;
        for (round, (size, fails)) in sizes.into_iter().zip(fails).enumerate() {
            turns += size;
            let is_said = |message: &&Message| {
                let id = message.id().as_str();
                let turn = id[1..].split('.').next().and_then(|turn| turn.parse::<usize>().ok());
                turn.is_some_and(|turn| turn < turns)
            };
            let messages: Vec<Message> = all.iter().filter(is_said).cloned().collect();
            let Some(plan) = manager.plan(&messages, &held) else { continue };
            let offered: Vec<String> = plan.material.iter().map(|message| message.id().to_string()).collect();
            prop_assert!(offered.iter().all(|id| !summarised.contains(id)));
            let id = format!("c{round}");
            let made = match fails {
                true => plan.without_summary(&id, "it is down"),
                false => plan.accept(&id, &reply("summary"), 0),
            };
            let Ok(made) = made else { continue };
            prop_assert!(made.tokens_after < made.tokens_before);
            prop_assert_eq!(made.summarised, (summarised.len() + offered.len()) as u64);
            prop_assert_eq!(made.pinned.iter().collect::<HashSet<_>>().len(), made.pinned.len());
            prop_assert_eq!(made.notes.iter().collect::<HashSet<_>>().len(), made.notes.len());
            if !fails {
                summarised.extend(offered);
                let covered = messages.iter().take_while(|message| *message.id() != made.through).count() + 1;
                let lost = messages[..covered].iter().filter(|message| {
                    let is_kept = matches!(message, Message::System(_)) || made.pinned.contains(message.id());
                    !is_kept && !summarised.iter().any(|id| id == message.id().as_str())
                });
                prop_assert_eq!(lost.count(), 0);
            }
            held.push(made);
            prop_assert_eq!(manager.count(&view(&messages, &held)), held[held.len() - 1].tokens_after);
        }
    }

    #[test]
    fn no_summary_is_shown_in_more_than_its_room(
        turns in prop::collection::vec(turn(), 5..40),
        summary in "[a-z]{1,9}([ a-z東京ä\n]{0,200}){0,30}",
        target in 100_u64..6_000,
        is_rough in any::<bool>(),
    ) {
        let manager = manager().threshold(6_000).target(target);
        let manager = if is_rough { manager.counter(RoughTokens).threshold(1_500) } else { manager };
        let messages = messages_of(turns);
        if let Some(plan) = manager.plan(&messages, &[]) {
            let made = [plan.accept("c", &reply(&summary), 0), plan.without_summary("c", "it is down")];
            for made in made.into_iter().flatten() {
                let shown = view(&messages, std::slice::from_ref(&made));
                let counter: &dyn TokenCounter = if is_rough { &RoughTokens } else { &Letters };
                prop_assert_eq!(manager.count(&shown), made.tokens_after);
                prop_assert!(made.tokens_after <= target.max(kept(counter, &shown) + 400));
            }
        }
    }
}
