use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{Content, Origin, Thinking};

fn fold(events: impl IntoIterator<Item = ModelEvent>) -> Result<ModelReply, StreamFault> {
    let mut accumulator = Accumulator::new("asked");
    for event in events {
        accumulator.push(event)?;
    }
    accumulator.finish()
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta { text: text.into() }
}

fn start(index: u32, id: &str) -> ModelEvent {
    ModelEvent::ToolCallStart { index, id: id.into(), name: "t".into() }
}

fn input(index: u32, json: &str) -> ModelEvent {
    ModelEvent::ToolCallInput { index, json: json.into() }
}

fn end(index: u32) -> ModelEvent {
    ModelEvent::ToolCallEnd { index }
}

fn stop(reason: StopReason) -> ModelEvent {
    ModelEvent::Stop { reason }
}

/// Cuts a text at the given places (modulo its length, moved to character borders).
fn cut(text: &str, cuts: &[usize]) -> Vec<String> {
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|cut| {
            let mut place = cut % (text.len() + 1);
            while !text.is_char_boundary(place) {
                place -= 1;
            }
            place
        })
        .chain([0, text.len()])
        .collect();
    places.sort_unstable();
    places.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

proptest! {
    #[test]
    fn how_a_stream_is_cut_makes_no_difference(
        said in ".*",
        value in "[^\"\\\\]*",
        text_cuts in prop::collection::vec(any::<usize>(), 0..6),
        input_cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let json = json!({ "value": value }).to_string();
        let whole = fold([
            text(&said), start(0, "a"), input(0, &json), end(0), stop(StopReason::ToolUse),
        ]).unwrap();
        prop_assert_eq!(&whole.tool_calls[0].input, &json!({ "value": value }));

        let mut events: Vec<_> = cut(&said, &text_cuts).iter().map(|piece| text(piece)).collect();
        events.push(start(0, "a"));
        events.extend(cut(&json, &input_cuts).iter().map(|piece| input(0, piece)));
        events.extend([end(0), stop(StopReason::ToolUse)]);
        prop_assert_eq!(fold(events).unwrap(), whole);
    }

    #[test]
    fn interleaved_calls_do_not_mix(picks in prop::collection::vec(any::<bool>(), 0..40)) {
        let sources = [r#"{"from":"first call"}"#, r#"{"from":"second call"}"#];
        let mut rests = sources;
        let mut events = vec![start(0, "a"), start(1, "b")];
        for second in picks {
            let index = usize::from(second);
            if let Some(first) = rests[index].get(..1) {
                events.push(input(index as u32, first));
                rests[index] = &rests[index][1..];
            }
        }
        events.extend([input(1, rests[1]), end(1), input(0, rests[0]), end(0), stop(StopReason::ToolUse)]);
        let calls = fold(events).unwrap().tool_calls;
        prop_assert_eq!(&calls[0], &ToolCall::new("a", "t", json!({ "from": "first call" })));
        prop_assert_eq!(&calls[1], &ToolCall::new("b", "t", json!({ "from": "second call" })));
    }

    #[test]
    fn a_stream_that_breaks_off_is_never_an_answer(keep in 0_usize..5) {
        let events = [text("yes"), start(0, "a"), input(0, "{}"), end(0), stop(StopReason::ToolUse)];
        prop_assert_eq!(fold(events.into_iter().take(keep.min(4))), Err(StreamFault::EndedEarly));
    }
}

#[test]
fn usage_keeps_the_largest_of_each_and_may_come_last() {
    let usage = |input_tokens, output_tokens| ModelEvent::Usage(Usage::of(input_tokens, output_tokens));
    let reply = fold([usage(10, 1), text("x"), usage(0, 7), stop(StopReason::EndTurn), usage(0, 8)]).unwrap();
    assert_eq!(reply.usage, Usage::of(10, 8));
}

#[test]
fn a_start_event_names_the_model() {
    assert_eq!(fold([stop(StopReason::EndTurn)]).unwrap().model, "asked");
    let answering = ModelEvent::Start { model: "answering".into(), request_id: None };
    assert_eq!(fold([answering, stop(StopReason::EndTurn)]).unwrap().model, "answering");
}

#[test]
fn no_text_is_content_of_no_parts() {
    assert_eq!(fold([text(""), stop(StopReason::EndTurn)]).unwrap().content, Content::empty());
}

#[test]
fn a_call_without_input_text_has_an_empty_object() {
    let reply = fold([start(3, "a"), end(3), stop(StopReason::ToolUse)]).unwrap();
    assert_eq!(reply.tool_calls, [ToolCall::new("a", "t", json!({}))]);
}

#[test]
fn the_output_limit_drops_the_call_it_cut_and_keeps_the_complete_one() {
    let events = [start(0, "a"), end(0), start(1, "b"), input(1, r#"{"path": "/et"#)];
    let reply = fold(events.clone().into_iter().chain([stop(StopReason::MaxTokens)])).unwrap();
    assert_eq!(reply.tool_calls.len(), 1);
    assert_eq!(reply.stop, StopReason::MaxTokens);

    let fault = fold(events.into_iter().chain([stop(StopReason::ToolUse)])).unwrap_err();
    assert_eq!(fault, StreamFault::UnendedToolCall { id: "b".into() });
}

#[test]
fn events_out_of_place_are_faults() {
    let cases = [
        (vec![stop(StopReason::EndTurn), text("more")], StreamFault::AfterStop),
        (vec![input(0, "{}")], StreamFault::NoOpenToolCall { index: 0 }),
        (vec![start(0, "a"), end(0), input(0, "{}")], StreamFault::NoOpenToolCall { index: 0 }),
        (vec![start(0, "a"), start(0, "b")], StreamFault::DuplicateToolCall { index: 0 }),
    ];
    for (events, fault) in cases {
        assert_eq!(fold(events), Err(fault));
    }
}

fn thought(text: &str) -> ModelEvent {
    let origin = Origin::new("p", "m");
    ModelEvent::Part {
        part: Part::Thinking(Thinking { text: text.into(), origin, raw: json!({ "signed": text }) }),
    }
}

#[test]
fn parts_stand_where_they_came_and_calls_come_last_by_themselves() {
    let reply = fold([
        thought("first"),
        text("Let me "),
        text("look."),
        start(0, "a"),
        end(0),
        thought("between"),
        start(1, "b"),
        end(1),
        stop(StopReason::ToolUse),
    ])
    .unwrap();
    let kinds: Vec<String> = reply
        .content
        .parts()
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Thinking(thinking) => thinking.text.clone(),
            Part::ToolCall { index } => format!("call {index}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["first", "Let me look.", "call 0", "between"]);
    let again = fold(reply.to_events()).unwrap();
    assert_eq!(again, reply, "a reply is what its events fold into");
}

#[test]
fn a_call_that_was_cut_off_leaves_no_place() {
    let events =
        [start(0, "a"), input(0, "{"), start(1, "b"), end(1), text("x"), stop(StopReason::MaxTokens)];
    let reply = fold(events).unwrap();
    assert_eq!(reply.tool_calls, [ToolCall::new("b", "t", json!({}))]);
    assert_eq!(reply.content.parts(), [Part::ToolCall { index: 0 }, Part::text("x")]);
}

#[test]
fn an_input_that_is_no_json_is_kept_as_text_unless_a_limit_cut_it() {
    let events = |reason| [start(0, "a"), input(0, "{"), end(0), stop(reason)];
    assert_eq!(fold(events(StopReason::ToolUse)).unwrap().tool_calls, [ToolCall::new("a", "t", json!("{"))]);
    assert_eq!(fold(events(StopReason::MaxTokens)).unwrap().tool_calls, []);
}
