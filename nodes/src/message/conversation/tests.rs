use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "t", Value::Null)
}

fn asks(id: &str, calls: &[&str]) -> Message {
    Message::ai_with_calls(id, "", calls.iter().map(|id| call(id)).collect())
}

fn result(id: &str, of: &str) -> Message {
    Message::tool(id, &call(of), id)
}

fn ids(conversation: &[Message]) -> Vec<&str> {
    conversation.iter().map(|message| message.id().as_str()).collect()
}

/// Checks what providers require, in another way than the conversation is made.
fn assert_valid(conversation: &[Message]) {
    let mut waiting: VecDeque<&str> = VecDeque::new();
    let mut seen = HashSet::new();
    for message in conversation {
        match message {
            Message::Tool(result) => assert_eq!(Some(result.tool_call_id.as_str()), waiting.pop_front()),
            other => {
                assert!(waiting.is_empty(), "{waiting:?} are not answered before {}", other.id());
                assert!(
                    !other.content().is_blank() || !other.tool_calls().is_empty(),
                    "{} is blank",
                    other.id()
                );
            }
        }
        for call in message.tool_calls() {
            assert!(seen.insert(&call.id), "{} is there twice", call.id);
            assert!((1..=40).contains(&call.id.len()), "{} is too long or too short", call.id);
            assert!(call.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
            waiting.push_back(&call.id);
        }
    }
    assert!(waiting.is_empty(), "{waiting:?} are never answered");
}

#[test]
fn a_call_without_a_result_is_answered_neutrally() {
    let shown =
        Conversation::from([asks("m1", &["a", "b"]), result("m2", "b"), Message::human("m3", "well?")]);
    assert_eq!(ids(&shown), ["m1", "m1.0", "m2", "m3"]);
    assert_eq!(shown[1].text(), NO_RESULT);
}

#[test]
fn a_result_that_comes_late_takes_its_place() {
    let shown = Conversation::from([asks("m1", &["a"]), Message::human("m2", "well?"), result("m3", "a")]);
    assert_eq!(ids(&shown), ["m1", "m3", "m2"]);
}

#[test]
fn a_result_of_no_call_is_left_out() {
    let shown =
        Conversation::from([result("m0", "a"), asks("m1", &["a"]), result("m2", "a"), result("m3", "a")]);
    assert_eq!(ids(&shown), ["m1", "m2"]);
}

#[test]
fn an_id_used_again_belongs_to_the_call_before_it() {
    let shown = Conversation::from([asks("m1", &["a"]), asks("m2", &["a"]), result("m3", "a")]);
    assert_eq!(ids(&shown), ["m1", "m1.0", "m2", "m3"]);
    assert_valid(&shown);
}

#[test]
fn two_calls_of_one_message_may_have_one_id() {
    let shown = Conversation::from([asks("m1", &["a", "a"]), result("m2", "a"), result("m3", "a")]);
    assert_eq!(ids(&shown), ["m1", "m2", "m3"]);
    assert_valid(&shown);
}

#[test]
fn ids_that_providers_refuse_are_replaced() {
    let long = "x".repeat(41);
    let shown = Conversation::from([
        asks("agent.3", &["", "a b", &long, "fine"]),
        result("m1", ""),
        result("m2", "a b"),
        result("m3", &long),
        result("m4", "fine"),
    ]);
    let calls: Vec<&str> = shown[0].tool_calls().iter().map(|call| call.id.as_str()).collect();
    assert_eq!(calls, ["call_agent-3_0", "call_agent-3_1", "call_agent-3_2", "fine"]);
    assert_eq!(ids(&shown), ["agent.3", "m1", "m2", "m3", "m4"]);
    assert_valid(&shown);
}

#[test]
fn blank_messages_are_left_out() {
    let messages = [
        Message::system("m1", ""),
        Message::human("m2", " \n"),
        Message::ai("m3", "\t"),
        Message::human("m4", "hi"),
        asks("m5", &["a"]),
        Message::tool("m6", &call("a"), ""),
    ];
    assert_eq!(ids(&Conversation::from(messages)), ["m4", "m5", "m6"]);
}

#[test]
fn what_is_added_answers_what_was_open() {
    let mut shown = Conversation::from([asks("m1", &["a"])]);
    assert_eq!(shown[1].text(), NO_RESULT);
    shown.push(Message::human("m2", "well?"));
    assert_eq!(ids(&shown), ["m1", "m1.0", "m2"]);
}

#[test]
fn a_conversation_read_from_json_is_repaired() {
    let json = serde_json::to_string(&[asks("m1", &["a"])]).unwrap();
    let read: Conversation = serde_json::from_str(&json).unwrap();
    assert_eq!(ids(&read), ["m1", "m1.0"]);
}

/// Any messages, with few ids, so that they meet.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("a.b")];
    let kind = (0_u8..5, prop::collection::vec(id, 1..4), prop_oneof![Just(""), Just(" "), Just("x")]);
    prop::collection::vec(kind, 0..12).prop_map(|kinds| {
        let message = |(position, (kind, calls, text)): (usize, (u8, Vec<&str>, &str))| {
            let id = format!("m{position}");
            match kind {
                0 => Message::human(id, text),
                1 => Message::ai(id, text),
                2 => Message::ai_with_calls(id, text, calls.into_iter().map(call).collect()),
                3 => Message::system(id, text),
                _ => Message::tool(id, &call(calls[0]), text),
            }
        };
        kinds.into_iter().enumerate().map(message).collect()
    })
}

proptest! {
    #[test]
    fn whatever_was_said_can_be_shown(messages in messages()) {
        let shown = Conversation::from(messages);
        assert_valid(&shown);
        prop_assert_eq!(&Conversation::from(&*shown), &shown, "what is shown is shown the same again");
    }

    /// It costs no look at the earlier messages.
    #[test]
    fn messages_that_are_added_are_shown_as_if_all_had_been_there(messages in messages(), at in 0_usize..20) {
        let (first, more) = messages.split_at(at.min(messages.len()));
        let mut shown = Conversation::from(first);
        let so_far = shown.to_vec();
        let is_complete = shown.is_complete();
        shown.extend(more.to_vec());
        assert_valid(&shown);
        prop_assert_eq!(&shown, &Conversation::from([&so_far, more].concat()));
        if is_complete {
            prop_assert_eq!(&shown, &Conversation::from(messages));
        }
    }

    #[test]
    fn what_was_valid_stays_as_it_is(messages in messages()) {
        let valid = Conversation::from(messages);
        let again: Conversation = serde_json::from_str(&serde_json::to_string(&valid).unwrap()).unwrap();
        prop_assert_eq!(again, valid);
    }
}
