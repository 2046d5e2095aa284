//! Calls of the judge, and the response when it gives no judgement.

use super::*;

#[tokio::test]
async fn s0_040_rules_cost_no_call() {
    let model = model(&[]);
    let says = |text: &'static str| {
        PredicateRule::new(text, move |it: &Submission| match it.response.contains(text) {
            true => Ok(()),
            false => Err(format!("Say {text}.")),
        })
    };
    let verifier = OutputVerifier::new().rule(says("r")).rule(says("3"));
    let verify = Verify::by_rules(verifier, Chat::MESSAGES, Chat::VERIFICATIONS)
        .attempts(Chat::ATTEMPTS, 3)
        .turn(Chat::TURN);
    let graph = graph_of(Arc::clone(&model) as Arc<dyn ChatModel>, verify, None);
    let state = run(&graph).await;
    assert_eq!(texts(&state.messages), ["What does a fork copy?", "r3"]);
    let passed: Vec<_> =
        state.verifications.iter().map(|it| (it.result.passed, it.result.score.unwrap().get())).collect();
    assert_eq!(passed, [(Some(false), 0.5), (Some(false), 0.5), (Some(true), 1.0)]);
    assert_eq!(asked(&model, Purpose::Verifier).len(), 0);
    assert!(
        asked(&model, Purpose::Refiner)[1].messages[1]
            .text()
            .contains("Response 2, score 0.50 of 1, where 0.70 is needed: Say 3.")
    );
}

#[tokio::test]
async fn s0_044_the_judge_is_asked_only_about_what_keeps_the_rules() {
    let model = model(&[0.2, 0.9]);
    let rule = PredicateRule::new("not one", |it: &Submission| match it.response == "r1" {
        true => Err("Not one.".to_owned()),
        false => Ok(()),
    });
    let state = run(&graph(&model, OutputVerifier::new().rule(rule), 3)).await;
    assert_eq!(asked(&model, Purpose::Verifier).len(), 2);
    let by: Vec<_> =
        state.verifications.iter().map(|it| matches!(it.result.by, VerifiedBy::Judge { .. })).collect();
    assert_eq!(by, [false, true, true]);
}

#[tokio::test]
async fn a_rule_that_cannot_be_checked_fails_the_run_and_no_response_is_called_accepted() {
    struct Broken;

    #[async_trait::async_trait]
    impl crate::verification::Rule for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        async fn check(&self, _: &Submission) -> Result<(), crate::verification::Breach> {
            Err(crate::verification::Breach::unable("there is no such program"))
        }
    }

    let graph = graph(&model(&[]), OutputVerifier::new().rule(Broken), 3);
    let error = graph.thread("t").run(ask(1, "?")).await.unwrap_err().to_string();
    assert!(error.contains("the rule `broken` cannot be checked: there is no such program"), "{error}");
}

#[tokio::test]
async fn s0_046_a_response_that_the_judge_fails_to_judge_is_given_and_the_record_says_why() {
    for (turns, why) in [
        (vec![Turn::Fail(down())], "no such key"),
        (vec![Turn::Fail(busy())], "come back"),
        (vec!["Fine.".into(), "Really.".into()], "does not have the form that was asked for"),
    ] {
        let model = judged_by(turns);
        let state = run(&graph(&model, passing(), 3)).await;
        assert_eq!((state.passed, state.score, state.feedback.clone()), (None, None, None));
        assert_eq!((state.messages.len(), state.attempts), (2, Some(0)));
        let Verdict::Unverified { why: WhyUnverified::NotJudged { reason }, .. } =
            Verdict::of(&state.verifications, 1)
        else {
            panic!("{:?}", state.verifications)
        };
        assert!(reason.contains(why), "{reason}");
        assert_eq!(model.remaining(), 7, "only the refiner has something left to say");
    }
}

#[tokio::test]
async fn s0_046_a_judge_that_has_to_judge_is_asked_again_when_the_run_is_resumed() {
    let turns = [vec![Turn::Fail(down())], judge_says(&[0.9])].concat();
    let model = judged_by(turns);
    let graph = graph(&model, OutputVerifier::new().on_judge_error(OnJudgeError::Fail), 3);
    let error = graph.thread("t").run(ask(1, "?")).await.unwrap_err().to_string();
    assert!(error.contains("no such key"), "{error}");
    let state = graph.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!((state.passed, asked(&model, Purpose::Agent).len()), (Some(true), 1));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_may_pass_is_left_to_the_policy_of_the_node_before_a_response_is_given_unjudged() {
    let retry = Retry::fixed(3, Duration::from_secs(1));
    for (turns, passed) in [
        ([vec![Turn::Fail(busy()), Turn::Fail(busy())], judge_says(&[0.9])].concat(), Some(true)),
        (vec![Turn::Fail(busy()); 3], None),
        (vec![Turn::Fail(down())], None),
    ] {
        let model = judged_by(turns);
        let judge = Arc::clone(&model) as Arc<dyn ChatModel>;
        let verify = verify(Arc::clone(&judge), passing(), 3);
        let state = run(&graph_of(judge, verify, Some(retry.clone()))).await;
        assert_eq!((state.passed, model.remaining()), (passed, 7));
    }
}

#[tokio::test]
async fn a_reply_that_is_no_judgement_is_shown_to_the_judge_once() {
    let mut wrong = judgement(0.9);
    wrong["findings"][0]["score"] = 7.into();
    let model = judged_by([vec![Turn::Json(wrong)], judge_says(&[0.8])].concat());
    let state = run(&graph(&model, passing(), 3)).await;
    assert_eq!(state.score, Some(0.8));
    let again = &asked(&model, Purpose::Verifier)[1].messages;
    assert!(again[2].text().contains("the score 7 is not from 0 to 1"), "{}", again[2].text());
    assert_eq!(state.ledger.purpose(Purpose::Verifier).calls, 2);
}

#[tokio::test]
async fn s0_104_s0_106_what_verifying_and_refining_costs_is_counted_by_itself() {
    let priced = |text: String, input, output| {
        Turn::Reply(ModelReply::new("m", text).with_usage(Usage::of(input, output)))
    };
    let judge = [0.2, 0.9].map(|score| priced(judgement(score).to_string(), 300, 50));
    let model = Scripted::new().on(Purpose::Verifier, judge);
    let model = model.on(Purpose::Agent, [priced("r1".into(), 10, 1)]);
    let model = Arc::new(model.on(Purpose::Refiner, [priced("r2".into(), 20, 2)]));
    let state = run(&graph(&model, passing(), 3)).await;
    let cost = |purpose| {
        let account = state.ledger.purpose(purpose);
        (account.calls, account.usage.input_tokens, account.usage.output_tokens)
    };
    assert_eq!(cost(Purpose::Verifier), (2, 600, 100));
    assert_eq!(cost(Purpose::Refiner), (1, 20, 2));
    assert_eq!(cost(Purpose::Agent), (1, 10, 1));
    let VerifiedBy::Judge { usage, .. } = &state.verifications[0].result.by else { panic!() };
    assert_eq!((usage.input_tokens, usage.output_tokens), (300, 50));
}

#[tokio::test]
async fn s0_145_the_judge_sees_the_pictures_of_the_turn() {
    let picture = Part::Image(Image::url("https://example.org/cat.png"));
    for (verifier, images) in [(passing(), 1), (passing().without_images(), 0)] {
        let model = model(&[0.9]);
        let graph = graph(&model, verifier, 3);
        let question = Content::from_iter([Part::text("What is this?"), picture.clone()]);
        let input = Chat::update().turn(1).attempts(Some(0)).messages(Message::human("q", question));
        graph.thread("t").run(input).await.unwrap().finished().unwrap();
        let shown = &asked(&model, Purpose::Verifier)[0].messages[0];
        assert_eq!(shown.content().parts().iter().filter(|part| **part == picture).count(), images);
        assert!(shown.text().contains("<user_request>What is this?</user_request>"), "{}", shown.text());
    }
}

#[tokio::test]
async fn without_a_rule_and_a_judge_no_response_counts_as_accepted() {
    let verify =
        Verify::by_rules(OutputVerifier::new(), Chat::MESSAGES, Chat::VERIFICATIONS).passed(Chat::PASSED);
    let state = run(&graph_of(model(&[]), verify, None)).await;
    assert_eq!(state.passed, None);
    let by = VerifiedBy::Nobody { reason: "there is neither a rule nor a judge".into() };
    assert_eq!(state.verifications[0].result.by, by);
}

#[tokio::test]
async fn a_blank_response_is_refused_by_every_verifier() {
    let model = Arc::new(Scripted::new().on(Purpose::Agent, [" \n"]).on(Purpose::Refiner, ["None."]));
    let rules = Verify::by_rules(OutputVerifier::new(), Chat::MESSAGES, Chat::VERIFICATIONS);
    let rules = rules.attempts(Chat::ATTEMPTS, 3).turn(Chat::TURN);
    let state = run(&graph_of(Arc::clone(&model) as _, rules, None)).await;
    let [blank, other] = &state.verifications[..] else { panic!("{:?}", state.verifications) };
    assert_eq!(blank.result.feedback, "The response is empty. Respond to the request.");
    assert_eq!((blank.result.passed, other.response.as_str()), (Some(false), "None."));
    let again = &asked(&model, Purpose::Refiner)[0].messages;
    assert!(again.last().unwrap().text().contains("The response is empty."), "{again:?}");
}

/// A second question, about what was found for the first.
fn follow_up() -> [Message; 5] {
    let search = ToolCall::new("c", "search_docs", json!({}));
    [
        Message::human("q1", "What does a fork copy?"),
        Message::ai_with_calls("a1", "", vec![search.clone()]),
        Message::tool("t1", &search, "[1] forks.md:3 A fork copies nothing."),
        Message::ai("a2", "Nothing."),
        Message::human("q2", "Where did you read that?"),
    ]
}

#[tokio::test]
async fn where_the_request_is_blank_what_the_user_said_is_shown_to_the_judge_with_what_came_before() {
    let model = model(&[1.0]);
    let input = Chat::update().turn(2).question(Some(" ".to_owned())).attempts(Some(0));
    let input = input.messages(follow_up());
    graph(&model, passing(), 3).thread("t").run(input).await.unwrap().finished().unwrap();
    let prompt = asked(&model, Purpose::Verifier)[0].messages[0].text().into_owned();
    assert!(prompt.contains("<user_request>Where did you read that?</user_request>"), "{prompt}");
    let before = "<conversation>\n<message from=\"user\">What does a fork copy?</message>\n\
                  <message from=\"tool\">[1] forks.md:3 A fork copies nothing.</message>\n\
                  <message from=\"assistant\">Nothing.</message>\n</conversation>";
    assert!(prompt.contains(before), "{prompt}");
    assert!(prompt.contains("<sources>\n</sources>"), "{prompt}");
}

#[tokio::test]
async fn what_was_found_in_an_earlier_turn_may_be_named_as_a_source() {
    for (source, passed) in [("forks.md:3", true), ("knives.md:3", false)] {
        let said = format!("Here.\n\nSources:\n- {source}");
        let model = Arc::new(Scripted::new().on(Purpose::Agent, [said.as_str()]));
        let verifier = OutputVerifier::new().rule(crate::verification::CitationRule::new());
        let rules = Verify::by_rules(verifier, Chat::MESSAGES, Chat::VERIFICATIONS).turn(Chat::TURN);
        let input = Chat::update().turn(2).attempts(Some(0)).messages(follow_up());
        let run = graph_of(model, rules.passed(Chat::PASSED), None).thread("t").run(input).await;
        assert_eq!(run.unwrap().finished().unwrap().passed, Some(passed), "{source}");
    }
}
