//! The settings and their effects.

use super::*;
use crate::configuration::{Configurable, Configuration, Origin};
use crate::verification::{OnJudgeError, VerificationMode};

#[test]
fn s0_077_to_s0_084_these_are_the_names_and_the_defaults() {
    let shown = |key: &crate::configuration::Key<AgenticSettings>| {
        (key.name, (key.show)(&AgenticSettings::default()))
    };
    let shown: Vec<_> = AgenticSettings::KEYS.iter().map(shown).collect();
    let expected = [
        ("ENABLE_CONTEXT_COMPACTION", "true"),
        ("COMPACTION_THRESHOLD", "8000"),
        ("TARGET_AFTER_COMPACTION", "4000"),
        ("RECENT_MESSAGE_COUNT", "5"),
        ("ENABLE_VERIFICATION", "true"),
        ("VERIFICATION_QUALITY_THRESHOLD", "0.7"),
        ("MAX_REFINEMENT_ATTEMPTS", "3"),
        ("VERIFICATION_MODE", "standard"),
        ("ON_JUDGE_ERROR", "accept"),
        ("MAX_TOOL_ROUNDS", "5"),
    ];
    assert_eq!(shown, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn s0_085_a_bad_value_is_an_error_that_names_key_value_source_and_range() {
    for (name, value, allowed) in [
        ("ENABLE_CONTEXT_COMPACTION", "yes", "true or false"),
        ("COMPACTION_THRESHOLD", "1", "a whole number from 2 to 10000000"),
        ("TARGET_AFTER_COMPACTION", "-1", "a whole number from 1 to 10000000"),
        ("RECENT_MESSAGE_COUNT", "many", "a whole number from 0 to 1000"),
        ("ENABLE_VERIFICATION", "1", "true or false"),
        ("VERIFICATION_QUALITY_THRESHOLD", "NaN", "a number from 0 to 1"),
        ("MAX_REFINEMENT_ATTEMPTS", "21", "a whole number from 0 to 20"),
        ("VERIFICATION_MODE", "harsh", "strict, standard or lenient"),
        ("ON_JUDGE_ERROR", "ignore", "accept or fail"),
        ("MAX_TOOL_ROUNDS", "0", "a whole number from 1 to 100"),
    ] {
        let read =
            Configuration::<AgenticSettings>::new().variables(|key| (key == name).then(|| value.into()));
        let said = read.unwrap_err().to_string();
        assert_eq!(said, format!("{name} is `{value}` in the environment; say {allowed}"));
    }
}

#[test]
fn every_setting_is_taken() {
    let values = [
        ("ENABLE_CONTEXT_COMPACTION", "false"),
        ("COMPACTION_THRESHOLD", "100"),
        ("TARGET_AFTER_COMPACTION", "50"),
        ("RECENT_MESSAGE_COUNT", "2"),
        ("ENABLE_VERIFICATION", "false"),
        ("VERIFICATION_QUALITY_THRESHOLD", "0.25"),
        ("MAX_REFINEMENT_ATTEMPTS", "1"),
        ("VERIFICATION_MODE", "strict"),
        ("ON_JUDGE_ERROR", "fail"),
        ("MAX_TOOL_ROUNDS", "7"),
    ];
    let mut said = Configuration::<AgenticSettings>::new();
    for (name, value) in values {
        said = said.set(name, value).unwrap();
        assert_eq!(said.origin(name), &Origin::Code);
    }
    let expected = AgenticSettings {
        enable_context_compaction: false,
        compaction_threshold: 100,
        target_after_compaction: 50,
        recent_message_count: 2,
        enable_verification: false,
        verification_quality_threshold: 0.25,
        max_refinement_attempts: 1,
        verification_mode: VerificationMode::Strict,
        on_judge_error: OnJudgeError::Fail,
        max_tool_rounds: std::num::NonZeroU32::new(7).unwrap(),
    };
    assert_eq!(said.settings(), Ok(&expected));
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    let model = Arc::new(Scripted::new());
    let large = AgenticSettings { target_after_compaction: 8_000, ..AgenticSettings::default() };
    let error = config(&model).settings(large).unwrap_err().to_string();
    assert_eq!(
        error,
        "TARGET_AFTER_COMPACTION is `8000` in the program; say fewer tokens than COMPACTION_THRESHOLD, which is 8000"
    );
    // Whoever had set the threshold alone read of a setting of which nothing was said.
    let small = Configuration::<AgenticSettings>::new().set("compaction_threshold", "3000").unwrap();
    assert_eq!(
        small.settings().unwrap_err().to_string(),
        "TARGET_AFTER_COMPACTION is `4000` by default, and has to be set, too; say fewer tokens than COMPACTION_THRESHOLD, \
         which is 3000"
    );
    let least = small.set("compaction_threshold", "2").unwrap().set("target_after_compaction", "1").unwrap();
    assert!(least.settings().is_ok(), "the least threshold has a target");
    for bad in [
        AgenticSettings { verification_quality_threshold: f64::NAN, ..AgenticSettings::default() },
        AgenticSettings { max_refinement_attempts: 100_000, ..AgenticSettings::default() },
        AgenticSettings { recent_message_count: usize::MAX, ..AgenticSettings::default() },
    ] {
        let error = config(&model).settings(bad).unwrap_err().to_string();
        assert!(error.contains(" in the program; say "), "{error}");
    }
}
