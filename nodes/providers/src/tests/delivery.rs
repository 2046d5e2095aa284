//! Answers that come slowly, in part, or never, and clients that go away.

use std::time::Duration;

use crate::TransportOptions;
use futures_util::StreamExt;
use serde_json::json;
use superstep_nodes::model::{ModelError, ModelEvent};
use superstep_testkit::{Delivery, MockServer, Pacing, Quirk, Reply};

use super::clients::{Way, question};

fn answer() -> Reply {
    Reply::new().thinking("Hm.").say("It is a round of tasks.").tool_call(
        "c1",
        "look",
        json!({ "q": "round" }),
    )
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_that_another_try_may_mend() {
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        let client = way.client(&server);
        server.reply(answer());
        let whole = client.complete(question()).await.unwrap();
        let mut kept = 0;
        for events in 0.. {
            server.reply(answer().pacing(Pacing::new().cut_after_events(events)));
            match client.complete(question()).await {
                Err(error) => assert!(error.is_retryable(), "{way:?} after {events}: {error}"),
                // What says only what was used, and the mark of the end, are not missed.
                Ok(reply) => {
                    assert_eq!((reply.text(), &reply.tool_calls), (whole.text(), &whole.tool_calls));
                    kept += 1;
                }
            }
            if kept == 3 || events == 60 {
                break;
            }
        }
        assert_eq!(kept, 3, "{way:?}: a whole answer is taken in the end");
    }
}

#[tokio::test]
async fn a_stream_with_nothing_in_it_has_broken_off() {
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        server.reply(Reply::text("?").quirk(Quirk::EmptyStream));
        let error = way.client(&server).complete(question()).await.unwrap_err();
        assert!(matches!(error, ModelError::Stream { .. }), "{way:?}: {error}");
    }
}

#[tokio::test]
async fn silence_is_given_up() {
    let options = TransportOptions::default().idle_timeout(Duration::from_millis(40));
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        let client = way.client_of(&server, MockServer::KEY, &options);
        for pacing in [Pacing::never(), Pacing::hang_up(), Pacing::new().stall_after_events(2)] {
            server.reply(answer().pacing(pacing));
            let error = client.complete(question()).await.unwrap_err();
            assert!(matches!(error, ModelError::Unreachable { .. }), "{way:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_slow_answer_is_read_as_it_comes_and_taken() {
    let options = TransportOptions::default().idle_timeout(Duration::from_secs(300));
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        let client = way.client_of(&server, MockServer::KEY, &options);
        let slow = Pacing::new().head_after(Duration::from_millis(20)).pause(Duration::from_millis(2));
        server.reply(answer().pacing(slow));
        assert_eq!(client.complete(question()).await.unwrap().tool_calls.len(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_that_may_be_retried() {
    let server = MockServer::start().await.unwrap();
    let url = server.url();
    drop(server);
    for way in Way::ALL {
        let client = way.client_at(&url, "key", &TransportOptions::default());
        let error = client.complete(question()).await.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{way:?}: {error}");
    }
}

/// A dropped stream costs no more tokens.
#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        let long = Reply::text("word ".repeat(100)).pacing(Pacing::new().stall_after_events(20));
        server.reply(long);
        let mut events = way.client(&server).stream(question());
        while let Some(event) = events.next().await {
            if matches!(event.unwrap(), ModelEvent::TextDelta { .. }) {
                break;
            }
        }
        let received = server.received().pop().unwrap();
        assert_eq!(received.delivery(), Delivery::Pending, "{way:?}");
        drop(events);
        assert_eq!(received.settled().await, Delivery::Abandoned, "{way:?}");
        assert!(received.was_abandoned());
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_is_given_up_with_its_stream() {
    for way in Way::ALL {
        let server = MockServer::start().await.unwrap();
        server.reply(Reply::never());
        let mut events = way.client(&server).stream(question());
        tokio::select! {
            event = events.next() => panic!("{way:?}: {event:?}"),
            received = server.requests(1) => {
                drop(events);
                assert_eq!(received[0].settled().await, Delivery::Abandoned, "{way:?}");
            }
        }
    }
}
