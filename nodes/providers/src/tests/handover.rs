//! A conversation that goes on with another provider.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_nodes::message::{Message, MessageLog, Part};
use superstep_nodes::model::{ChatModel, StopReason};
use superstep_nodes::tool::ToolSpec;
use superstep_testkit::{MockServer, Pacing, Quirk, Reply};

use super::clients::{Way, request};

fn look() -> ToolSpec {
    let input_schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ToolSpec { name: "look".into(), description: "Looks.".into(), input_schema }
}

/// A model that thinks, speaks, and asks for two tools.
fn asking(number: usize) -> Reply {
    Reply::new()
        .signed_thinking(format!("I need to look, {number}."), format!("c2ln{number:04}"))
        .say("Let me look.")
        .tool_call(format!("call_{number}_a"), "look", json!({ "city": "Paris" }))
        .tool_call(format!("call_{number}_b"), "look", json!({}))
        .quirk(Quirk::ReasoningContent)
}

/// A turn with tools: one model thinks and asks, and another, which may be the same, says the end.
async fn turn(server: &MockServer, log: &mut MessageLog, number: usize, clients: [&dyn ChatModel; 2]) {
    log.put(Message::human(format!("q{number}"), "What is the weather?"));
    server.reply(asking(number)).reply(Reply::new().thinking("Good.").say("It rains."));
    for (step, client) in clients.into_iter().enumerate() {
        let request = request(log.conversation()).with_tools(vec![look()]);
        let reply =
            client.complete(request).await.unwrap_or_else(|error| panic!("{}: {error}", client.name()));
        let message = reply.into_message(format!("a{number}.{step}"));
        let results: Vec<Message> = message
            .tool_calls
            .iter()
            .map(|call| Message::tool(format!("r{}", call.id), call, "rain"))
            .collect();
        log.put(Message::from(message));
        results.into_iter().for_each(|result| log.put(result));
    }
}

#[tokio::test]
async fn a_conversation_continues_with_any_other_provider() {
    for first in Way::ALL {
        for second in Way::ALL {
            let server = MockServer::start().await.unwrap();
            let (one, other) = (first.client(&server), second.client(&server));
            let (one, other) = (&*one, &*other);
            let mut log = MessageLog::from([Message::system("s1", "Be brief.")]);
            // Over and back, between turns and in the middle of one.
            let turns = [[one, one], [other, other], [one, other], [other, one]];
            for (number, clients) in turns.into_iter().enumerate() {
                turn(&server, &mut log, number, clients).await;
            }
            assert_eq!(server.errors(), []);
            let said: Vec<_> = log.iter().filter(|message| message.text() == "It rains.").collect();
            assert_eq!(said.len(), 4, "{first:?} {second:?}");
        }
    }
}

#[tokio::test]
async fn thoughts_go_back_to_the_model_that_had_them() {
    for (way, pointer, seal) in [
        (Way::Messages, "/messages/1/content/0/signature", "c2ln0000"),
        (Way::MessagesWithBudget, "/messages/1/content/0/signature", "c2ln0000"),
        (Way::Responses, "/input/1/encrypted_content", "c2ln0000"),
    ] {
        let server = MockServer::start().await.unwrap();
        let mut log = MessageLog::default();
        let client = way.client(&server);
        turn(&server, &mut log, 0, [&*client, &*client]).await;
        let sent = server.received()[1].json().clone();
        assert_eq!(sent.pointer(pointer), Some(&Value::from(seal)), "{way:?} {sent}");
    }
}

#[tokio::test]
async fn a_reply_is_the_same_in_all_protocols_and_however_it_comes() {
    for way in Way::ALL {
        for pacing in [
            Pacing::new(),
            Pacing::new().whole(),
            Pacing::new().chunks_of(1),
            Pacing::trickle(Duration::ZERO),
        ] {
            let server = MockServer::start().await.unwrap();
            server.reply(asking(0).pacing(pacing));
            let reply = way.client(&server).complete(request([Message::human("m1", "?")])).await.unwrap();
            assert_eq!(reply.text(), "Let me look.", "{way:?}");
            let calls: Vec<_> = reply.tool_calls.iter().map(|call| (call.id.as_str(), &call.input)).collect();
            assert_eq!(
                calls,
                [("call_0_a", &json!({ "city": "Paris" })), ("call_0_b", &json!({}))],
                "{way:?}"
            );
            let thoughts: Vec<_> = reply
                .content
                .parts()
                .iter()
                .filter_map(|part| match part {
                    Part::Thinking(thought) => Some(thought.text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(thoughts, ["I need to look, 0."], "{way:?}");
            assert_eq!(reply.usage.total(), 25, "{way:?}");
            assert!(reply.request_id.is_some(), "{way:?}");
        }
    }
}

#[tokio::test]
async fn what_compatible_servers_do_otherwise_makes_no_difference() {
    let quirks: [&[Quirk]; 9] = [
        &[Quirk::MissingIndex],
        &[Quirk::WholeCalls],
        &[Quirk::MissingIndex, Quirk::WholeCalls, Quirk::EmptyIds],
        &[Quirk::InterleavedCalls],
        &[Quirk::InterleavedCalls, Quirk::EmptyIds],
        &[Quirk::StopWithCalls],
        &[Quirk::NoUsage, Quirk::NoDone],
        &[Quirk::UsageWithChoice],
        &[Quirk::UnknownEvents],
    ];
    for quirks in quirks {
        let server = MockServer::start().await.unwrap();
        server.reply(quirks.iter().fold(asking(0), |reply, quirk| reply.quirk(*quirk)));
        let asked = request([Message::human("m1", "?")]);
        let reply = Way::Compatible.client(&server).complete(asked).await.unwrap();
        assert_eq!(reply.text(), "Let me look.", "{quirks:?}");
        let inputs: Vec<_> = reply.tool_calls.iter().map(|call| &call.input).collect();
        assert_eq!(inputs, [&json!({ "city": "Paris" }), &json!({})], "{quirks:?}");
        assert_eq!(reply.stop, StopReason::ToolUse, "{quirks:?}");
    }
}
