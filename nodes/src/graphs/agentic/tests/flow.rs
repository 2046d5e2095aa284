//! The flow of a turn.

use super::*;
use crate::NextAction;
use crate::message::Message;
use crate::model::ModelError;
use crate::verification::{Verdict, Verification, WhyUnverified};

fn purposes(model: &Scripted) -> Vec<Purpose> {
    model.requests().iter().map(|request| request.purpose).collect()
}

#[tokio::test]
async fn test_full_loop_with_refinement() {
    let model = Scripted::new()
        .say("It rains.")
        .on(Purpose::Refiner, ["It rains in Paris."])
        .on(Purpose::Router, json_turns([routed("respond")]))
        .on(Purpose::Verifier, json_turns([judged(0.4), judged(0.9)]));
    let model = Arc::new(model);
    let loop_ = graph(config(&model).tools(weather()));
    let (state, ran) = turn(&loop_, AgenticState::ask("What is the weather?")).await;
    assert_eq!(ran, "compact,router,respond,verify,refine,respond,verify");
    assert_eq!(state.response().unwrap(), "It rains in Paris.");
    assert_eq!((state.verification_passed, state.refinement_attempts), (Some(true), Some(1)));
    assert!((state.verification_score.unwrap() - 0.9).abs() < 1e-9);
    assert!(matches!(state.verdict(), Verdict::Verified(last) if last.attempt == 2));

    let requests = model.requests();
    let [again] =
        &requests.iter().filter(|request| request.purpose == Purpose::Refiner).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", purposes(&model))
    };
    let texts: Vec<_> = again.messages.iter().map(Message::text).collect();
    assert!(texts.iter().all(|text| text != "It rains."), "the refused response is gone: {texts:?}");
    let last = again.messages.last().unwrap();
    assert!(matches!(last, Message::System(_)) && last.text().contains("Name the city."), "{texts:?}");
    assert!(state.messages.iter().all(|message| !matches!(message, Message::System(_))), "it is not kept");
}

#[tokio::test]
async fn test_max_refinement_attempts_respected() {
    let model = Scripted::new()
        .say("One.")
        .on(Purpose::Refiner, ["Two.", "Three.", "Four.", "Five."])
        .on(Purpose::Verifier, json_turns([judged(0.2), judged(0.5), judged(0.3), judged(0.4), judged(1.0)]));
    let model = Arc::new(model);
    let (state, ran) = turn(&graph(config(&model)), AgenticState::ask("Count.")).await;
    let count = |node: &str| ran.split(',').filter(|ran| *ran == node).count();
    assert_eq!((count("respond"), count("verify"), count("refine")), (4, 4, 3));
    assert_eq!((state.verification_passed, state.refinement_attempts), (Some(false), Some(3)));
    assert!((state.verification_score.unwrap() - 0.4).abs() < 1e-9, "the last score is kept");
    assert_eq!(state.response().unwrap(), "Four.");
    let Verdict::Unverified { last, why } = state.verdict() else { panic!("{:?}", state.verdict()) };
    assert_eq!((last.response.as_str(), why), ("Four.", WhyUnverified::AttemptsUsedUp { refused: 4 }));
    let kept: Vec<_> = state.verifications.iter().map(|kept| kept.response.as_str()).collect();
    assert_eq!(kept, ["One.", "Two.", "Three.", "Four."]);
    assert_eq!(Verification::best(&state.verifications, 1).unwrap().response, "Two.");
}

#[tokio::test]
async fn s0_003_no_response_is_given_without_a_judgement() {
    let model = Arc::new(Scripted::new().say("Hello.").on(Purpose::Verifier, json_turns([judged(1.0)])));
    turn(&graph(config(&model)), AgenticState::ask("Hello?")).await;
    assert_eq!(purposes(&model), [Purpose::Agent, Purpose::Verifier]);
}

#[tokio::test]
async fn the_response_that_the_tools_led_to_is_not_asked_for_twice() {
    let model = Scripted::new()
        .on(Purpose::Agent, [asks_for_weather(), "It rains in Paris.".into()])
        .on(Purpose::Refiner, ["Bring an umbrella: it rains in Paris."])
        .on(Purpose::Router, json_turns([routed("use_tools")]))
        .on(Purpose::Verifier, json_turns([judged(0.5), judged(0.8)]));
    let model = Arc::new(model);
    let loop_ = graph(config(&model).tools(weather()));
    let (state, ran) = turn(&loop_, AgenticState::ask("What is the weather in Paris?")).await;
    assert_eq!(ran, "compact,router,use_tools,respond,verify,refine,respond,verify");
    assert_eq!(
        (state.next_action, state.routing_confidence, state.reasoning.as_deref()),
        (Some(NextAction::UseTools), Some(0.9), Some("So it is."))
    );
    use Purpose::{Agent, Refiner, Router, Verifier};
    assert_eq!(purposes(&model), [Router, Agent, Agent, Verifier, Refiner, Verifier]);
    let kinds: Vec<_> = state.messages.iter().map(|said| crate::prompt::Said::from(said).from).collect();
    assert_eq!(kinds, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(state.responses, 2, "the one that the tools led to counts");
    let again = model.requests().remove(4);
    assert!(
        again.messages.iter().any(|message| message.text() == "Rain in Paris."),
        "what was found is there"
    );
}

#[tokio::test]
async fn a_second_turn_starts_over_and_knows_the_first() {
    let model = Scripted::new()
        .say("One.")
        .say("Two.")
        .on(Purpose::Refiner, ["First."])
        .on(Purpose::Verifier, json_turns([judged(0.1), judged(1.0), judged(0.9)]));
    let model = Arc::new(model);
    let loop_ = graph(config(&model));
    turn(&loop_, AgenticState::ask("The first?")).await;
    let input = AgenticState::ask("The second?").user_id("u1".to_owned()).request_id("r2".to_owned());
    let (state, ran) = turn(&loop_, input).await;
    assert_eq!(ran, "compact,router,respond,verify");
    assert_eq!((state.turn, state.responses, state.refinement_attempts), (2, 1, None));
    assert_eq!((state.user_id.as_deref(), state.request_id.as_deref()), (Some("u1"), Some("r2")));
    assert_eq!(state.user_request.as_deref(), Some("The second?"));
    let texts: Vec<_> = state.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["The first?", "First.", "The second?", "Two."]);
    let asked = &model.requests()[4];
    assert_eq!(asked.purpose, Purpose::Agent, "feedback of an earlier turn is no correction of this one");
    assert_eq!(asked.messages.len(), 3);
}

#[tokio::test]
async fn a_question_after_a_turn_that_failed_is_asked() {
    let gone = ModelError::Unauthorized { reason: "expired".into() };
    let model = Scripted::new().fail(gone).say("Here.").on(Purpose::Verifier, json_turns([judged(1.0)]));
    let model = Arc::new(model);
    let loop_ = graph(config(&model));
    loop_.thread("t").run(AgenticState::ask("Lost?")).await.unwrap_err();
    let (state, _) = turn(&loop_, AgenticState::ask("Found?")).await;
    let texts: Vec<_> = state.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["Lost?", "Found?", "Here."]);
}

#[tokio::test]
async fn s0_027_the_fallback_model_answers_and_the_ledger_says_so() {
    let gone = ModelError::OutOfCredit { reason: "0.00".into() };
    let model = Arc::new(Scripted::new().fail(gone));
    let reply = crate::model::ModelReply::new("spare", "Here I am.");
    let config = config(&model).fallback(Scripted::new().then(Turn::Reply(reply)));
    let judge = Scripted::new().on(Purpose::Verifier, json_turns([judged(1.0)]));
    let (state, _) = turn(&graph(config.judge(judge)), AgenticState::ask("Who is there?")).await;
    let models: Vec<_> = state.ledger.accounts().map(|(purpose, model, _)| (purpose, model)).collect();
    assert_eq!(models, [(Purpose::Agent, "spare"), (Purpose::Verifier, "scripted")]);
}

#[tokio::test]
async fn s0_018_after_a_compaction_the_request_and_the_last_results_are_shown_as_they_are() {
    let judgements = json_turns(std::iter::repeat_n(judged(1.0), 9));
    let mut model = Scripted::new()
        .on(Purpose::Summarizer, ["They talked at length."; 9])
        .on(Purpose::Verifier, judgements)
        .on(
            Purpose::Router,
            json_turns([routed("respond"), routed("respond"), routed("respond"), routed("use_tools")]),
        );
    for _ in 0..3 {
        model = model.say("word ".repeat(300));
    }
    let model = Arc::new(model.then(asks_for_weather()).say("It rains."));
    let settings = AgenticSettings {
        compaction_threshold: 1_000,
        target_after_compaction: 500,
        recent_message_count: 2,
        ..AgenticSettings::default()
    };
    let loop_ = graph(config(&model).tools(weather()).settings(settings).unwrap());
    for talk in ["One?", "Two?", "Three?"] {
        turn(&loop_, AgenticState::ask(talk)).await;
    }
    let (state, _) = turn(&loop_, AgenticState::ask("What is the weather in Paris?")).await;
    assert_eq!((state.compaction_applied, state.original_message_count), (Some(true), Some(7)));
    assert_eq!(state.messages.len(), 10, "nothing is lost");
    let requests = model.requests();
    let last = requests.iter().rfind(|request| request.purpose == Purpose::Agent).unwrap();
    let texts: Vec<_> = last.messages.iter().map(Message::text).collect();
    assert!(texts.iter().any(|text| text.contains("They talked at length.")), "{texts:?}");
    assert!(
        texts.contains(&"What is the weather in Paris?".into()) && texts.contains(&"Rain in Paris.".into())
    );
}

#[tokio::test]
async fn a_resumed_run_pays_for_nothing_twice() {
    let model = Scripted::new()
        .on(Purpose::Agent, [asks_for_weather(), "It rains.".into()])
        .on(Purpose::Router, json_turns([routed("use_tools")]))
        .on(
            Purpose::Verifier,
            [Turn::Fail(ModelError::Unauthorized { reason: "expired".into() }), Turn::Json(judged(1.0))],
        );
    let model = Arc::new(model);
    let settings = AgenticSettings {
        on_judge_error: crate::verification::OnJudgeError::Fail,
        ..AgenticSettings::default()
    };
    let loop_ = graph(config(&model).tools(weather()).settings(settings).unwrap());
    let failed: superstep_core::run::RunError =
        loop_.thread("t").run(AgenticState::ask("Rain in Paris?")).await.unwrap_err();
    assert!(failed.to_string().contains("expired"), "{failed}");
    let state = loop_.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!(state.verification_passed, Some(true));
    use Purpose::{Agent, Router, Verifier};
    assert_eq!(purposes(&model), [Router, Agent, Agent, Verifier, Verifier]);
}

#[tokio::test]
async fn s0_046_a_judge_that_gave_no_judgement_is_asked_again_when_the_run_is_resumed() {
    let replies = ["Looks good!".into(), "Very good!".into(), Turn::Json(judged(1.0))];
    let model = Arc::new(Scripted::new().say("Hello.").on(Purpose::Verifier, replies));
    let settings = AgenticSettings {
        on_judge_error: crate::verification::OnJudgeError::Fail,
        ..AgenticSettings::default()
    };
    let loop_ = graph(config(&model).settings(settings).unwrap());
    loop_.thread("t").run(AgenticState::ask("Hello?")).await.unwrap_err();
    let state = loop_.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!(state.verification_passed, Some(true));
    use Purpose::{Agent, Verifier};
    assert_eq!(purposes(&model), [Agent, Verifier, Verifier, Verifier]);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_passes_costs_neither_the_summary_nor_the_decision() {
    let busy = || Turn::Fail(ModelError::Overloaded { reason: "busy".into(), retry_after: None });
    let model = Scripted::new()
        .on(Purpose::Summarizer, [busy(), busy(), "They talked.".into()])
        .on(Purpose::Router, [busy(), Turn::Json(routed("respond"))])
        .on(Purpose::Verifier, json_turns([judged(1.0)]))
        .say("Hello.");
    let model = Arc::new(model);
    let settings = AgenticSettings {
        compaction_threshold: 600,
        target_after_compaction: 500,
        recent_message_count: 1,
        ..AgenticSettings::default()
    };
    let before = Message::human("before", "word ".repeat(900));
    let loop_ = graph(config(&model).tools(weather()).settings(settings).unwrap());
    let (state, _) = turn(&loop_, AgenticState::ask("Hello?").messages([before])).await;
    assert_eq!(state.compactions[0].summary, "They talked.");
    assert_eq!((state.compactions.len(), state.routing_confidence), (1, Some(0.9)));
}

#[tokio::test]
async fn s0_069_a_compaction_between_rounds_of_tools_is_said_too() {
    let model = Scripted::new()
        .on(Purpose::Router, json_turns([routed("use_tools")]))
        .on(Purpose::Summarizer, ["Rain."; 9])
        .on(Purpose::Verifier, json_turns([judged(1.0)]));
    let model = (0..4).fold(model, |model, _| model.then(asks_for("x".repeat(600)))).say("It rains.");
    let model = Arc::new(model);
    let settings = AgenticSettings {
        compaction_threshold: 500,
        target_after_compaction: 400,
        recent_message_count: 2,
        max_tool_rounds: std::num::NonZeroU32::new(4).unwrap(),
        ..AgenticSettings::default()
    };
    let loop_ = graph(config(&model).tools(weather()).settings(settings).unwrap());
    let (state, _) = turn(&loop_, AgenticState::ask("Does it rain?")).await;
    assert_eq!((state.compaction_applied, state.original_message_count), (Some(true), Some(9)));
    // The last round has made it too long again, and the response is asked for with what fits.
    let last = state.compactions.last().unwrap();
    assert_eq!(last.id, "use_tools.3.last.compaction");
    let asked = model.requests().into_iter().rfind(|request| request.purpose == Purpose::Agent).unwrap();
    assert_eq!(asked.messages.len(), 4, "the summary, the question, and the last round");
}

#[tokio::test]
async fn a_blank_request_is_not_answered_with_the_response_before() {
    let model = Arc::new(Scripted::new().say("Hello.").on(Purpose::Verifier, json_turns([judged(1.0)])));
    let loop_ = graph(config(&model));
    turn(&loop_, AgenticState::ask("Hello?")).await;
    let error = loop_.thread("t").run(AgenticState::ask("  ")).await.unwrap_err().to_string();
    assert!(error.contains("there is nothing to answer: the request is blank"), "{error}");
}

#[test]
fn s0_076_a_state_without_the_later_fields_can_be_read() {
    let old = json!({
        "messages": [], "next_action": "respond", "user_id": "u", "request_id": null,
        "routing_confidence": 0.5, "reasoning": "r",
    });
    let state: AgenticState = serde_json::from_value(old).unwrap();
    assert_eq!(state.next_action, Some(NextAction::Respond));
    assert_eq!((state.compaction_applied, state.verification_passed, state.user_request), (None, None, None));
}

#[test]
fn s0_063_to_s0_075_the_state_has_these_fields() {
    let state = serde_json::to_value(AgenticState::default()).unwrap();
    for field in [
        "messages",
        "next_action",
        "user_id",
        "request_id",
        "routing_confidence",
        "reasoning",
        "compaction_applied",
        "original_message_count",
        "verification_passed",
        "verification_score",
        "verification_feedback",
        "refinement_attempts",
        "user_request",
    ] {
        assert!(state.get(field).is_some(), "{field}");
    }
}

#[tokio::test]
async fn s0_027_the_fallback_model_answers_for_every_role_and_for_whatever_reason() {
    let errors = [
        ModelError::OutOfCredit { reason: "0.00".into() },
        ModelError::Overloaded { reason: "529".into(), retry_after: None },
    ];
    for error in errors {
        let down = || Scripted::new().fail(error.clone()).fail(error.clone());
        let spare = Scripted::new()
            .on(Purpose::Router, json_turns([routed("respond")]))
            .say("Here I am.")
            .on(Purpose::Verifier, json_turns([judged(1.0)]));
        let config = AgenticConfig::new(down()).router(down()).judge(down()).tools(weather()).fallback(spare);
        let (state, _) = turn(&graph(config), AgenticState::ask("Who is there?")).await;
        assert!(state.verdict().is_verified(), "{:?}", state.verdict());
        assert_eq!(state.response().as_deref(), Some("Here I am."));
    }
}

/// A provider may ask for a tool although the request says that it must not.
#[tokio::test]
async fn the_response_is_the_one_that_was_verified_also_where_it_asks_for_tools() {
    let asks = crate::message::ToolCall::new("c1", "weather", json!({ "city": "Paris" }));
    let reply = crate::model::ModelReply::new("m", "It rains.").with_calls(vec![asks]);
    let model = Scripted::new()
        .on(Purpose::Router, json_turns([routed("respond")]))
        .then(Turn::Reply(reply))
        .on(Purpose::Verifier, json_turns([judged(1.0)]));
    let model = Arc::new(model);
    let (state, _) = turn(&graph(config(&model).tools(weather())), AgenticState::ask("Weather?")).await;
    let Verdict::Verified(verified) = state.verdict() else { panic!("{:?}", state.verdict()) };
    assert_eq!((state.response().as_deref(), verified.response.as_str()), (Some("It rains."), "It rains."));
}

#[tokio::test]
async fn a_turn_that_failed_has_no_response_and_not_that_of_the_turn_before() {
    let gone = ModelError::Unauthorized { reason: "expired".into() };
    let model = Scripted::new().say("Hello.").fail(gone).on(Purpose::Verifier, json_turns([judged(1.0)]));
    let loop_ = graph(config(&Arc::new(model)));
    let (state, _) = turn(&loop_, AgenticState::ask("Hello?")).await;
    assert_eq!(state.response().as_deref(), Some("Hello."));
    for request in [" ", "And now?"] {
        loop_.thread("t").run(AgenticState::ask(request)).await.unwrap_err();
        let state = loop_.thread("t").state().await.unwrap().values;
        assert_eq!(state.response(), None, "{request}");
    }
}

#[tokio::test]
async fn tools_work_in_the_workspace() {
    let place = TypedTool::with_context("place", "Says where it is.", |Nowhere {}, context| async move {
        context.workspace().map_or_else(|| "nowhere".to_owned(), |folder| folder.display().to_string())
    });
    let call = crate::message::ToolCall::new("c1", "place", json!({}));
    let model =
        Scripted::new().on(Purpose::Router, json_turns([routed("use_tools")])).then(call).say("There.");
    let model = Arc::new(model);
    let config = config(&model).tools(ToolRegistry::new().with(place).unwrap()).workspace("/work");
    let (state, _) = turn(&graph(config.without_judge()), AgenticState::ask("Where are you?")).await;
    assert!(state.messages.iter().any(|message| message.text() == "/work"), "{:?}", state.messages);
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nowhere {}

#[tokio::test]
async fn a_response_that_was_cut_off_is_refused_and_a_shorter_one_is_asked_for() {
    let mut cut = crate::model::ModelReply::new("m", "It rai");
    cut.stop = crate::model::StopReason::MaxTokens;
    let model = Scripted::new()
        .then(Turn::Reply(cut))
        .on(Purpose::Refiner, ["It rains."])
        .on(Purpose::Verifier, json_turns([judged(1.0)]));
    let model = Arc::new(model);
    let (state, ran) = turn(&graph(config(&model)), AgenticState::ask("Weather?")).await;
    assert_eq!(ran, "compact,router,respond,verify,refine,respond,verify");
    assert_eq!(
        state.verifications[0].result.feedback,
        "The response was cut off at the limit of its length. Respond in fewer words."
    );
    assert_eq!(state.response().as_deref(), Some("It rains."));
    assert!(state.verdict().is_verified() && model.remaining() == 0, "the judge saw the second alone");
}
