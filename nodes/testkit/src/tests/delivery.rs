//! The server's record of requests and answers.

use std::io::Read;
use std::net::Shutdown;
use std::time::Duration;

use crate::{Delivery, Endpoint, MockServer, Pacing, Reply};

use super::client::{ask, headers, open, question, server, streamed};

#[test]
fn requests_are_kept_as_they_came() {
    let server = server();
    server.reply("Hello.");
    let body = streamed(Endpoint::ChatCompletions);
    ask(&server, Endpoint::ChatCompletions, &body);
    ask(&server, Endpoint::Messages, &body);

    let [taken, refused] = &server.received()[..] else { panic!("there were two requests") };
    assert_eq!((taken.endpoint(), taken.method()), (Some(Endpoint::ChatCompletions), "POST"));
    assert_eq!((taken.json(), taken.bytes()), (&body, body.to_string().as_bytes()));
    assert!(taken.wants_stream() && taken.error().is_none());
    assert!(taken.headers().any(|header| header == ("host", "mock")));
    assert!(refused.came_at() >= taken.came_at());
    assert_eq!(refused.error(), server.errors().first());
    assert_eq!(taken.delivery(), Delivery::Delivered);
}

/// A client reads the beginning of an answer and goes away.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_is_noticed() {
    let server = MockServer::start().await.unwrap();
    let slow = Pacing::new().stall_after_events(2);
    for (count, pacing) in [(1, slow), (2, Pacing::never()), (3, Pacing::trickle(Duration::from_millis(1)))] {
        server.reply(Reply::text("Hello, world.".repeat(1000)).pacing(pacing));
        let headers = headers(Endpoint::Messages, MockServer::KEY);
        let body = streamed(Endpoint::Messages).to_string();
        let mut client = open(&server, "POST", "/v1/messages", &headers, body.as_bytes());
        let received = server.requests(count).await.pop().unwrap();
        if count != 2 {
            let mut beginning = [0; 12];
            client.read_exact(&mut beginning).unwrap();
            assert_eq!(&beginning, b"HTTP/1.1 200");
        }
        assert_eq!((received.delivery(), received.was_abandoned()), (Delivery::Pending, false));
        client.shutdown(Shutdown::Both).unwrap();
        drop(client);
        assert_eq!(received.settled().await, Delivery::Abandoned);
        assert!(received.was_abandoned());
    }
}

#[test]
fn servers_of_one_program_do_not_know_of_each_other() {
    let (first, second) = (server(), server());
    first.reply("from the first");
    second.reply("from the second");
    let said = |server: &MockServer| {
        ask(server, Endpoint::Messages, &question(Endpoint::Messages)).json()["content"][0]["text"].clone()
    };
    assert_eq!((said(&second), said(&first)), ("from the second".into(), "from the first".into()));
    assert_eq!((first.received().len(), second.received().len()), (1, 1));
    assert_ne!(first.url(), second.url());
    assert_eq!(first.openai_url(), format!("{}/v1", first.url()));
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let server = server();
    let address = server.address();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn a_server_that_is_dropped_has_abandoned_no_request() {
    let server = MockServer::start().await.unwrap();
    server.reply(Reply::never());
    let headers = headers(Endpoint::Messages, MockServer::KEY);
    let body = question(Endpoint::Messages).to_string();
    let mut client = open(&server, "POST", "/v1/messages", &headers, body.as_bytes());
    let received = server.requests(1).await.remove(0);
    drop(server);
    let answer = tokio::task::spawn_blocking(move || client.read(&mut [0])).await.unwrap();
    assert!(matches!(answer, Ok(0) | Err(_)), "the connection is closed");
    assert!(!received.was_abandoned());
}
