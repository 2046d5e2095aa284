//! Profiles and canaries.

use super::*;
use crate::verification::VerificationMode;

#[test]
fn s0_110_s0_112_the_profiles_are_those_of_a_rollout() {
    let development = Profile::Development.settings(None);
    assert!(development.enable_context_compaction && development.enable_verification);
    for user in [None, Some("user-1")] {
        let full = Profile::Full.settings(user);
        assert!(full.enable_context_compaction && full.enable_verification, "{user:?}");
        assert_eq!(full.verification_mode, VerificationMode::Standard);
    }
    for profile in Profile::ALL {
        assert_eq!(profile.to_string().parse(), Ok(profile));
    }
    let error = "Full".parse::<Profile>().unwrap_err().to_string();
    assert_eq!(error, "`Full` is not a profile; use development, canary or full");
}

#[test]
fn s0_111_the_canary_is_one_user_in_ten_and_the_same_ones_each_time() {
    let ids: Vec<_> = (0..10_000).map(|number| format!("user-{number}")).collect();
    let on = |id: &String| Profile::Canary.settings(Some(id)).enable_verification;
    let first: Vec<_> = ids.iter().map(on).collect();
    let count = first.iter().filter(|on| **on).count();
    assert!((900..=1_100).contains(&count), "{count}");
    assert_eq!(first, ids.iter().map(on).collect::<Vec<_>>());
    // What is decided today holds for those who were decided on before: another way to part users would show here.
    assert_eq!(
        ids.iter().take(20).filter(|id| on(id)).collect::<Vec<_>>(),
        ["user-2", "user-4", "user-8", "user-11"]
    );

    let settings = Profile::Canary.settings(ids.iter().find(|id| on(id)).map(String::as_str));
    assert_eq!(settings.verification_mode, VerificationMode::Lenient);
    assert!(settings.enable_context_compaction);
    let other = Profile::Canary.settings(None);
    assert!(!other.enable_context_compaction && !other.enable_verification);
    assert!(Canary::percent(100).includes("anybody") && !Canary::percent(0).includes("anybody"));
}

#[tokio::test]
async fn a_thread_of_one_part_continues_in_the_other() {
    let saver = MemorySaver::new();
    let answer = |with: bool| {
        let model = Scripted::new()
            .say("Yes.")
            .say("Yes.")
            .on(Purpose::Verifier, json_turns([judged(1.0), judged(1.0)]));
        let settings = AgenticSettings {
            enable_context_compaction: with,
            enable_verification: with,
            ..AgenticSettings::default()
        };
        let config = AgenticConfig::new(model).settings(settings).unwrap();
        agentic(config).unwrap().checkpointer(saver.clone())
    };
    turn(&answer(false), AgenticState::ask("One?")).await;
    let (state, ran) = turn(&answer(true), AgenticState::ask("Two?")).await;
    assert_eq!((state.messages.len(), ran.as_str()), (4, "compact,router,respond,verify"));
    let (state, _) = turn(&answer(false), AgenticState::ask("Three?")).await;
    assert_eq!(state.messages.len(), 6);
}
