//! No request is refused, whatever was said before.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use superstep_nodes::message::{Content, Image, Message, Native, Origin, Part, Thinking, ToolCall};
use superstep_nodes::model::{Effort, ModelRequest, OutputFormat, Settings, ToolChoice};
use superstep_nodes::tool::ToolSpec;
use superstep_testkit::{MockServer, Reply};

use super::clients::{Way, request};

/// The first bytes of a PNG file.
const PNG: &str = "iVBORw0KGgo=";

fn text() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just(""), Just(" \n"), Just("x"), Just("Ä \u{0} \"quoted\"")]
}

/// Parts of all kinds; those that only one provider understands are of models that are not called here.
fn part() -> impl Strategy<Value = Part> {
    let provider = prop_oneof![Just("anthropic"), Just("openai-chat"), Just("openai-responses")];
    let foreign = provider.prop_map(|provider| Origin::new(provider, "another-model"));
    prop_oneof![
        3 => text().prop_map(Part::text),
        1 => Just(Part::Image(Image::base64("image/png", PNG))),
        1 => Just(Part::Image(Image::url("https://example.org/a.png"))),
        1 => foreign.clone().prop_map(|origin| {
            Part::Thinking(Thinking { text: "hm".into(), origin, raw: json!({ "type": "thinking" }) })
        }),
        1 => foreign.prop_map(|origin| Part::Native(Native { origin, raw: json!({ "type": "new" }) })),
        1 => (0_usize..3).prop_map(|index| Part::ToolCall { index }),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    prop::collection::vec(part(), 0..4).prop_map(Content::from_iter)
}

fn call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("a.b")];
    let name = prop_oneof![Just("look"), Just("look up!"), Just(""), Just("änderung")];
    let input = prop_oneof![
        Just(json!({ "q": 1 })),
        Just(Value::Null),
        Just(json!("{\"q\":")),
        Just(json!("{\"q\":1}")),
        Just(json!([1])),
    ];
    (id, name, input).prop_map(|(id, name, input)| ToolCall::new(id, name, input))
}

/// Any messages, with few ids, so that they meet.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let kind = (0_u8..6, prop::collection::vec(call(), 1..4), content());
    prop::collection::vec(kind, 0..10).prop_map(|kinds| {
        let message = |(position, (kind, calls, content)): (usize, (u8, Vec<ToolCall>, Content))| {
            let id = format!("m{position}");
            match kind {
                0 => Message::human(id, content),
                1 => Message::ai(id, content),
                2 => Message::ai_with_calls(id, content, calls),
                3 => Message::system(id, content),
                4 => Message::tool_error(id, &calls[0], content),
                _ => Message::tool(id, &calls[0], content),
            }
        };
        kinds.into_iter().enumerate().map(message).collect()
    })
}

fn tools() -> impl Strategy<Value = Vec<ToolSpec>> {
    let tool = |name: &str, input_schema: Value| ToolSpec {
        name: name.into(),
        description: "Does something.".into(),
        input_schema,
    };
    let typed = json!({ "type": "object", "properties": { "q": { "type": "integer", "minimum": 1 } } });
    prop_oneof![Just(vec![]), Just(vec![tool("look", typed), tool("now", json!({}))])]
}

fn output() -> impl Strategy<Value = OutputFormat> {
    let json = |schema: Value| OutputFormat::Json { name: "An answer".into(), schema };
    let member = json!({ "type": "object", "properties": { "q": { "type": "string", "minLength": 1 } } });
    let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    prop_oneof![
        Just(OutputFormat::Text),
        Just(json(member)),
        Just(json(map)),
        Just(json(json!({ "type": "string" })))
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let effort = prop_oneof![Just(None), Just(Some(Effort::High))];
    let parallel = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    let most = prop_oneof![Just(None), Just(Some(1)), Just(Some(4_096))];
    (effort, parallel, most).prop_map(|(effort, parallel_tool_calls, max_output_tokens)| Settings {
        effort,
        parallel_tool_calls,
        max_output_tokens,
        stop: vec!["END".into()],
        ..Settings::default()
    })
}

fn requests() -> impl Strategy<Value = ModelRequest> {
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        Just(ToolChoice::Tool("look".into())),
    ];
    let told = (messages(), text(), tools(), choice, output(), settings());
    told.prop_map(|(messages, system, tools, choice, output, settings)| {
        let request = request(messages).with_system(system).with_tools(tools).with_tool_choice(choice);
        request.with_output(output).with_settings(settings)
    })
}

#[test]
fn no_request_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = MockServer::builder().start_in_thread().unwrap();
    server.answer_with(|_| Reply::text("Yes."));
    let clients = Way::ALL.map(|way| (way, way.client(&server)));
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&requests(), |request| {
        for (way, client) in &clients {
            let reply = runtime.block_on(client.complete(request.clone()));
            prop_assert_eq!(reply.map(|reply| reply.text().into_owned()), Ok("Yes.".to_owned()), "{:?}", way);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn no_request_is_refused_for_the_schema_of_a_third_party_tool() {
    let form = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let schemas = [
        json!({ "properties": { "q": { "type": "array" } } }),
        json!({ "type": "object", "properties": { "q": { "type": "object" } } }),
        json!({ "type": "object", "properties": { "q": { "type": ["array", "null"] } } }),
        json!({ "type": "object", "properties": { "q": { "anyOf": [{ "type": "array" }, { "type": "object" }] } } }),
        json!({ "type": "object", "anyOf": [form("a"), form("b")] }),
        json!({ "oneOf": [form("a"), form("b")] }),
        json!({ "allOf": [form("a"), form("b")], "not": { "required": ["c"] } }),
        json!({ "type": "object", "additionalProperties": false }),
        json!({ "type": "object", "$defs": { "x": { "type": "array" } }, "properties": { "q": { "$ref": "#/$defs/x" } } }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "x": { "type": "object" } } }),
        json!(true),
    ];
    for way in Way::ALL {
        for schema in &schemas {
            let server = MockServer::start().await.unwrap();
            server.reply(Reply::text("Fine."));
            let tool =
                ToolSpec { name: "look".into(), description: "Looks.".into(), input_schema: schema.clone() };
            let asked = request([Message::human("m1", "?")]).with_tools(vec![tool]);
            let reply = way.client(&server).complete(asked).await;
            assert!(reply.is_ok(), "{way:?} {schema}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn no_request_is_refused_for_a_picture_that_is_none_or_is_called_something_else() {
    // A GIF, a text, and what is not base64 at all.
    for data in ["R0lGODlhAQABAAAAACw=", "bm8gcGljdHVyZQ==", "no base64"] {
        for way in Way::ALL {
            let server = MockServer::start().await.unwrap();
            server.reply(Reply::text("Fine."));
            let call = ToolCall::new("c1", "look", json!({}));
            let picture = || Content::from_iter([Part::Image(Image::base64("image/png", data))]);
            let asked = request([
                Message::human("m1", picture()),
                Message::ai_with_calls("m2", "", vec![call.clone()]),
                Message::tool("m3", &call, picture()),
            ]);
            let reply = way.client(&server).complete(asked).await;
            assert!(reply.is_ok(), "{way:?} {data}: {reply:?}");
        }
    }
}
