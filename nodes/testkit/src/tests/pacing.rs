//! The pacing of answers: their speed, their pieces, and cuts.

use std::time::{Duration, Instant};

use crate::{Delivery, Endpoint, Pacing, Reply};

use super::client::{Answer, SPEAKING, ask, question, server, streamed};

const PAUSE: Duration = Duration::from_millis(2);

fn paced(endpoint: Endpoint, pacing: Pacing) -> Answer {
    let server = server();
    server.reply(Reply::text("Hello, world.").pacing(pacing));
    ask(&server, endpoint, &streamed(endpoint))
}

#[test]
fn a_byte_at_a_time_is_the_same_answer() {
    for endpoint in SPEAKING {
        let [events, whole, bytes] = [Pacing::new(), Pacing::new().whole(), Pacing::new().chunks_of(1)]
            .map(|pacing| paced(endpoint, pacing));
        assert_eq!(events.chunks.len(), events.data().len(), "a chunk is an event");
        assert_eq!(whole.chunks, [whole.body.len()]);
        assert!(bytes.chunks.iter().all(|size| *size == 1));
        assert!(bytes.is_whole);
        assert_eq!((&bytes.body, &whole.body), (&events.body, &events.body));
    }
}

#[test]
fn a_cut_leaves_exactly_what_was_to_come_before_it() {
    let whole = paced(Endpoint::Messages, Pacing::new());
    for bytes in [0, 1, 100, whole.body.len()] {
        let cut = paced(Endpoint::Messages, Pacing::new().chunks_of(7).cut_after_bytes(bytes));
        assert_eq!((cut.status, cut.is_whole), (200, false));
        assert_eq!(cut.body, whole.body[..bytes]);
    }
    let cut = paced(Endpoint::Messages, Pacing::new().cut_after_events(2));
    assert_eq!((cut.data().len(), cut.is_whole), (2, false));
}

#[test]
fn an_answer_that_is_not_streamed_is_cut_before_the_length_it_tells() {
    let server = server();
    server.reply(Reply::text("Hello").pacing(Pacing::new().cut_after_bytes(10)));
    let answer = ask(&server, Endpoint::Messages, &question(Endpoint::Messages));
    assert_eq!((answer.body.len(), answer.is_whole), (10, false));
    assert_eq!(server.received()[0].delivery(), Delivery::Cut);
}

#[test]
fn a_server_may_hang_up_without_an_answer() {
    let server = server();
    server.reply(Reply::new().pacing(Pacing::hang_up()));
    assert_eq!(ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).status, 0);
    assert_eq!(server.received()[0].delivery(), Delivery::Cut);
}

#[test]
fn a_head_and_chunks_come_after_their_pauses() {
    let start = Instant::now();
    let answer = paced(Endpoint::Messages, Pacing::new().head_after(PAUSE * 5).pause(PAUSE));
    let chunks = u32::try_from(answer.chunks.len()).unwrap();
    assert!(start.elapsed() >= PAUSE * (5 + chunks), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_in_a_runtime_waits_by_its_clock() {
    use crate::MockServer;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    let server = MockServer::start().await.unwrap();
    let hour = Duration::from_secs(3600);
    server.reply(Reply::text("Hello.").pacing(Pacing::new().head_after(hour)));
    let body = question(Endpoint::ChatCompletions).to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        MockServer::KEY,
        body.len()
    );
    let start = tokio::time::Instant::now();
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("Hello."), "{answer}");
    assert!(start.elapsed() >= hour);
}
