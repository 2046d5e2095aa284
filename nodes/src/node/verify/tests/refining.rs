//! Refinements of a response.

use super::*;

#[tokio::test]
async fn s0_048_a_response_that_passes_ends_the_run() {
    let model = model(&[0.9]);
    let state = run(&graph(&model, passing(), 3)).await;
    assert_eq!((state.passed, state.score), (Some(true), Some(0.9)));
    assert_eq!(state.feedback.as_deref(), Some("Feedback at 0.9."));
    assert_eq!(
        (texts(&state.messages), state.attempts),
        (vec!["What does a fork copy?".into(), "r1".into()], Some(0))
    );
    assert_eq!(asked(&model, Purpose::Verifier).len(), 1);
    assert!(Verdict::of(&state.verifications, 1).is_verified());
}

#[tokio::test]
async fn test_verification_prevents_bad_responses() {
    let (model, told) = (model(&[0.2, 0.9]), EventLog::default());
    let state = run(&told.observe(graph(&model, passing(), 3))).await;
    assert_eq!(told.nodes(), ["respond", "verify", "refine", "respond", "verify"]);
    // The bad response is in no conversation, neither in the one that is kept nor in what the model was asked next.
    assert_eq!(texts(&state.messages), ["What does a fork copy?", "r2"]);
    assert_eq!((state.passed, state.score, state.attempts), (Some(true), Some(0.9), Some(1)));
    assert!(Verdict::of(&state.verifications, 1).is_verified());
    // It is kept where candidates are compared.
    let held: Vec<_> =
        state.verifications.iter().map(|it| (it.attempt, it.response.as_str(), it.result.score)).collect();
    let score = |number| Some(Score::new(number).unwrap());
    assert_eq!(held, [(1, "r1", score(0.2)), (2, "r2", score(0.9))]);
}

#[tokio::test]
async fn s0_004_s0_053_s0_057_what_was_wrong_is_reported_to_the_model_and_the_response_is_not() {
    let model = model(&[0.2, 0.3, 0.9]);
    let state = run(&graph(&model, passing(), 3)).await;
    let refined = asked(&model, Purpose::Refiner);
    assert_eq!((asked(&model, Purpose::Agent).len(), refined.len()), (1, 2));
    for (number, request) in (1..).zip(&refined) {
        let [question, correction] = &request.messages[..] else { panic!("{:?}", request.messages) };
        assert_eq!(question.text(), "What does a fork copy?");
        let Message::System(_) = correction else { panic!("{correction:?}") };
        let text = correction.text();
        assert!(
            text.contains("Response 1, score 0.20 of 1, where 0.70 is needed: Feedback at 0.2."),
            "{text}"
        );
        assert!(text.contains("- suggestion: Get better than 0.2."), "{text}");
        assert_eq!(text.contains("Feedback at 0.3."), number == 2, "{text}");
        assert!(!text.contains("r1") && !text.contains("r2"), "{text}");
    }
    // The conversation that is kept has no correction.
    assert!(!state.messages.iter().any(|message| matches!(message, Message::System(_))));
    assert_eq!(texts(&state.messages), ["What does a fork copy?", "r3"]);
}

#[tokio::test]
async fn s0_051_s0_055_a_judge_that_refuses_everything_ends_with_the_fourth_response() {
    let (model, told) = (model(&[0.1, 0.2, 0.4, 0.3]), EventLog::default());
    let state = run(&told.observe(graph(&model, passing(), Refine::<Chat>::MAX_ATTEMPTS))).await;
    let visits = |name: &str| told.nodes().iter().filter(|node| *node == name).count();
    assert_eq!((visits("respond"), visits("verify"), visits("refine")), (4, 4, 3));
    assert_eq!((state.passed, state.score, state.attempts), (Some(false), Some(0.3), Some(3)));
    assert_eq!(texts(&state.messages), ["What does a fork copy?", "r4"]);
    let Verdict::Unverified { last, why } = Verdict::of(&state.verifications, 1) else { panic!() };
    assert_eq!((last.response.as_str(), why), ("r4", WhyUnverified::AttemptsUsedUp { refused: 4 }));
    assert_eq!(Verification::best(&state.verifications, 1).unwrap().response, "r3");
}

#[tokio::test]
async fn s0_052_with_no_attempts_a_response_is_verified_and_never_refined() {
    let model = model(&[0.1]);
    let state = run(&graph(&model, passing(), 0)).await;
    assert_eq!((state.passed, state.attempts, state.verifications.len()), (Some(false), Some(0), 1));
}

#[tokio::test]
async fn a_model_that_says_again_what_was_refused_ends_the_refining() {
    let model = Scripted::new().on(Purpose::Verifier, judge_says(&[0.1, 0.2]));
    let model =
        Arc::new(model.on(Purpose::Agent, ["one two"]).on(Purpose::Refiner, ["three", "one\n two ", "four"]));
    let state = run(&graph(&model, passing(), 3)).await;
    let last = state.verifications.last().unwrap();
    assert_eq!((last.attempt, &last.result.by), (3, &VerifiedBy::Earlier { attempt: 1 }));
    assert_eq!((state.passed, state.score, state.attempts), (Some(false), Some(0.1), Some(2)));
    assert_eq!((asked(&model, Purpose::Verifier).len(), model.remaining()), (2, 1));
    let Verdict::Unverified { why: WhyUnverified::NoProgress, .. } = Verdict::of(&state.verifications, 1)
    else {
        panic!()
    };

    // Whoever wants asks again.
    let model = Scripted::new().on(Purpose::Verifier, judge_says(&[0.1, 0.9]));
    let model = Arc::new(model.on(Purpose::Agent, ["one"]).on(Purpose::Refiner, ["one"]));
    assert_eq!(run(&graph(&model, passing().ask_about_repeats(), 3)).await.passed, Some(true));
}

#[tokio::test]
async fn each_turn_of_a_thread_is_verified_by_itself() {
    let model = Scripted::new().on(Purpose::Verifier, judge_says(&[0.1, 0.2, 0.1, 0.9]));
    let model = Arc::new(model.on(Purpose::Agent, ["one", "one"]).on(Purpose::Refiner, ["two", "two"]));
    let graph = graph(&model, passing(), 1);
    graph.thread("t").run(ask(1, "First?")).await.unwrap().finished().unwrap();
    let state = graph.thread("t").run(ask(2, "Second?")).await.unwrap().finished().unwrap();
    assert_eq!(texts(&state.messages), ["First?", "two", "Second?", "two"]);
    assert_eq!(asked(&model, Purpose::Agent)[1].messages.len(), 3, "no correction of the turn before");
    let verdicts = [1, 2].map(|turn| Verdict::of(&state.verifications, turn).is_verified());
    assert_eq!((verdicts, state.attempts), ([false, true], Some(1)));
    let attempts: Vec<_> = state.verifications.iter().map(|it| (it.turn, it.attempt)).collect();
    assert_eq!(attempts, [(1, 1), (1, 2), (2, 1), (2, 2)]);
}

#[tokio::test]
async fn observers_get_verifications_and_refinements() {
    let told = EventLog::default();
    let state = run(&told.observe(graph(&model(&[0.2, 0.9]), passing(), 3))).await;
    let of_loop = |name: &str| [Verify::<Chat>::EVENT, Refine::<Chat>::EVENT].contains(&name);
    let mut events = told.events();
    events.retain(|(name, _)| of_loop(name));
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [Verify::<Chat>::EVENT, Refine::<Chat>::EVENT, Verify::<Chat>::EVENT]);
    assert_eq!(serde_json::from_value::<Verification>(events[0].1.clone()).unwrap(), state.verifications[0]);
    let refinement: Refinement = serde_json::from_value(events[1].1.clone()).unwrap();
    let (message, score) = (state.verifications[0].message.clone(), state.verifications[0].result.score);
    assert_eq!(refinement, Refinement { turn: 1, attempt: 1, message, score });
    assert_eq!(events[2].1["passed"], true);
}

#[tokio::test]
async fn a_response_goes_with_the_answers_to_its_calls() {
    let call = ToolCall::new("c", "look", json!({}));
    let model = Scripted::new().on(Purpose::Verifier, judge_says(&[0.1, 0.9])).on(Purpose::Refiner, ["r2"]);
    let reply = ModelReply::new("m", "I look.").with_calls(vec![call]);
    let model = Arc::new(model.on(Purpose::Agent, [Turn::Reply(reply)]));
    let agent = Agent::new(Arc::clone(&model) as Arc<dyn ChatModel>, Chat::MESSAGES, Chat::VISITS);
    let agent =
        agent.corrections(Chat::VERIFICATIONS).turn(Chat::TURN).tool_choice(crate::model::ToolChoice::None);
    let mut graph = StateGraph::<Chat>::new("chat");
    let respond = graph.node("respond", agent);
    let verify = graph.node("verify", verify(Arc::clone(&model) as Arc<dyn ChatModel>, passing(), 3));
    let refine = graph.node("refine", Refine::new(Chat::MESSAGES, Chat::VERIFICATIONS, Chat::ATTEMPTS));
    graph.edge(START, respond);
    graph.route(respond, move |_: AgentNext| to(verify));
    graph.route(verify, move |next| match next {
        VerifyNext::Finish => END,
        VerifyNext::Refine => to(refine),
    });
    graph.edge(refine, respond);
    let state = run(&graph.compile().unwrap().checkpointer(MemorySaver::new())).await;
    assert_eq!(texts(&state.messages), ["What does a fork copy?", "r2"]);
}

/// Generates the replies of a judge, good and bad.
fn any_judge() -> impl Strategy<Value = Turn> {
    prop_oneof![
        (0_u32..=10).prop_map(|score| Turn::Json(judgement(f64::from(score) / 10.0))),
        Just(Turn::Say("Looks good to me!".into())),
        Just(Turn::Fail(down())),
        Just(Turn::Fail(busy())),
        Just(Turn::BreakOff("{".into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn s0_056_whatever_the_judge_does_the_run_ends_in_time(
        turns in prop::collection::vec(any_judge(), 0..16),
        max in 0_u32..5,
    ) {
        let told = EventLog::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let state = runtime.block_on(run(&told.observe(graph(&judged_by(turns), passing(), max))));
        let steps = told.nodes().len() as u32;
        prop_assert!(steps <= 3 * (1 + max), "{} supersteps", steps);
        let refined = told.nodes().iter().filter(|node| *node == "refine").count() as u32;
        prop_assert_eq!(state.attempts, Some(refined));
        prop_assert_eq!(state.verifications.len() as u32, refined + 1);
        prop_assert_eq!(state.messages.len(), 2);
        let last = state.verifications.last().unwrap();
        prop_assert_eq!(&last.response, &texts(&state.messages)[1]);
        prop_assert_eq!(state.passed, last.result.passed);
    }
}
