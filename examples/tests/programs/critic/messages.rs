//! The messages that a critic sends to its model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use superstep::nodes::message::{Detail, Image, ImageSource, Message, Part};
use superstep::nodes::model::{ModelRequest, Purpose, ToolChoice};
use superstep::nodes::tool::ToolRegistry;

use super::*;

/// The parts of the only message of a request: a text and an image.
fn parts(request: &ModelRequest) -> (&str, &Image) {
    let [Message::Human(asked)] = &request.messages[..] else { panic!("{:?}", request.messages) };
    let [Part::Text { text }, Part::Image(image)] = asked.content.parts() else { panic!("{asked:?}") };
    (text, image)
}

#[tokio::test]
async fn s3_007_and_019_to_021_a_request_has_one_message_of_two_parts_and_nothing_beside_it() {
    let (desk, model) = (Desk::new().await, Arc::new(Scripted::new().say("Well balanced.")));
    desk.state(&model).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    let (text, image) = parts(&requests[0]);
    assert_eq!(text, format!("{CRITIC_INSTRUCTIONS}\n\n{CRITIC_PROMPT}"));
    let ImageSource::Base64 { media_type, data } = &image.source else { panic!("{image:?}") };
    assert_eq!((media_type.as_str(), image.detail), ("image/jpeg", Detail::Low));
    let jpeg = image::load_from_memory(&STANDARD.decode(data).unwrap()).unwrap();
    assert_eq!((jpeg.width(), jpeg.height()), (120, 80));
    // Whatever else a request can have, it has not.
    let tools = ToolRegistry::new().with(composition_tool(desk.knowledge.clone(), 3)).unwrap();
    let bare = ModelRequest::new(Purpose::Agent, requests[0].messages.clone()).with_tools(tools.specs());
    assert_eq!(requests[0], bare);
}

#[test]
fn s3_022_to_024_the_instructions_say_what_to_look_at_what_to_look_up_and_what_to_make_of_it() {
    let instructions = CRITIC_INSTRUCTIONS.to_lowercase();
    for seen in
        ["visual analysis", "rule of thirds", "leading lines", "framing", "foreground", "balance", "light"]
    {
        assert!(instructions.contains(seen), "{seen}");
    }
    for looked_up in [&format!("you must use the tool {COMPOSITION_TOOL}"), "several searches are better"] {
        assert!(instructions.contains(looked_up), "{looked_up}");
    }
    assert!(instructions.contains("bring what you see and what you found together in one critique"));
}

#[tokio::test]
async fn s3_018_and_058_the_model_gets_the_tool_in_each_request_and_no_other() {
    let (desk, model) = (Desk::new().await, searching(3));
    desk.state(&model).await;
    let requests = model.requests();
    for request in &requests {
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, [COMPOSITION_TOOL]);
    }
    let choices: Vec<_> = requests.iter().map(|request| request.tool_choice.clone()).collect();
    let auto = || ToolChoice::Auto;
    assert_eq!(choices, [auto(), auto(), auto(), ToolChoice::None]);
}

#[tokio::test]
async fn s3_036_and_037_the_tool_takes_a_query_and_its_description_says_when_to_use_it() {
    let desk = Desk::new().await;
    let tool = composition_tool(desk.knowledge, 3);
    let specs = ToolRegistry::new().with(tool).unwrap().specs();
    let [spec] = &specs[..] else { panic!("{specs:?}") };
    assert_eq!(spec.name, "composition_rag_tool");
    assert!(
        spec.description
            .starts_with("Searches a library of advice on the composition of landscape photographs")
    );
    assert!(spec.description.contains("Use it before you judge a photograph"));
    let schema = &spec.input_schema;
    assert_eq!(schema["properties"]["query"]["type"], "string");
    assert_eq!(schema["required"], json!(["query"]));
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn s3_028_030_033_and_056_the_whole_conversation_is_sent_each_time() {
    let (desk, model) = (Desk::new().await, searching(2));
    let state = desk.state(&model).await;
    let kinds = |messages: &[Message]| -> Vec<String> {
        let kind = |message| serde_json::to_value(message).unwrap()["type"].as_str().unwrap().to_owned();
        messages.iter().map(kind).collect()
    };
    let requests = model.requests();
    assert_eq!(kinds(&requests[0].messages), ["human"]);
    assert_eq!(kinds(&requests[1].messages), ["human", "ai", "tool"]);
    assert_eq!(kinds(&requests[2].messages), ["human", "ai", "tool", "ai", "tool"]);
    assert_eq!(kinds(&state.messages), ["human", "ai", "tool", "ai", "tool", "ai"]);
    // Each continues where the previous one ended.
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert_eq!(later.messages[..earlier.messages.len()], earlier.messages[..]);
    }
    let Message::Tool(result) = &state.messages[2] else { panic!("{:?}", state.messages[2]) };
    assert_eq!((result.tool_call_id.as_str(), result.name.as_str()), ("c1", COMPOSITION_TOOL));
}

/// The reply of the model is stored before the tool runs: a search that kills the process leaves a record of the call
/// that was paid for.
#[tokio::test]
async fn s3_028_the_reply_is_in_the_conversation_before_its_tools_run() {
    let (desk, model) = (Desk::new().await, searching(1));
    let graph = critic(desk.config(&model)).unwrap().checkpointer(superstep::checkpoint::MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(desk.input()).await.unwrap().finished().unwrap();
    let before = thread.before_named("tools").await.unwrap();
    let messages = &before.state().messages;
    let Some(Message::Ai(reply)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!(reply.tool_calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1"]);
    assert_eq!(messages.len(), 2, "the photograph and the reply");
}

#[tokio::test]
async fn a_second_critique_of_a_thread_begins_with_its_own_photograph_only() {
    let desk = Desk::new().await;
    let model =
        Arc::new(Scripted::new().then(saying("One.", Usage::of(5, 1))).then(saying("Two.", Usage::of(7, 1))));
    let graph = critic(desk.config(&model)).unwrap().checkpointer(superstep::checkpoint::MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(desk.input()).await.unwrap().finished().unwrap();
    let state = thread.run(desk.input().prompt("Again?")).await.unwrap().finished().unwrap();
    assert_eq!((state.output().as_str(), state.iteration, state.messages.len()), ("Two.", 1, 2));
    assert_eq!(state.ledger.total().usage, Usage::of(7, 1));
    let requests = model.requests();
    let (text, _) = parts(&requests[1]);
    assert!(text.ends_with("\n\nAgain?"), "{text}");
}
