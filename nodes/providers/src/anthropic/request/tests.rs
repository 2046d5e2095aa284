use serde_json::json;
use superstep_nodes::message::{Conversation, Native, Origin, Thinking as Thought, ToolCall};
use superstep_nodes::model::{Effort, Purpose, Settings};

use super::*;

fn form() -> RequestForm {
    RequestForm { caching: Caching::Off, ..RequestForm::new("claude-test".into()) }
}

fn request(messages: impl Into<Conversation>) -> ModelRequest {
    ModelRequest::new(Purpose::Agent, messages)
}

fn add() -> ToolSpec {
    let input_schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    ToolSpec { name: "add".into(), description: "Adds.".into(), input_schema }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn a_whole_request() {
    let call = ToolCall::new("c1", "add", json!({ "a": 1 }));
    let conversation = [
        Message::human("m1", "What is 1 + 1?"),
        Message::ai_with_calls("m2", "Let me add.", vec![call.clone()]),
        Message::tool_error("m3", &call, "overflow"),
        Message::human("m4", "Well?"),
    ];
    let mut settings = Settings { temperature: Some(0.5), stop: vec!["END".into()], ..Settings::default() };
    settings.effort = Some(Effort::Low);
    settings.extra.insert("service_tier".into(), "auto".into());
    let request =
        request(conversation).with_system("Be brief.").with_tools(vec![add()]).with_settings(settings);
    let expected = json!({
        "model": "claude-test",
        "max_tokens": 8192,
        "stream": true,
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "service_tier": "auto",
        "output_config": { "effort": "low" },
        "system": [text("Be brief.")],
        "tools": [{ "name": "add", "description": "Adds.", "input_schema": add().input_schema }],
        "messages": [
            { "role": "user", "content": [text("What is 1 + 1?")] },
            { "role": "assistant", "content": [
                text("Let me add."),
                { "type": "tool_use", "id": "c1", "name": "add", "input": { "a": 1 } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": [text("overflow")], "is_error": true },
                text("Well?"),
            ] },
        ],
    });
    assert_eq!(form().streamed(&request), expected);
}

#[test]
fn s4_043_all_results_of_a_turn_are_in_one_message_of_the_user() {
    let calls = ["c1", "c2"].map(|id| ToolCall::new(id, "add", json!({ "a": 1 })));
    let conversation = [
        Message::human("m1", "Add twice."),
        Message::ai_with_calls("m2", "", calls.to_vec()),
        Message::tool_error("m3", &calls[0], "overflow"),
        Message::tool_error("m4", &calls[1], "overflow"),
    ];
    let body = form().streamed(&request(conversation).with_tools(vec![add()]));
    let turns: Vec<_> = body["messages"].as_array().unwrap().iter().map(|turn| &turn["role"]).collect();
    assert_eq!(turns, ["user", "assistant", "user"]);
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(results.iter().map(|result| &result["tool_use_id"]).collect::<Vec<_>>(), ["c1", "c2"]);
}

#[test]
fn what_continues_begins_with_what_was_sent_before() {
    let form = RequestForm::new("claude-test".into());
    let mut conversation =
        vec![Message::human("m1", "one"), Message::ai("m2", "two"), Message::human("m3", "three")];
    let marked = |conversation: &[Message]| {
        let body = form.streamed(&request(conversation).with_system("s").with_tools(vec![add()]));
        let blocks =
            body["messages"].as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap());
        let texts = blocks.filter(|block| block.get("cache_control").is_some());
        let texts: Vec<String> = texts.map(|block| block["text"].as_str().unwrap().to_owned()).collect();
        assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
        texts
    };
    assert_eq!(marked(&conversation), ["one", "three"]);
    conversation.extend([Message::ai("m4", "four"), Message::human("m5", "five")]);
    assert_eq!(marked(&conversation), ["three", "five"], "the mark that was sent before is sent again");
}

#[test]
fn the_same_request_is_the_same_text() {
    let request = request([Message::human("m1", "?")]).with_tools(vec![add()]);
    assert_eq!(form().streamed(&request).to_string(), form().streamed(&request.clone()).to_string());
}

#[test]
fn instructions_at_the_start_are_the_system_and_later_ones_are_notes() {
    let conversation = [
        Message::system("s1", "First."),
        Message::human("m1", "?"),
        Message::system("s2", "Second."),
        Message::human("m2", "!"),
    ];
    let body = form().streamed(&request(conversation).with_system("Given."));
    assert_eq!(body["system"], json!([text("Given."), text("First.")]));
    let content = json!([text("?"), text("<system>\nSecond.\n</system>"), text("!")]);
    assert_eq!(body["messages"], json!([{ "role": "user", "content": content }]));
}

#[test]
fn the_user_has_the_first_word_and_the_last() {
    let turns = |messages: Vec<Message>| form().streamed(&request(messages))["messages"].clone();
    assert_eq!(turns(vec![]), json!([{ "role": "user", "content": [text(OPENING)] }]));
    let said = turns(vec![Message::ai("m1", "Hello.")]);
    let roles: Vec<_> = said.as_array().unwrap().iter().map(|turn| turn["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[test]
fn thoughts_and_native_parts_go_back_to_the_model_that_said_them_and_to_no_other() {
    let raw = json!({ "type": "thinking", "thinking": "hm", "signature": "x" });
    let own = Origin::new(PROVIDER, "claude-test");
    let said = |origin: &Origin| {
        let thought = Part::Thinking(Thought { text: "hm".into(), origin: origin.clone(), raw: raw.clone() });
        let native = Part::Native(Native { origin: origin.clone(), raw: json!({ "type": "new" }) });
        let content: Content =
            [thought, Part::ToolCall { index: 0 }, native, Part::text("done")].into_iter().collect();
        let call = ToolCall::new("c1", "add", json!({}));
        let messages = [Message::human("m1", "?"), Message::ai_with_calls("m2", content, vec![call])];
        form().streamed(&request(messages))["messages"][1]["content"].clone()
    };
    let call = json!({ "type": "tool_use", "id": "c1", "name": "add", "input": {} });
    assert_eq!(said(&own), json!([raw, call, { "type": "new" }, text("done")]), "each in its place");
    for other in [Origin::new(PROVIDER, "claude-other"), Origin::new("openai", "claude-test")] {
        assert_eq!(said(&other), json!([call, text("done")]));
    }
}

#[test]
fn tools_that_are_gone_are_reported_and_cannot_be_called() {
    let call = ToolCall::new("c1", "look up!", json!("not an object"));
    let messages = [Message::human("m1", "?"), Message::ai_with_calls("m2", "", vec![call])];
    let body = form().streamed(&request(messages));
    assert_eq!(body["tools"][0]["name"], "look_up_");
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
    let asked =
        json!({ "type": "tool_use", "id": "c1", "name": "look_up_", "input": { "input": "not an object" } });
    assert_eq!(body["messages"][1]["content"], json!([asked]));
}

#[test]
fn which_tools_may_be_called() {
    let choice = |choice, parallel| {
        let settings = Settings { parallel_tool_calls: parallel, ..Settings::default() };
        let request = request([Message::human("m1", "?")]).with_tools(vec![add()]);
        form().streamed(&request.with_tool_choice(choice).with_settings(settings))["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto, None), Value::Null);
    assert_eq!(
        choice(ToolChoice::Auto, Some(false)),
        json!({ "type": "auto", "disable_parallel_tool_use": true })
    );
    assert_eq!(choice(ToolChoice::None, Some(false)), json!({ "type": "none" }));
    assert_eq!(choice(ToolChoice::Required, None), json!({ "type": "any" }));
    assert_eq!(choice(ToolChoice::Tool("add".into()), None), json!({ "type": "tool", "name": "add" }));
}

#[test]
fn images_thinking_and_the_form_of_the_reply() {
    let image = |image: Image| Message::human("m1", Content::from(Part::Image(image)));
    let form = RequestForm { thinking: Thinking::Budget(100), ..form() };
    let output =
        OutputFormat::Json { name: "x".into(), schema: json!({ "type": "object", "properties": {} }) };
    let body =
        form.streamed(&request([image(Image::base64("image/png", "iVBORw0KGgo="))]).with_output(output));
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
    assert_eq!(body["messages"][0]["content"], json!([{ "type": "image", "source": source }]));
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 1024 }));
    assert_eq!(body["max_tokens"], 8192 + 1024);
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(body["output_config"]["format"], json!({ "type": "json_schema", "schema": schema }));
    let form = RequestForm { thinking: Thinking::Adaptive, ..form };
    let body = form.streamed(&request([image(Image::url("https://example.org/a.png"))]));
    let source = json!({ "type": "url", "url": "https://example.org/a.png" });
    assert_eq!(body["messages"][0]["content"][0]["source"], source);
    assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
}

#[test]
fn a_thought_without_anything_after_it_is_left_out() {
    let raw = json!({ "type": "thinking", "thinking": "hm", "signature": "x" });
    let origin = Origin::new(PROVIDER, "claude-test");
    let thought = Part::Thinking(Thought { text: "hm".into(), origin, raw });
    let content: Content = [Part::text("So."), thought].into_iter().collect();
    let body = form().streamed(&request([
        Message::human("m1", "?"),
        Message::ai("m2", content),
        Message::human("m3", "!"),
    ]));
    assert_eq!(body["messages"][1]["content"], json!([text("So.")]));
}

/// A word of the user after it would have made the provider begin another turn, without what its tools were about to
/// give.
#[test]
fn a_reply_that_is_continued_is_sent_back_as_it_came() {
    let origin = Origin::new(PROVIDER, "claude-test");
    let tool = json!({ "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} });
    let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "x" });
    let content: Content = [
        Part::text("Let me search."),
        Part::Native(Native { origin: origin.clone(), raw: tool.clone() }),
        Part::Thinking(Thought { text: "hm".into(), origin, raw: thought.clone() }),
    ]
    .into_iter()
    .collect();
    let paused = AiMessage { id: "m2".into(), content, tool_calls: Vec::new() };
    let asked = request([Message::human("m1", "?")]).continuing(paused);
    let marked = RequestForm::new("claude-test".into()).streamed(&asked)["messages"].clone();
    let question = json!({ "type": "text", "text": "?", "cache_control": { "type": "ephemeral" } });
    assert_eq!(
        marked,
        json!([
            { "role": "user", "content": [question] },
            { "role": "assistant", "content": [text("Let me search."), tool, thought] },
        ])
    );
}

#[test]
fn a_model_does_not_think_where_that_would_be_refused() {
    let form = RequestForm { thinking: Thinking::Budget(2_000), ..form() };
    let call = ToolCall::new("c1", "add", json!({}));
    let begun = [Message::human("m1", "?"), Message::ai_with_calls("m2", "", vec![call])];
    let asked = |request: ModelRequest| {
        let body = form.streamed(&request.with_tools(vec![add()]));
        (body["thinking"]["type"].clone(), body["max_tokens"].clone())
    };
    assert_eq!(
        asked(request(begun.clone())),
        (Value::Null, json!(8_192)),
        "another model has begun the turn"
    );
    let over: Vec<Message> =
        begun.into_iter().chain([Message::ai("m3", "2"), Message::human("m4", "!")]).collect();
    assert_eq!(asked(request(over.clone())), (json!("enabled"), json!(10_192)));
    assert_eq!(asked(request(over).with_tool_choice(ToolChoice::Required)).0, Value::Null);
}

#[test]
fn an_error_is_reported_in_words_alone() {
    let call = ToolCall::new("c1", "add", json!({}));
    let image = Part::Image(Image::base64("image/png", "iVBORw0KGgo="));
    let shown: Content = [Part::text("overflow"), image].into_iter().collect();
    let messages =
        [Message::ai_with_calls("m2", "", vec![call.clone()]), Message::tool_error("m3", &call, shown)];
    let body = form().streamed(&request(messages));
    assert_eq!(body["messages"][2]["content"][0]["content"], json!([text("overflow")]));
}

#[test]
fn an_image_that_the_provider_would_not_fetch_is_named() {
    let image = Part::Image(Image::url("http://example.org/a.png"));
    let body = form().streamed(&request([Message::human("m1", Content::from(image))]));
    assert_eq!(body["messages"][0]["content"], json!([text("[an image at http://example.org/a.png]")]));
}
