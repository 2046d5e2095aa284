//! The course and the end of critiques.

use superstep::nodes::images::ImageFileError;
use superstep::nodes::message::{Message, ToolMessage, ToolStatus};
use superstep::nodes::model::{ModelRequest, Price, Prices, StopReason, ToolChoice};

use super::*;

fn results(state: &CriticState) -> Vec<&ToolMessage> {
    let messages = state.messages.iter();
    let results = messages.filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.collect()
}

/// The test that the seed describes: a search, and a critique that rests on it.
#[tokio::test]
async fn critique_image_with_tool_calling() {
    let desk = Desk::new().await;
    let model = Scripted::new()
        .then(asking(&[search("call_123", "rule of thirds")], Usage::of(0, 0)))
        .then(saying("Final critique based on RAG results.", Usage::of(523, 287)));
    let model = Arc::new(model);
    let critique = critique_image(desk.photo()).with(desk.config(&model)).await.unwrap();

    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    let Message::Tool(result) = requests[1].messages.last().unwrap() else { panic!("{:?}", requests[1]) };
    assert_eq!((result.tool_call_id.as_str(), result.status), ("call_123", ToolStatus::Ok));
    let text = result.content.to_text();
    assert!(text.starts_with("[1] thirds.md:1-1\nThe rule of thirds"), "{text}");
    assert_eq!(critique.output, "Final critique based on RAG results.");
    assert_eq!(critique.image_path, desk.photo().to_str().unwrap());
    let usage = TokenUsage { input_tokens: 523, output_tokens: 287, total_tokens: 810 };
    assert_eq!(critique.token_usage, usage);
    let json = serde_json::to_value(&critique).unwrap();
    assert_eq!(
        json["token_usage"],
        json!({ "input_tokens": 523, "output_tokens": 287, "total_tokens": 810 })
    );
    assert_eq!(json["output"], "Final critique based on RAG results.");
    assert_eq!(json["image_path"], critique.image_path);
}

#[tokio::test]
async fn s3_029_and_048_a_reply_that_asks_for_nothing_is_the_critique() {
    let (desk, model) =
        (Desk::new().await, Arc::new(Scripted::new().say("Well balanced.").say("Never said.")));
    let state = desk.state(&model).await;
    assert_eq!((state.output().as_str(), state.exit()), ("Well balanced.", Some(CriticExit::Critiqued)));
    assert_eq!((state.iteration, model.remaining()), (1, 1));
}

#[tokio::test]
async fn s3_004_032_034_049_050_and_073_after_three_calls_with_the_tool_comes_one_without_it() {
    let (desk, model) = (Desk::new().await, searching(3));
    let state = desk.state(&model).await;
    assert_eq!((model.requests().len(), state.iteration), (4, 4));
    assert_eq!((state.output().as_str(), state.exit()), ("Well balanced.", Some(CriticExit::Critiqued)));
    // What the third call asked for was looked up, and the last word knows it.
    let with_tool = |request: &ModelRequest| request.tool_choice == ToolChoice::Auto;
    assert_eq!(model.requests().iter().filter(|request| with_tool(request)).count(), 3);
    let last = &model.requests()[3];
    assert_eq!(last.tool_choice, ToolChoice::None);
    assert!(matches!(last.messages.last(), Some(Message::Tool(result)) if result.tool_call_id == "c3"));
    assert!(results(&state).iter().all(|result| result.status == ToolStatus::Ok));
}

#[tokio::test]
async fn a_model_that_asks_for_more_with_its_last_word_gets_nothing_and_is_not_asked_again() {
    let desk = Desk::new().await;
    let asks =
        |model: Scripted, n| model.then(asking(&[search(&format!("c{n}"), "light")], Usage::default()));
    let model = Arc::new((1..=9).fold(Scripted::new(), asks));
    let state = desk.state(&model).await;
    assert_eq!((model.requests().len(), state.exit()), (4, Some(CriticExit::CutShort)));
    assert_eq!(results(&state)[3].content.to_text(), "Not run: no tool may be called any more.");
    let error = Critique::of(&state).unwrap_err();
    assert_eq!(error.to_string(), "the model gave no critique; its reply ended with ToolUse");
}

#[tokio::test]
async fn s3_031_and_072_all_calls_of_a_reply_are_answered_in_order() {
    let desk = Desk::new().await;
    let both = [search("c1", "rule of thirds"), search("c2", "leading lines")];
    let model = Arc::new(Scripted::new().then(asking(&both, Usage::default())).say("Well balanced."));
    let state = desk.state(&model).await;
    assert_eq!(model.requests().len(), 2);
    let results = results(&state);
    let ids: Vec<_> = results.iter().map(|result| result.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert!(results[0].content.to_text().starts_with("[1] thirds.md"));
    assert!(results[1].content.to_text().starts_with("[1] lines.md"));
}

#[tokio::test]
async fn s3_035_058_and_071_a_call_of_a_tool_that_is_not_there_is_answered_and_never_ends_the_critique() {
    let desk = Desk::new().await;
    let unknown = ToolCall::new("c1", "google", json!({ "q": "composition" }));
    for on_tool_error in [OnToolError::Continue, OnToolError::Halt] {
        let model = Scripted::new().then(asking(std::slice::from_ref(&unknown), Usage::default()));
        let model = Arc::new(model.say("Well balanced."));
        let settings = CriticSettings { on_tool_error, ..CriticSettings::default() };
        let state = desk.state_with(&model, settings).await;
        let text = results(&state)[0].content.to_text().into_owned();
        assert_eq!(text, "there is no tool named `google`; the tools are: composition_rag_tool");
        assert_eq!(state.exit(), Some(CriticExit::Critiqued));
    }
}

#[tokio::test]
async fn s3_070_a_search_that_is_refused_as_the_model_asked_wrongly_never_ends_the_critique() {
    let desk = Desk::new().await;
    let mut cut_off = ModelReply::new("m", "").with_calls(vec![search("c1", "light")]);
    cut_off.stop = StopReason::MaxTokens;
    let unfit = |input| Turn::Reply(ModelReply::new("m", "").with_calls(vec![input]));
    let of = |input| ToolCall::new("c1", COMPOSITION_TOOL, input);
    for (reply, says) in [
        (Turn::Reply(cut_off), "Not run: the reply was cut off before its end."),
        (unfit(of(json!({ "words": "light" }))), "the input does not fit the tool `composition_rag_tool`: "),
        (unfit(of(json!({ "query": " " }))), "the input does not fit the tool `composition_rag_tool`: "),
    ] {
        let model = Arc::new(Scripted::new().then(reply).say("Well balanced."));
        let settings = CriticSettings { on_tool_error: OnToolError::Halt, ..CriticSettings::default() };
        let state = desk.state_with(&model, settings).await;
        let [refused] = results(&state)[..] else { panic!("{:?}", state.messages) };
        assert_eq!(refused.status, ToolStatus::Error);
        assert!(refused.content.to_text().starts_with(says), "{refused:?}");
        assert_eq!((state.output().as_str(), state.exit()), ("Well balanced.", Some(CriticExit::Critiqued)));
    }
}

#[tokio::test]
async fn s3_070_a_tool_that_fails_is_reported_and_the_critique_continues_unless_it_is_to_halt() {
    let desk = Desk::broken().await;
    let reason = "Error searching knowledge base: could not embed: ";
    let model = searching(1);
    let state = desk.state(&model).await;
    let result = results(&state)[0];
    assert!(result.content.to_text().starts_with(reason), "{result:?}");
    assert_eq!((state.exit(), model.requests().len()), (Some(CriticExit::Critiqued), 2));

    let model = searching(1);
    let settings = CriticSettings { on_tool_error: OnToolError::Halt, ..CriticSettings::default() };
    let config = desk.config(&model).settings(settings).unwrap();
    let error = critique_image(desk.photo()).with(config).await.unwrap_err();
    let expected = format!("the critique ended, as the tool `composition_rag_tool` failed: {reason}");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn s3_051_054_and_074_usage_is_that_of_all_calls_and_that_of_the_last_is_there_too() {
    let (desk, model) = (Desk::new().await, searching(2));
    let critique = critique_image(desk.photo()).with(desk.config(&model)).await.unwrap();
    let usage = |input_tokens, output_tokens| TokenUsage {
        input_tokens,
        output_tokens,
        total_tokens: input_tokens + output_tokens,
    };
    assert_eq!((critique.token_usage, critique.last_call), (usage(700, 70), usage(500, 50)));
    assert_eq!(critique.ledger.total().calls, 3);
    // A provider that says nothing of it.
    let silent = Arc::new(Scripted::new().say("Well balanced."));
    let critique = critique_image(desk.photo()).with(desk.config(&silent)).await.unwrap();
    assert_eq!(critique.token_usage, usage(0, 0));
    assert_eq!(serde_json::from_str::<TokenUsage>("{}").unwrap(), usage(0, 0));
}

#[tokio::test]
async fn s3_052_and_055_usage_can_be_read_and_has_a_price() {
    let (desk, model) = (Desk::new().await, searching(2));
    let critique = critique_image(desk.photo()).with(desk.config(&model)).await.unwrap();
    assert_eq!(critique.token_usage.to_string(), "700 tokens read, 70 written, 770 in all");
    // In US dollars for a million tokens: 700 × 2 + 70 × 8 millionths.
    let prices = Prices::none().with("gpt-4.1", Price::per_million(2.0, 8.0));
    assert_eq!(critique.ledger.cost(&prices).micro_usd, 1_960);
}

#[tokio::test]
async fn s3_057_a_reply_may_say_something_beside_its_calls_or_nothing() {
    let desk = Desk::new().await;
    let reply = ModelReply::new("m", "I look that up.").with_calls(vec![search("c1", "light")]);
    let model =
        Scripted::new().then(Turn::Reply(reply)).then(asking(&[search("c2", "light")], Usage::default()));
    let model = Arc::new(model.say("Well balanced."));
    let state = desk.state(&model).await;
    assert_eq!(state.messages[1].text(), "I look that up.");
    assert_eq!(state.messages[3].text(), "");
    assert_eq!(state.output(), "Well balanced.");
}

#[tokio::test]
async fn a_critique_that_was_cut_off_does_not_pass_for_a_whole_one() {
    let desk = Desk::new().await;
    let mut reply = ModelReply::new("m", "The horizon");
    reply.stop = StopReason::MaxTokens;
    let model = Arc::new(Scripted::new().then(Turn::Reply(reply)));
    let state = desk.state(&model).await;
    assert_eq!((state.output().as_str(), state.exit()), ("The horizon", Some(CriticExit::CutShort)));
    assert_eq!(Critique::of(&state).unwrap().stop, Some(StopReason::MaxTokens));
}

#[tokio::test]
async fn s3_017_a_photograph_that_is_not_there_is_an_error_before_the_model_is_asked() {
    let (desk, model) = (Desk::new().await, searching(0));
    let gone = desk.folder.path().join("gone.jpg");
    let error = critique_image(&gone).with(desk.config(&model)).await.unwrap_err();
    assert!(
        matches!(&error, CriticError::Image(ImageFileError::NotFound { path }) if *path == gone),
        "{error:?}"
    );
    assert_eq!(model.requests().len(), 0);
}
