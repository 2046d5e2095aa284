use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::Message;
use crate::model::ModelReply;

fn score(number: f64) -> Score {
    Score::new(number).unwrap()
}

fn submission(response: &str) -> Submission {
    Submission {
        request: "What does a fork copy?".into(),
        response: response.into(),
        ..Submission::default()
    }
}

/// A judgement that gives these scores, one for each criterion.
fn judgement(scores: [f64; 6]) -> Judgement {
    let findings = VerificationCriterion::ALL.into_iter().zip(scores);
    let finding =
        |(criterion, number)| Finding { criterion, finding: "So it is.".into(), score: score(number) };
    Judgement {
        findings: findings.map(finding).collect(),
        critical_issues: Vec::new(),
        suggestions: Vec::new(),
        feedback: "Name the file.".into(),
    }
}

fn judged(verifier: &OutputVerifier, judgement: Judgement) -> VerificationResult {
    verifier.judged(judgement, &ModelReply::new("judge", "{}"))
}

fn record(turn: u32, attempt: u32, response: &str, result: VerificationResult) -> Verification {
    Verification {
        turn,
        attempt,
        message: format!("m{turn}.{attempt}").into(),
        response: response.into(),
        result,
    }
}

#[test]
fn s0_030_to_s0_036_there_are_six_criteria_with_these_names() {
    let names = VerificationCriterion::ALL.map(|criterion| serde_json::to_value(criterion).unwrap());
    assert_eq!(
        json!(names),
        json!(["accuracy", "completeness", "clarity", "relevance", "safety", "sources"])
    );
    assert_eq!(json!(VerificationCriterion::ALL.map(VerificationCriterion::as_str)), json!(names));
}

#[test]
fn test_llm_as_judge_scoring() {
    let result = judged(&OutputVerifier::new(), judgement([0.9, 0.8, 0.7, 0.6, 1.0, 0.5]));
    assert_eq!((result.passed, result.score, result.threshold), (Some(true), Some(score(0.75)), score(0.7)));
    assert_eq!(result.scores[&VerificationCriterion::Sources], score(0.5));
    assert!(
        matches!(&result.by, VerifiedBy::Judge { model, prompt, .. } if model == "judge" && prompt.len() == 16)
    );

    // Six times the threshold is the threshold, whatever its sum in floating-point numbers.
    let result = judged(&OutputVerifier::new(), judgement([0.7; 6]));
    assert_eq!((result.score, result.requires_refinement()), (Some(score(0.7)), false));
    assert!(judged(&OutputVerifier::new(), judgement([0.69; 6])).requires_refinement());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn test_verification_threshold_consistency(
        response in any::<String>(),
        threshold in 0.0..=1.0_f64,
        scores in prop_oneof![prop::array::uniform6(0.0..=1.0_f64), (0.0..=1.0_f64).prop_map(|same| [same; 6])],
        mode in prop::sample::select(&VerificationMode::ALL),
        is_critical in prop::bool::weighted(0.2),
    ) {
        let verifier = OutputVerifier::new().threshold(score(threshold)).mode(mode);
        let mut judgement = judgement(scores);
        judgement.critical_issues.extend(is_critical.then(|| "It harms.".to_owned()));
        let result = judged(&verifier, judgement);
        let reached = result.score.unwrap() >= verifier.pass_threshold();
        prop_assert_eq!(result.threshold, verifier.pass_threshold());
        prop_assert_eq!(result.passed, Some(reached && !is_critical));
        prop_assert_eq!(result.requires_refinement(), !reached || is_critical);
        prop_assert!(!result.requires_refinement() || !result.feedback.trim().is_empty());
        // It is the same when it is read back from a state.
        let record = record(1, 1, &response, result);
        let json = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verification>(&json).unwrap(), record);
    }
}

#[test]
fn s0_042_the_threshold_and_the_mode_decide() {
    let passes = |threshold, mode| {
        let verifier = OutputVerifier::new().threshold(score(threshold)).mode(mode);
        judged(&verifier, judgement([0.65; 6])).passed == Some(true)
    };
    let modes = VerificationMode::ALL;
    assert_eq!(modes.map(|mode| passes(0.7, mode)), [false, false, true]);
    assert_eq!(modes.map(|mode| passes(0.65, mode)), [false, true, true]);
    assert_eq!(modes.map(|mode| passes(0.5, mode)), [true, true, true]);
}

#[test]
fn s0_045_a_critical_issue_refuses_a_response_of_any_score() {
    let mut harmful = judgement([1.0; 6]);
    harmful.critical_issues = vec![" ".into(), "It tells a password.".into()];
    harmful.feedback = String::new();
    let result = judged(&OutputVerifier::new(), harmful.clone());
    assert_eq!((result.passed, result.score), (Some(false), Some(Score::ONE)));
    assert_eq!((result.critical_issues.len(), result.feedback.as_str()), (1, "It tells a password."));
    harmful.critical_issues.pop();
    assert_eq!(judged(&OutputVerifier::new(), harmful).passed, Some(true));
}

#[tokio::test]
async fn test_verification_feedback_quality() {
    // A judge whose feedback is blank has found something all the same.
    let mut silent = judgement([0.2, 0.2, 1.0, 1.0, 0.2, 0.2]);
    silent.feedback = "\n".into();
    silent.findings[1].finding = " ".into();
    let result = judged(&OutputVerifier::new(), silent);
    let lines: Vec<_> = result.feedback.lines().collect();
    assert_eq!(lines[..2], ["accuracy is only 0.20: So it is.", "completeness is only 0.20"]);
    assert_eq!(lines.len(), 4);

    // Rules say what to do, all that are broken, and one that says nothing is named.
    let verifier = OutputVerifier::new()
        .rule(PredicateRule::new("polite", |it: &Submission| match it.response.contains("please") {
            true => Ok(()),
            false => Err("Say please.".to_owned()),
        }))
        .rule(PredicateRule::new("quiet", |_: &Submission| Err(String::new())));
    let result = verifier.check_rules(&submission("No.")).await.unwrap();
    assert_eq!(result.feedback, "Say please.\nThe response breaks the rule `quiet`.");
    assert_eq!(result.critical_issues.len(), 2);
}

#[tokio::test]
async fn test_rules_based_validation() {
    let short = |name: &str, most: usize| {
        PredicateRule::new(name.to_owned(), move |it: &Submission| match it.response.len() <= most {
            true => Ok(()),
            false => Err(format!("Use {most} letters at most.")),
        })
    };
    let verifier = OutputVerifier::new().rule(short("short", 10)).rule(short("shorter", 5)).without_judge();
    assert!(!verifier.asks_judge() && verifier.has_rules());
    let broken = verifier.check_rules(&submission("1234567")).await.unwrap();
    assert_eq!((broken.passed, broken.score), (Some(false), Some(score(0.5))));
    let by =
        VerifiedBy::Rules { checked: vec!["short".into(), "shorter".into()], broken: vec!["shorter".into()] };
    assert_eq!(broken.by, by);
    let kept = verifier.check_rules(&submission("12345")).await.unwrap();
    assert_eq!((kept.passed, kept.score, kept.feedback.as_str()), (Some(true), Some(Score::ONE), ""));

    // A broken rule refuses also where the share of the others would be enough.
    let lenient = verifier.threshold(score(0.1));
    assert_eq!(lenient.check_rules(&submission("1234567")).await.unwrap().passed, Some(false));
}

#[test]
fn s0_136_s0_137_a_judge_is_asked_by_default() {
    assert!(OutputVerifier::new().asks_judge());
    assert!(OutputVerifier::new().rule(CitationRule::new()).asks_judge());
    assert!(!OutputVerifier::new().without_judge().asks_judge());
    assert!(!OutputVerifier::new().criteria([]).asks_judge());
    assert_eq!(OutputVerifier::new().pass_threshold(), score(0.7));
    assert_eq!(OutputVerifier::new().judge_error_policy(), OnJudgeError::Accept);
}

#[test]
fn a_judge_is_asked_about_the_criteria_that_are_wanted_each_once() {
    use VerificationCriterion::{Safety, Sources};
    let verifier = OutputVerifier::new().criteria([Sources, Safety, Sources]);
    assert_eq!(verifier.prompt(submission("r")).criteria, [Sources, Safety]);
}

#[test]
fn a_verdict_says_whether_the_response_of_the_turn_was_accepted() {
    let verifier = OutputVerifier::new();
    let refused = || judged(&verifier, judgement([0.2; 6]));
    let accepted = || judged(&verifier, judgement([0.9; 6]));
    let mut held = vec![record(1, 1, "a", refused()), record(1, 2, "b", accepted())];
    assert_eq!(Verdict::of(&held, 1), Verdict::Verified(held[1].clone()));
    assert_eq!(Verdict::of(&held, 2), Verdict::Unchecked);

    held.extend([record(2, 1, "a", refused()), record(2, 2, "b", refused())]);
    let why = |held: &[Verification]| match Verdict::of(held, 2) {
        Verdict::Unverified { last, why } if last == held[held.len() - 1] => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&held), WhyUnverified::AttemptsUsedUp { refused: 2 });
    assert_eq!(why(&held).to_string(), "none of 2 responses was accepted");
    let again = VerificationResult { by: VerifiedBy::Earlier { attempt: 1 }, ..refused() };
    held.push(record(2, 3, "a", again));
    assert_eq!(why(&held), WhyUnverified::NoProgress);
    held.push(record(2, 4, "c", verifier.unjudged("the model is gone")));
    assert_eq!(why(&held), WhyUnverified::NotJudged { reason: "the model is gone".into() });
    let json = serde_json::to_string(&Verdict::of(&held, 2)).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), Verdict::of(&held, 2));
}

#[test]
fn the_best_candidate_has_nothing_critical_and_then_the_highest_score_and_of_equals_is_the_latest() {
    let verifier = OutputVerifier::new();
    let of = |scores| judged(&verifier, judgement(scores));
    let critical = VerificationResult { critical_issues: vec!["It harms.".into()], ..of([1.0; 6]) };
    let held = [
        record(1, 1, "other turn", of([0.9; 6])),
        record(2, 1, "critical", critical),
        record(2, 2, "better", of([0.4; 6])),
        record(2, 3, "as good", of([0.4; 6])),
        record(2, 4, "worse", of([0.1; 6])),
        record(2, 5, "unjudged", verifier.unjudged("busy")),
    ];
    let best = |held| Verification::best(held, 2).map(|best| best.response.as_str());
    assert_eq!((best(&held), best(&held[..2]), best(&held[..1])), (Some("as good"), Some("critical"), None));
}

#[test]
fn a_submission_is_what_the_user_asked_last() {
    let call = crate::message::ToolCall::new("c", "look", json!({}));
    let messages = [
        Message::human("1", "old"),
        Message::human("2", "new"),
        Message::ai_with_calls("3", "", vec![call.clone()]),
        Message::tool("4", &call, "found"),
    ];
    let submission = Submission::of_turn(&messages, "r");
    assert_eq!((submission.request.as_str(), submission.response.as_str()), ("new", "r"));
    assert_eq!(submission.sources[0].output, "found");
    assert_eq!(Submission::of_turn(&[], "r").request, "");
}
