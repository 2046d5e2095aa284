use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::model::{Purpose, Scripted, Turn};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct City {
    name: String,
    #[schemars(range(max = 40))]
    millions: u32,
}

fn request() -> ModelRequest {
    ModelRequest::new(Purpose::Agent, [Message::human("m1", "Which city?")]).with_system("Be right.")
}

fn paris() -> Turn {
    Turn::Json(json!({ "name": "Paris", "millions": 2 }))
}

#[tokio::test]
async fn a_value_comes_with_its_reply_and_the_model_gets_its_form_twice() {
    let model = Scripted::new().then(paris());
    let given = model.structured::<City>(request()).await.unwrap();
    assert_eq!(given.value, City { name: "Paris".into(), millions: 2 });
    assert_eq!((given.attempts, given.reply.model.as_str()), (1, "scripted"));
    let asked = &model.requests()[0];
    let OutputFormat::Json { name, schema } = &asked.output else { panic!("{:?}", asked.output) };
    assert_eq!((name.as_str(), &schema["required"]), ("City", &json!(["name", "millions"])));
    let system = asked.system.as_deref().unwrap();
    assert!(
        system.starts_with("Be right.\n\nAnswer with one JSON value") && system.contains("\"millions\""),
        "{system}"
    );
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn what_is_wrong_with_a_reply_is_said_and_the_model_is_asked_again() {
    let reply = |text: &str| Turn::Reply(ModelReply::new("m", text).with_usage(Usage::of(30, 4)));
    let model = Scripted::new()
        .then(reply("It is Paris."))
        .then(reply(r#"{ "name": "Paris", "millions": 99 }"#))
        .then(reply(r#"{ "name": "Paris", "millions": 2, "river": "Seine" }"#))
        .then(reply("```json\n{ \"name\": \"Paris\", \"millions\": 2 }\n```"));
    let given = model.structured::<City>(request()).attempts(4).await.unwrap();
    assert_eq!((given.attempts, given.usage), (4, Usage::of(120, 16)));
    let last = model.requests().pop().unwrap().messages;
    let ids: Vec<_> = last.iter().map(|message| message.id().as_str()).collect();
    assert_eq!(ids[..3], ["m1", "structured.reply-1", "structured.again-1"]);
    let said: Vec<_> = last.iter().map(|message| message.text()).collect();
    assert!(said[2].contains("That cannot be used: expected value at line 1 column 1."), "{}", said[2]);
    assert!(said[4].contains("at /millions: 99 is greater than the maximum of 40."), "{}", said[4]);
    assert!(said[6].contains("river"), "{}", said[6]);
}

#[tokio::test]
async fn a_check_says_more_than_a_schema_can() {
    let model: Arc<dyn ChatModel> = Arc::new(Scripted::new().then(paris()).then(paris()));
    let asked = model.structured::<City>(request());
    let error = asked.check(|city| Err(format!("{} is no answer", city.name))).await.unwrap_err();
    let StructuredError::Reply { reason, attempts, last } = &error else { panic!("{error}") };
    assert_eq!((reason.as_str(), *attempts), ("Paris is no answer", 2));
    assert!(last.text().contains("Paris"));
    let text =
        "the model was asked 2 times for a value, and its last reply cannot be used: Paris is no answer";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn errors_of_the_model_are_not_tried_again() {
    let busy = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
    let model = Scripted::new().fail(busy.clone()).then(paris());
    assert_eq!(model.structured::<City>(request()).await.unwrap_err(), StructuredError::Model(busy));
    assert_eq!(model.remaining(), 1);
}

#[tokio::test]
async fn a_reply_that_was_cut_off_is_asked_for_shorter() {
    let mut cut = ModelReply::new("m", r#"{ "name": "Par"#);
    cut.stop = StopReason::MaxTokens;
    let model = Scripted::new().then(Turn::Reply(cut));
    let error = model.structured::<City>(request()).attempts(0).await.unwrap_err();
    assert!(error.to_string().contains("the limit of the output before its end"), "{error}");
}
