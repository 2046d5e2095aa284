//! Tests of the messages that leave the state.

use super::*;

fn settings() -> ContextSettings {
    ContextSettings { horizon: 100, ..ContextSettings::default() }
}

fn work(session: &mut Session, rounds: std::ops::Range<usize>) {
    for n in rounds {
        session.messages.extend(round(&format!("w{n}"), "read_file", &format!("{n}.rs"), 30));
    }
}

/// Turns of two rounds, so of six messages.
fn long_turns(session: &mut Session, turns: std::ops::Range<usize>) {
    for n in turns {
        session.messages.push(Message::human(format!("q{n}"), "Look at both."));
        for part in ["first", "second"] {
            session.messages.extend(round(&format!("{part}{n}"), "read_file", &format!("{part}{n}.rs"), 300));
        }
        session.messages.push(Message::ai(format!("a{n}"), "They are good."));
    }
}

/// Prepares a session, and checks that the next view is the same when the snip is applied. Returns the ids of the view.
fn snipped(session: &mut Session, settings: &ContextSettings) -> (Snip, Vec<String>) {
    let Prepared { view, trims, snip, .. } = prepare(&session.history(), Some(WINDOW), settings);
    let (snip, ids, view) = (snip.expect("there are too many"), ids(&view), view.into_conversation());
    session.apply(&trims, Some(&snip));
    let resumed = prepare(&session.history(), Some(WINDOW), settings);
    assert!(resumed.snip.is_none() && resumed.view.into_conversation() == view);
    (snip, ids)
}

#[test]
fn s2_076_128_129_past_the_horizon_the_older_half_leaves_the_state_and_does_not_come_back() {
    let settings = ContextSettings { horizon: 200, ..ContextSettings::default() };
    let mut session =
        Session::of(vec![Message::system("rules", "Be brief."), Message::human("task", "Work.")]);
    for n in 0..100 {
        session.messages.extend(round(&format!("w{n}"), "read_file", &format!("{n}.rs"), 3));
    }
    session.record(&[Trim::whole("w0.result".into()), Trim::whole("w99.result".into())]);
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    let snip = prepared.snip.clone().unwrap();
    assert_eq!((snip.messages.len(), snip.snipped), (103, 100));
    assert_eq!(snip.trims, ["w0.result.whole"]);
    assert_eq!(
        ids(&prepared.view)[..4],
        ["snipped", "rules", "task", "w50.call"].map(str::to_owned)[..].to_vec()[..]
    );
    let (view, trims) = (prepared.view.into_conversation(), prepared.trims.clone());
    session.apply(&trims, Some(&snip));

    let stored = serde_json::to_string(&session.messages).unwrap();
    session.messages = serde_json::from_str(&stored).unwrap();
    let resumed = prepare(&session.history(), Some(WINDOW), &settings);
    assert!(resumed.snip.is_none() && resumed.view.into_conversation() == view);
}

#[test]
fn what_a_compaction_covers_leaves_the_state_without_a_change_of_the_view() {
    let settings = ContextSettings { horizon: 100, ..ContextSettings::default() };
    let mut session = Session::of(vec![Message::human("task", "Work.")]);
    for n in 0..45 {
        session.messages.extend(round(&format!("w{n}"), "read_file", &format!("{n}.rs"), 30));
    }
    assert!(session.compact(&ContextManager::new().threshold(100).recent(8), Some("They work.")));
    let before = prepare(&session.history(), Some(WINDOW), &settings);
    let (mut view, trims) = (before.view.into_conversation(), before.trims.clone());
    assert_eq!(trims[0].pass(), "boundary", "the task is not answered");
    session.apply(&trims, None);
    for n in 45..55 {
        let more = round(&format!("w{n}"), "read_file", &format!("{n}.rs"), 30);
        session.messages.extend(more.clone());
        view.extend(more);
    }
    let prepared = prepare(&session.history(), Some(WINDOW), &settings);
    let snip = prepared.snip.clone().unwrap();
    assert!(snip.messages.len() < 80 && snip.compactions.is_empty());
    assert_eq!(prepared.view.into_conversation(), view);
    session.apply(&prepared.trims.clone(), Some(&snip));
    assert_eq!(prepare(&session.history(), Some(WINDOW), &settings).view.into_conversation(), view);
}

#[test]
fn a_fold_leaves_the_state_as_a_whole() {
    let mut session = Session::default();
    long_turns(&mut session, 0..20);
    let settings = ContextSettings { horizon: 100, ..folding() };
    let folds = ContextSettings { horizon: 4_000, ..folding() };
    let trims = prepare(&session.history(), Some(WINDOW), &folds).trims;
    assert_eq!(trims.len(), 18);
    session.record(&trims);
    let (snip, ids) = snipped(&mut session, &settings);
    assert_eq!(ids[..3], ["snipped", "first11.call.fold", "a11"]);
    assert_eq!((snip.snipped, snip.trims.len()), (67, 11));
}

#[test]
fn a_fold_that_a_compaction_covers_in_part_stays_folded() {
    let mut session = Session::default();
    long_turns(&mut session, 0..20);
    let folds = ContextSettings { horizon: 4_000, ..folding() };
    let trims = prepare(&session.history(), Some(WINDOW), &folds).trims;
    session.record(&trims);
    assert!(session.compact(&ContextManager::new().threshold(100).recent(21), Some("They look.")));
    long_turns(&mut session, 20..27);
    let (_, ids) = snipped(&mut session, &ContextSettings { horizon: 100, ..folding() });
    assert_eq!(ids[..4], ["c0.summary", "first16.call.fold", "a16", "q17"]);
}

#[test]
fn a_question_that_was_answered_is_not_asked_again() {
    let mut session = Session::of(vec![Message::human("task", "Work."), Message::ai("said", "I do.")]);
    work(&mut session, 0..45);
    assert!(session.compact(&ContextManager::new().threshold(100).recent(8), Some("They work.")));
    work(&mut session, 45..55);
    let (snip, ids) = snipped(&mut session, &settings());
    assert_eq!(ids[..2], ["c0.summary", "w41.call"]);
    assert!(snip.snipped > 25);
}

#[test]
fn the_next_summary_continues_the_last_one_though_another_attempt_failed_since() {
    let mut session = Session::of(vec![Message::human("task", "Work.")]);
    let manager = ContextManager::new().threshold(100).recent(8);
    work(&mut session, 0..20);
    assert!(session.compact(&manager, Some("They work.")));
    work(&mut session, 20..45);
    assert!(session.compact(&manager, None));
    work(&mut session, 45..70);
    let (snip, ids) = snipped(&mut session, &settings());
    assert_eq!((ids[0].as_str(), &snip.compactions[..]), ("c1.summary", &[][..]));
    let plan = manager.plan(&session.messages, &session.compactions).unwrap();
    let asked = plan.request("r", 0).messages[0].text().into_owned();
    assert!(asked.contains("\"earlier_summary\": \"They work.\""), "{asked}");
}

#[test]
fn a_pinned_message_stays_before_the_first_compaction_with_its_answers() {
    let mut session =
        Session::of(vec![Message::human("fact", "The port is 8080."), Message::ai("ok", "Yes.")]);
    session.messages.push(Message::human("task", "Work."));
    work(&mut session, 0..60);
    let rules = ContextManager::new().pin(|message| ["fact", "w3.result"].contains(&message.id().as_str()));
    let settings = settings();
    let history = History { compaction: Some(&rules), ..session.history() };
    let Prepared { view, snip, trims, .. } = prepare(&history, Some(WINDOW), &settings);
    let (snip, view) = (snip.expect("there are too many"), view.into_conversation());
    let ids: Vec<_> = snip.messages.iter().map(|message| message.id().as_str()).collect();
    assert_eq!(ids[..5], ["snipped", "fact", "task", "w3.call", "w3.result"]);
    assert!(view.iter().any(|message| message.text() == "The port is 8080."));
    session.apply(&trims, Some(&snip));
    let history = History { compaction: Some(&rules), ..session.history() };
    let resumed = prepare(&history, Some(WINDOW), &settings);
    assert!(resumed.snip.is_none() && resumed.view.into_conversation() == view);
    assert!(session.compact(&rules.clone().threshold(100).recent(8), Some("They work.")));
    let compacted = prepare(&session.history(), Some(WINDOW), &settings).view.into_conversation();
    assert!(compacted.iter().any(|message| message.text() == "The port is 8080."), "pinned in it, too");
}
