use superstep_nodes::message::{Conversation, Native, Origin, Thinking, ToolCall};
use superstep_nodes::model::{Effort, OutputFormat, Purpose, Settings};

use super::*;

fn openai() -> RequestForm {
    RequestForm::of_openai("gpt-test".into())
}

fn compatible() -> RequestForm {
    RequestForm::compatible("open".into())
}

fn request(messages: impl Into<Conversation>) -> ModelRequest {
    ModelRequest::new(Purpose::Agent, messages)
}

fn add() -> ToolSpec {
    let input_schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    ToolSpec { name: "add".into(), description: "Adds.".into(), input_schema }
}

fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

fn messages(form: &RequestForm, messages: impl Into<Conversation>) -> Value {
    form.streamed(&request(messages))["messages"].clone()
}

fn call() -> ToolCall {
    ToolCall::new("c1", "add", json!({ "a": 1 }))
}

fn asked(arguments: &str) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "add", "arguments": arguments } },
    ] })
}

#[test]
fn a_whole_request() {
    let conversation = [
        Message::human("m1", "What is 1 + 1?"),
        Message::ai_with_calls("m2", "Let me add.", vec![call()]),
        Message::tool_error("m3", &call(), "overflow"),
        Message::human("m4", "Well?"),
    ];
    let mut settings = Settings {
        max_output_tokens: Some(100),
        temperature: Some(0.5),
        stop: vec!["END".into()],
        parallel_tool_calls: Some(false),
        effort: Some(Effort::Low),
        ..Settings::default()
    };
    settings.extra.insert("seed".into(), 7.into());
    let request =
        request(conversation).with_system("Be brief.").with_tools(vec![add()]).with_settings(settings);
    let form = RequestForm { cache_key: Some("user-1".into()), ..openai() };
    let mut calling = asked("{\"a\":1}");
    calling["content"] = "Let me add.".into();
    let expected = json!({
        "model": "gpt-test",
        "messages": [
            said("system", "Be brief."),
            said("user", "What is 1 + 1?"),
            calling,
            { "role": "tool", "tool_call_id": "c1", "content": "Error: overflow" },
            said("user", "Well?"),
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": [{ "type": "function", "function": {
            "name": "add", "description": "Adds.", "parameters": add().input_schema,
        } }],
        "parallel_tool_calls": false,
        "max_completion_tokens": 100,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "stop": ["END"],
        "prompt_cache_key": "user-1",
        "seed": 7,
    });
    assert_eq!(form.streamed(&request), expected);
    assert_eq!(compatible().streamed(&request)["max_tokens"], 100);
    let silent = RequestForm { asks_for_usage: false, ..compatible() };
    assert_eq!(silent.streamed(&request)["stream_options"], Value::Null);
}

#[test]
fn the_same_request_is_the_same_text_and_what_continues_begins_with_it() {
    let mut conversation = vec![Message::human("m1", "one"), Message::ai_with_calls("m2", "", vec![call()])];
    conversation.push(Message::tool("m3", &call(), "two"));
    let text = |conversation: &[Message]| openai().streamed(&request(conversation))["messages"].to_string();
    let before = text(&conversation);
    assert_eq!(before, text(&conversation.clone()));
    conversation.extend([Message::ai("m4", "three"), Message::human("m5", "four")]);
    assert!(text(&conversation).starts_with(before.trim_end_matches(']')), "{before}");
}

#[test]
fn later_instructions_stay_in_their_place() {
    let conversation = [
        Message::system("s1", "First."),
        Message::human("m1", "?"),
        Message::system("s2", "Second."),
        Message::human("m2", "!"),
    ];
    let shown = |form: RequestForm| {
        form.streamed(&request(conversation.clone()).with_system("Given."))["messages"].clone()
    };
    let (first, question, last) = ("Given.\n\nFirst.", said("user", "?"), said("user", "!"));
    let expected = json!([said("system", first), question, said("system", "Second."), last]);
    assert_eq!(shown(openai()), expected);
    let developer = RequestForm { instruction_role: InstructionRole::Developer, ..openai() };
    let expected = json!([said("developer", first), question, said("developer", "Second."), last]);
    assert_eq!(shown(developer), expected);
    let note = said("user", "<system>\nSecond.\n</system>");
    assert_eq!(shown(compatible()), json!([said("system", first), question, note, last]));
}

#[test]
fn the_user_has_the_first_word_and_the_last() {
    assert_eq!(messages(&openai(), []), json!([said("user", OPENING)]));
    let expected = json!([said("user", OPENING), said("assistant", "Hello."), said("user", GO_ON)]);
    assert_eq!(messages(&openai(), [Message::ai("m1", "Hello.")]), expected);
    let only = messages(&openai(), [Message::system("s1", "Be brief.")]);
    assert_eq!(only, json!([said("system", "Be brief."), said("user", OPENING)]));
}

#[test]
fn images_are_parts_of_what_the_user_says() {
    let image = |image: Image| Part::Image(image);
    let content: Content = [
        Part::text("What is this?"),
        image(Image::base64("image/png", "iVBORw0KGgo=")),
        Part::text(" "),
        image(Image::url("https://example.org/a.png").with_detail(superstep_nodes::message::Detail::Low)),
    ]
    .into_iter()
    .collect();
    let expected = json!([
        { "type": "text", "text": "What is this?" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto" } },
        { "type": "image_url", "image_url": { "url": "https://example.org/a.png", "detail": "low" } },
    ]);
    assert_eq!(messages(&openai(), [Message::human("m1", content)])[0]["content"], expected);
}

#[test]
fn images_of_results_come_after_the_last_of_them() {
    let calls = [call(), ToolCall::new("c2", "look", json!({}))];
    let picture = Image::base64("image/png", "iVBORw0KGgo=");
    let conversation = [
        Message::human("m1", "?"),
        Message::ai_with_calls("m2", "", calls.to_vec()),
        Message::tool("m3", &calls[0], Content::from(Part::Image(picture))),
        Message::tool("m4", &calls[1], ""),
    ];
    let all = messages(&openai(), conversation);
    let expected = json!([
        { "role": "tool", "tool_call_id": "c1", "content": IMAGES_FOLLOW },
        { "role": "tool", "tool_call_id": "c2", "content": NO_OUTPUT },
        { "role": "user", "content": [
            { "type": "text", "text": "Images of the result of add, call c1:" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto" } },
        ] },
    ]);
    assert_eq!(all.as_array().unwrap()[2..], *expected.as_array().unwrap());
}

#[test]
fn what_only_other_providers_understand_is_left_out_and_so_is_what_is_blank_then() {
    let foreign = Origin::new("anthropic", "claude-test");
    let raw = json!({ "type": "thinking", "thinking": "hm", "signature": "x" });
    let thought = Part::Thinking(Thinking { text: "hm".into(), origin: foreign.clone(), raw });
    let native = Part::Native(Native { origin: foreign, raw: json!({ "type": "new" }) });
    let conversation = [
        Message::human("m1", "?"),
        Message::ai("m2", Content::from(thought.clone())),
        Message::human("m3", Content::from(native.clone())),
        Message::ai("m4", [thought, native, Part::text("So.")].into_iter().collect::<Content>()),
    ];
    let expected = json!([said("user", "?"), said("assistant", "So."), said("user", GO_ON)]);
    assert_eq!(messages(&openai(), conversation), expected);
}

#[test]
fn a_models_own_thoughts_are_sent_back_only_where_that_is_wanted() {
    let thought = |model: &str, text: &str| {
        let raw = json!({ "reasoning_content": text });
        Part::Thinking(Thinking { text: text.into(), origin: Origin::new(PROVIDER, model), raw })
    };
    let content: Content =
        [thought("open", "I "), thought("open", "think."), thought("other", "No."), Part::text("So.")]
            .into_iter()
            .collect();
    let conversation = [Message::human("m1", "?"), Message::ai("m2", content)];
    assert_eq!(messages(&compatible(), conversation.clone())[1], said("assistant", "So."));
    let returned = RequestForm { returns_thoughts: true, ..compatible() };
    let expected = json!({ "role": "assistant", "content": "So.", "reasoning_content": "I think." });
    assert_eq!(messages(&returned, conversation)[1], expected);
}

#[test]
fn tools_that_are_gone_are_reported_and_cannot_be_called() {
    let call = ToolCall::new("c1", "look up!", json!("not an object"));
    let settings = Settings { parallel_tool_calls: Some(true), ..Settings::default() };
    let request = request([Message::human("m1", "?"), Message::ai_with_calls("m2", "", vec![call])]);
    let body = openai().streamed(&request.with_settings(settings));
    assert_eq!(body["tools"][0]["function"]["name"], "look_up_");
    assert_eq!((&body["tool_choice"], &body["parallel_tool_calls"]), (&json!("none"), &Value::Null));
    let function = json!({ "name": "look_up_", "arguments": "{\"input\":\"not an object\"}" });
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"], function);
}

#[test]
fn which_tools_may_be_called() {
    let choice = |choice| {
        let request = request([Message::human("m1", "?")]).with_tools(vec![add()]);
        openai().streamed(&request.with_tool_choice(choice))["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::None), "none");
    assert_eq!(choice(ToolChoice::Required), "required");
    let named = json!({ "type": "function", "function": { "name": "add" } });
    assert_eq!(choice(ToolChoice::Tool("add".into())), named);
    let without = request([Message::human("m1", "?")]).with_tool_choice(ToolChoice::Required);
    assert_eq!(openai().streamed(&without)["tool_choice"], Value::Null, "there is nothing to choose");
}

#[test]
fn the_form_of_the_reply() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let request = request([Message::human("m1", "?")])
        .with_output(OutputFormat::Json { name: "Answer".into(), schema: schema.clone() });
    let form = |form: RequestForm| form.streamed(&request)["response_format"].clone();
    let mut closed = schema.clone();
    closed["additionalProperties"] = false.into();
    let expected = json!({ "name": "Answer", "schema": closed, "strict": true });
    assert_eq!(form(openai()), json!({ "type": "json_schema", "json_schema": expected }));
    let lenient = form(RequestForm { strictness: Strictness::Lenient, ..openai() });
    let expected = json!({ "name": "Answer", "schema": schema, "strict": false });
    assert_eq!(lenient["json_schema"], expected);
}
