//! Properties that hold for any conversation.

use proptest::prelude::*;

use super::*;

/// A part of a conversation: its kind, its length in letters, the number of calls, their target, and a picture.
type Step = (u8, usize, usize, u8, bool);

fn step() -> impl Strategy<Value = Step> {
    (0_u8..10, 1_usize..2_000, 1_usize..4, 0_u8..3, any::<bool>())
}

fn add(messages: &mut Vec<Message>, number: usize, (kind, letters, calls, target, is_picture): Step) {
    let mut content = Content::text("word ".repeat(letters / 5 + 1));
    if is_picture {
        content.push(Part::Image(Image::url("u")));
    }
    match kind {
        0 => messages.push(Message::system(format!("s{number}"), "rule ".repeat(letters / 100))),
        1 | 2 => messages.push(Message::human(format!("h{number}"), content)),
        3 | 4 => messages.push(Message::ai(format!("a{number}"), "y".repeat(letters))),
        _ => {
            let tool = ["read_file", "edit_file", "grep", "bash", "glob"][usize::from(kind - 5)];
            let calls = (0..calls).map(|at| call(&format!("{number}.{at}"), tool, &format!("{target}")));
            let calls: Vec<ToolCall> = calls.collect();
            messages.push(Message::ai_with_calls(format!("a{number}"), "", calls.clone()));
            let answer = |call: &ToolCall| Message::tool(format!("t{}", call.id), call, content.clone());
            messages.extend(calls.iter().map(answer));
        }
    }
}

fn session(steps: &[Step]) -> Session {
    let mut messages = vec![Message::human("task", "Work.")];
    steps.iter().enumerate().for_each(|(number, step)| add(&mut messages, number, *step));
    Session::of(messages)
}

fn settings() -> ContextSettings {
    ContextSettings {
        results: ResultLimits { per_result: 1_500, per_message: 2_500, ..ResultLimits::default() },
        horizon: 100,
        recent_results: 3,
        fold: Some(1),
        ..ContextSettings::default()
    }
}

const SMALL: ContextWindow = ContextWindow::new(7_000, 2_000);

fn manager() -> ContextManager {
    ContextManager::new().threshold(500).target(1_000).recent(6)
}

/// Checks that each call has one answer behind it.
fn assert_answered(view: &[Message]) -> Result<(), TestCaseError> {
    let mut open: Vec<&str> = Vec::new();
    for message in view {
        match message {
            Message::Tool(answer) => {
                let at = open.iter().position(|id| *id == answer.tool_call_id);
                prop_assert!(at.is_some(), "{} answers nothing", answer.id);
                open.remove(at.unwrap_or_default());
            }
            Message::Human(_) | Message::Ai(_) => {
                prop_assert!(open.is_empty(), "{:?} before {}", open, message.id())
            }
            Message::System(_) => {}
        }
        open.extend(message.tool_calls().iter().map(|call| call.id.as_str()));
    }
    prop_assert!(open.is_empty(), "{:?}", open);
    Ok(())
}

fn owned(view: &View<'_>) -> Vec<Message> {
    view.iter().map(|message| message.clone().into_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn s2_057_the_passes_are_idempotent_and_never_add_tokens_and_leave_each_call_its_answer(
        steps in prop::collection::vec(step(), 0..90), compacted_at in prop::option::of(0_usize..90),
    ) {
        let settings = settings();
        let mut session = session(&steps[..compacted_at.unwrap_or(0).min(steps.len())]);
        if compacted_at.is_some() {
            session.compact(&manager(), Some("They work."));
        }
        for (number, step) in steps.iter().enumerate().skip(compacted_at.unwrap_or(0)) {
            add(&mut session.messages, number, *step);
        }
        let before = tokens(&view(&session.messages, &session.compactions));
        let first = prepare(&session.history(), Some(SMALL), &settings);
        let (shown, count, trims, snip) = (owned(&first.view), first.tokens, first.trims.clone(), first.snip.clone());
        prop_assert_eq!(count, tokens(&shown) + 100);
        prop_assert!(tokens(&shown) <= before, "{} of {}", tokens(&shown), before);
        assert_answered(&shown)?;
        for message in shown.iter().filter(|message| matches!(message, Message::Tool(_))) {
            prop_assert!(message.text().chars().count() <= 1_500, "s2_190: {}", message.id());
        }
        session.apply(&trims, snip.as_ref());
        let second = prepare(&session.history(), Some(SMALL), &settings);
        prop_assert_eq!(&second.trims, &[]);
        prop_assert!(second.snip.is_none() && second.tokens == count);
        prop_assert_eq!(owned(&second.view), shown);
    }

    /// The tokens are those of the whole view, though only what came since the last reply was counted.
    #[test]
    fn s2_193_a_view_begins_with_the_one_before_unless_something_was_recorded(
        turns in prop::collection::vec((prop::collection::vec(step(), 1..6), 0_u8..12), 1..25),
    ) {
        let settings = settings();
        let mut session = session(&[]);
        let (mut earlier, mut number): (Vec<Message>, usize) = (Vec::new(), 0);
        for (steps, event) in turns {
            let summary = (event == 0).then_some("They work.");
            let is_compacted = event < 2 && session.compact(&manager(), summary);
            let prepared = prepare(&session.history(), Some(SMALL), &settings);
            let shown = owned(&prepared.view);
            let is_recorded = is_compacted || !prepared.trims.is_empty() || prepared.snip.is_some();
            prop_assert!(is_recorded || shown.starts_with(&earlier));
            prop_assert_eq!(prepared.tokens, tokens(&shown) + 100);
            let reply = Message::ai(format!("reply{number}"), "Good.");
            let usage = Usage::of(prepared.tokens, RoughTokens.message(&reply));
            let anchor = Anchor::new(reply.id().clone(), &usage, prepared.records.clone());
            let (trims, snip) = (prepared.trims.clone(), prepared.snip.clone());
            session.apply(&trims, snip.as_ref());
            session.anchor = anchor;
            session.messages.push(reply.clone());
            earlier = shown.into_iter().chain([reply]).collect();
            for step in steps {
                number += 1;
                add(&mut session.messages, number, step);
            }
        }
    }

    #[test]
    fn removing_all_records_shows_the_messages_again(steps in prop::collection::vec(step(), 0..60)) {
        let settings = ContextSettings { horizon: 1_000, ..settings() };
        let mut session = session(&steps);
        let trims = prepare(&session.history(), Some(SMALL), &settings).trims;
        session.record(&trims);
        let drained = drain_folds(&session.history(), &settings);
        session.record(&drained);
        let pictures = leave_out_pictures(&session.history(), &settings);
        session.record(&pictures);
        assert_answered(&owned(&prepare(&session.history(), None, &settings).view))?;
        let ids: Vec<String> = session.trims.iter().map(|trim| trim.id.clone()).collect();
        KeyedLog::reduce(&mut session.trims, LogWrite::remove(ids));
        prop_assert!(session.trims.is_empty());
        prop_assert_eq!(trimmed(&session.messages, &session.trims), session.messages);
    }
}
