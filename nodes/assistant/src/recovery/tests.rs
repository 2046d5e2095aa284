use proptest::prelude::*;

use super::*;

const BOTH: Circumstances = Circumstances { has_fallback: true, has_folds: true };
const NEITHER: Circumstances = Circumstances { has_fallback: false, has_folds: false };

const OVERFLOW: ModelFailure = ModelFailure::Overflow { tokens: None, limit: None };
const OVERLOADED: ModelFailure = ModelFailure::Overloaded { retry_after: None };

/// Returns the actions after the same failure again and again, up to the one that ends the run.
fn actions(failure: ModelFailure, circumstances: Circumstances) -> Vec<Action> {
    let mut recovery = Recovery::default();
    let mut actions = Vec::new();
    loop {
        let (after, action) = next(&recovery, failure, circumstances, &RecoveryOptions::default());
        actions.push(action);
        if let Action::Surface(_) = action {
            return actions;
        }
        recovery = after;
    }
}

fn waits(seconds: impl IntoIterator<Item = u64>) -> impl Iterator<Item = Action> {
    seconds.into_iter().map(|seconds| Action::Wait(Duration::from_secs(seconds)))
}

#[test]
fn s2_085_086_087_088_an_overflow_drains_compacts_once_and_is_surfaced() {
    let surfaced = Action::Surface(Exit::PromptTooLong);
    assert_eq!(actions(OVERFLOW, BOTH), [Action::DrainFolds, Action::CompactReactively, surfaced]);
    assert_eq!(actions(OVERFLOW, NEITHER), [Action::CompactReactively, surfaced]);
}

#[test]
fn s2_089_090_091_a_cut_off_reply_gets_more_room_once_and_is_continued_three_times() {
    let resume = Action::ResumeOutput;
    assert_eq!(
        actions(ModelFailure::Truncated, BOTH),
        [Action::Escalate(64_000), resume, resume, resume, Action::Surface(Exit::ModelError)]
    );
}

#[test]
fn s2_039_040_093_094_waits_grow_and_then_the_model_is_switched() {
    let surfaced = Action::Surface(Exit::ModelError);
    let alone: Vec<_> = waits([1, 2, 4]).chain([surfaced]).collect();
    assert_eq!(actions(OVERLOADED, NEITHER), alone);
    let both: Vec<_> =
        waits([1, 2, 4]).chain([Action::SwitchModel]).chain(waits([1, 2, 4])).chain([surfaced]).collect();
    assert_eq!(actions(OVERLOADED, BOTH), both);
    assert_eq!(actions(ModelFailure::RateLimited { retry_after: None }, BOTH), both);
    let unreachable: Vec<_> = waits([1, 2]).chain([surfaced]).collect();
    assert_eq!(actions(ModelFailure::Unreachable, NEITHER), unreachable);
}

#[test]
fn the_provider_says_how_long_a_wait_is_unless_it_is_too_long() {
    let asked = |seconds| ModelFailure::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
    assert_eq!(actions(asked(30), NEITHER)[0], Action::Wait(Duration::from_secs(30)));
    assert_eq!(actions(asked(3_600), BOTH), [Action::SwitchModel, Action::Surface(Exit::ModelError)]);
}

#[test]
fn what_a_wait_cannot_mend_is_not_waited_for() {
    let surfaced = Action::Surface(Exit::ModelError);
    assert_eq!(actions(ModelFailure::Unavailable, BOTH), [Action::SwitchModel, surfaced]);
    assert_eq!(actions(ModelFailure::Fatal, BOTH), [surfaced]);
    assert_eq!(actions(ModelFailure::Media, BOTH), [Action::StripMedia, Action::Surface(Exit::ImageError)]);
}

#[test]
fn s2_139_the_reactive_compaction_is_available_again_after_a_reply_and_a_new_message() {
    let used = next(&Recovery::default(), OVERFLOW, NEITHER, &RecoveryOptions::default()).0;
    let overflows = |recovery: &Recovery| next(recovery, OVERFLOW, NEITHER, &RecoveryOptions::default()).1;
    let surfaced = Action::Surface(Exit::PromptTooLong);
    for (reply, message, expected) in [
        (false, false, surfaced),
        (true, false, surfaced),
        (false, true, surfaced),
        (true, true, Action::CompactReactively),
    ] {
        let mut recovery = used.clone();
        if reply {
            recovery.after_reply();
        }
        if message {
            recovery.after_message();
        }
        assert_eq!(overflows(&recovery), expected, "reply {reply}, message {message}");
    }
}

fn failure() -> impl Strategy<Value = ModelFailure> {
    let retry_after = || prop::option::of((0_u64..1_000).prop_map(Duration::from_secs));
    prop_oneof![
        Just(OVERFLOW),
        Just(ModelFailure::Truncated),
        retry_after().prop_map(|retry_after| ModelFailure::Overloaded { retry_after }),
        retry_after().prop_map(|retry_after| ModelFailure::RateLimited { retry_after }),
        Just(ModelFailure::Unreachable),
        Just(ModelFailure::Unavailable),
        Just(ModelFailure::Media),
        Just(ModelFailure::Fatal),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whatever fails in whatever order, the run ends after a limited number of steps, no one-shot step is taken twice,
    /// and no wait is longer than the longest.
    #[test]
    fn recovery_ends(failures in prop::collection::vec(failure(), 40), has_fallback: bool, has_folds: bool) {
        let options = RecoveryOptions::default();
        let circumstances = Circumstances { has_fallback, has_folds };
        let mut recovery = Recovery::default();
        let mut taken = Vec::new();
        for failure in failures {
            let (after, action) = next(&recovery, failure, circumstances, &options);
            prop_assert!(!matches!(action, Action::Wait(wait) if wait > options.longest_wait));
            if let Action::Surface(_) = action {
                prop_assert_eq!(after, recovery, "an end uses nothing up");
                break;
            }
            prop_assert_ne!(&after, &recovery, "a step uses something up");
            taken.push(action);
            recovery = after;
        }
        let most = 2 * options.waits + 1 + 1 + 1 + 1 + 1 + options.resumes;
        prop_assert!(taken.len() <= most as usize, "{taken:?}");
        for once in [Action::SwitchModel, Action::DrainFolds, Action::CompactReactively, Action::StripMedia] {
            prop_assert!(taken.iter().filter(|action| **action == once).count() <= 1);
        }
    }
}
