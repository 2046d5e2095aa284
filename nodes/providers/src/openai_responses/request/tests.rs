use superstep_nodes::message::{
    Content, Conversation, Detail, Image, Message, Native, Origin, Part, Thinking, ToolCall,
};
use superstep_nodes::model::{Effort, OutputFormat, Purpose, ToolChoice};

use super::*;
use crate::openai_responses::PROVIDER;
use crate::sendable::{GO_ON, OPENING};

fn form() -> RequestForm {
    RequestForm::new("gpt-test".into())
}

fn request(messages: impl Into<Conversation>) -> ModelRequest {
    ModelRequest::new(Purpose::Agent, messages)
}

fn add() -> ToolSpec {
    let input_schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    ToolSpec { name: "add".into(), description: "Adds.".into(), input_schema }
}

fn said(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": text })
}

fn input(messages: impl Into<Conversation>) -> Value {
    form().streamed(&request(messages))["input"].clone()
}

fn call() -> ToolCall {
    ToolCall::new("c1", "add", json!({ "a": 1 }))
}

fn asked() -> Value {
    json!({ "type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}" })
}

fn answered(output: impl Into<Value>) -> Value {
    json!({ "type": "function_call_output", "call_id": "c1", "output": output.into() })
}

#[test]
fn a_whole_request() {
    let conversation = [
        Message::system("s1", "Be kind."),
        Message::human("m1", "What is 1 + 1?"),
        Message::ai_with_calls("m2", "Let me add.", vec![call()]),
        Message::tool_error("m3", &call(), "overflow"),
        Message::system("s2", "Hurry."),
        Message::human("m4", "Well?"),
    ];
    let mut settings = Settings {
        max_output_tokens: Some(5),
        temperature: Some(0.5),
        stop: vec!["END".into()],
        parallel_tool_calls: Some(false),
        effort: Some(Effort::Low),
        ..Settings::default()
    };
    settings.extra.insert("service_tier".into(), "auto".into());
    let request =
        request(conversation).with_system("Be brief.").with_tools(vec![add()]).with_settings(settings);
    let form = RequestForm { cache_key: Some("user-1".into()), reasoning: Reasoning::Summarised, ..form() };
    let mut expected = json!({
        "model": "gpt-test",
        "input": [
            said("user", "What is 1 + 1?"),
            said("assistant", "Let me add."),
            asked(),
            answered("Error: overflow"),
            said("developer", "Hurry."),
            said("user", "Well?"),
        ],
        "instructions": "Be brief.\n\nBe kind.",
        "tools": [{ "type": "function", "name": "add", "description": "Adds.",
            "parameters": add().input_schema, "strict": false }],
        "parallel_tool_calls": false,
        "reasoning": { "effort": "low", "summary": "auto" },
    });
    assert_eq!(form.counted(&request), expected);
    let rest = json!({
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 16,
        "temperature": 0.5,
        "prompt_cache_key": "user-1",
        "service_tier": "auto",
    });
    expected.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    assert_eq!(form.streamed(&request), expected);
    let thoughtless = RequestForm { reasoning: Reasoning::Off, ..form };
    assert_eq!(thoughtless.streamed(&request)["include"], Value::Null);
}

#[test]
fn the_same_request_is_the_same_text_and_what_continues_begins_with_it() {
    let mut conversation = vec![Message::human("m1", "one"), Message::ai_with_calls("m2", "", vec![call()])];
    conversation.push(Message::tool("m3", &call(), "two"));
    let before = input(&*conversation).to_string();
    assert_eq!(before, input(&*conversation).to_string());
    conversation.extend([Message::ai("m4", "three"), Message::human("m5", "four")]);
    assert!(input(&*conversation).to_string().starts_with(before.trim_end_matches(']')), "{before}");
}

#[test]
fn the_user_has_the_first_word_and_the_last() {
    assert_eq!(input([]), json!([said("user", OPENING)]));
    let expected = json!([said("user", OPENING), said("assistant", "Hello."), said("user", GO_ON)]);
    assert_eq!(input([Message::ai("m1", "Hello.")]), expected);
}

#[test]
fn images_are_parts_of_what_the_user_says_and_of_results() {
    let image = Part::Image(Image::base64("image/png", "iVBORw0KGgo=").with_detail(Detail::High));
    let content: Content = [Part::text("Look:"), Part::text(" "), image.clone()].into_iter().collect();
    let conversation = [
        Message::human("m1", content),
        Message::ai_with_calls("m2", "", vec![call()]),
        Message::tool("m3", &call(), Content::from(image)),
    ];
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let picture =
        json!({ "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high" });
    let shown = input(conversation);
    assert_eq!(shown[0]["content"], json!([text("Look:"), picture]));
    assert_eq!(shown[2], answered(json!([text("(an image)"), picture])));
    let blank = [Message::ai_with_calls("m2", "", vec![call()]), Message::tool("m3", &call(), " ")];
    assert_eq!(input(blank)[2], answered("(no output)"));
}

fn thought(model: &str, id: &str) -> (Part, Value) {
    let raw = json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": id });
    let origin = Origin::new(PROVIDER, model);
    (Part::Thinking(Thinking { text: String::new(), origin, raw: raw.clone() }), raw)
}

#[test]
fn thoughts_and_native_items_go_back_to_the_model_that_said_them_and_to_no_other() {
    let shown = |model: &str| {
        let (one, first) = thought(model, "rs_1");
        let (two, second) = thought(model, "rs_2");
        let raw = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
        let native = Part::Native(Native { origin: Origin::new(PROVIDER, model), raw: raw.clone() });
        let content: Content =
            [one, Part::ToolCall { index: 0 }, two, native, Part::text("So.")].into_iter().collect();
        let conversation = [Message::human("m1", "?"), Message::ai_with_calls("m2", content, vec![call()])];
        (input(conversation), first, second, raw)
    };
    let (own, first, second, native) = shown("gpt-test");
    let items = &own.as_array().unwrap()[1..6];
    assert_eq!(items, [first, asked(), second, native, said("assistant", "So.")], "each in its place");
    let (foreign, ..) = shown("gpt-other");
    assert_eq!(foreign.as_array().unwrap()[1..3], [asked(), said("assistant", "So.")]);
}

#[test]
fn a_thought_is_sent_only_with_what_came_of_it_and_only_if_it_is_sealed() {
    let (alone, _) = thought("gpt-test", "rs_1");
    let (before, _) = thought("gpt-test", "rs_2");
    let blank: Content = [Part::text("So."), before, Part::text(" ")].into_iter().collect();
    let (mut open, _) = thought("gpt-test", "rs_3");
    if let Part::Thinking(thought) = &mut open {
        thought.raw["encrypted_content"] = Value::Null;
    }
    let conversation = [
        Message::human("m1", "?"),
        Message::ai("m2", Content::from(alone)),
        Message::ai("m3", blank),
        Message::ai("m4", [open, Part::text("Yes.")].into_iter().collect::<Content>()),
        Message::human("m5", "!"),
    ];
    let expected =
        json!([said("user", "?"), said("assistant", "So."), said("assistant", "Yes."), said("user", "!")]);
    assert_eq!(input(conversation), expected);
}

#[test]
fn which_tools_may_be_called() {
    let choice = |choice| {
        let request = request([Message::human("m1", "?")]).with_tools(vec![add()]);
        form().streamed(&request.with_tool_choice(choice))["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), Value::Null);
    assert_eq!(choice(ToolChoice::Required), "required");
    assert_eq!(choice(ToolChoice::Tool("add".into())), json!({ "type": "function", "name": "add" }));
    let without = request([Message::human("m1", "?")]).with_tool_choice(ToolChoice::Required);
    assert_eq!(form().streamed(&without)["tool_choice"], Value::Null, "there is nothing to choose");
}

#[test]
fn the_form_of_the_reply() {
    let mut schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let output = OutputFormat::Json { name: "Answer".into(), schema: schema.clone() };
    let body = form().streamed(&request([Message::human("m1", "?")]).with_output(output));
    schema["additionalProperties"] = false.into();
    let expected = json!({ "type": "json_schema", "name": "Answer", "schema": schema, "strict": true });
    assert_eq!(body["text"], json!({ "format": expected }));
}

#[test]
fn models_that_do_not_think_are_not_asked_for_thoughts() {
    for model in ["gpt-5", "o4-mini", "gpt-oss-120b", "a-new-one"] {
        assert_eq!(Reasoning::of(model), Reasoning::Sealed, "{model}");
    }
    for model in ["gpt-4.1", "gpt-4o-mini", "ft:gpt-4o:org", "openai/gpt-3.5-turbo", "chatgpt-4o-latest"] {
        assert_eq!(Reasoning::of(model), Reasoning::Off, "{model}");
    }
}
