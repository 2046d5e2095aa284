//! A server behind a real socket.

use std::time::Duration;

use futures_util::future::pending;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::server;
use crate::{ServeError, Server};

/// Starts a server that lives as long as the returned task; returns its address.
async fn started(server: Server) -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
    let listening = super::listen(server).await;
    let address = listening.address();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(listening.until(pending()));
    (address, tasks)
}

/// Reads until the server closes the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_connection_above_the_maximum_gets_an_error() {
    let (address, _server) = started(server().limits(|limits| limits.connections = 1)).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    let ok = format!("GET /ok HTTP/1.1\r\nhost: {address}\r\n\r\n");
    first.write_all(ok.as_bytes()).await.unwrap();
    let mut answer = [0; 15];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(ok.as_bytes()).await.unwrap();
    second.shutdown().await.unwrap();
    let refused = rest(second).await;
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 503 ") && head.contains(&format!("content-length: {}", body.len())),
        "{refused}"
    );
    assert!(body.contains("no free connection"));
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    let (address, _server) =
        started(server().limits(|limits| limits.head_time = Duration::from_millis(5))).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET /ok HTTP/1.1\r\nhost: ").await.unwrap();
    assert_eq!(rest(slow).await, "");
}

/// Clients that send a byte at a time, and clients that read nothing of a large response, are closed within the limits;
/// others are served meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_silent_clients_are_closed_and_keep_no_other_waiting() {
    const SLOW: usize = 20;
    const SILENT: usize = 8;
    let (address, _server) = started(server().limits(|limits| {
        // Long enough for the well-behaved client on a machine that is busy.
        limits.head_time = Duration::from_secs(5);
        limits.read_time = Duration::from_secs(5);
    }))
    .await;
    let post = |path: &str, body: &str| {
        let head = "content-type: application/json\r\nconnection: close";
        format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let sent = async |request: String| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(stream).await
    };
    let large = "x".repeat(7 << 20);
    sent(post("/threads", r#"{"thread_id":"large"}"#)).await;
    let run = format!(r#"{{"assistant_id":"stories","input":{{"topic":"{large}"}}}}"#);
    assert!(sent(post("/threads/large/runs/wait", &run)).await.starts_with("HTTP/1.1 200 "));

    let mut hostile = tokio::task::JoinSet::new();
    for _ in 0..SLOW {
        hostile.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            for byte in "GET /ok HTTP/1.1\r\nx-slow: ".bytes().chain(std::iter::repeat(b'a')) {
                tick.tick().await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        });
    }
    for _ in 0..SILENT {
        hostile.spawn(async move {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4 << 10).unwrap();
            let mut stream = socket.connect(address).await.unwrap();
            let request = format!("GET /threads/large/state HTTP/1.1\r\nhost: {address}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            // A connection that its server resets becomes writable with an error; nothing is read before.
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if stream.write_all(b"\r\n").await.is_err() {
                    return;
                }
            }
        });
    }
    let ok = format!("GET /ok HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let served = async {
        loop {
            assert!(sent(ok.clone()).await.starts_with("HTTP/1.1 200 "));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let closed = async { while hostile.join_next().await.is_some() {} };
    let limit = tokio::time::sleep(Duration::from_secs(180));
    tokio::select! {
        () = served => {}
        () = closed => {}
        () = limit => panic!("hostile clients are still connected"),
    }
}

/// The name of a variable that the test below sets for its own tests.
pub(super) const ALONE: &str = "SUPERSTEP_TEST_ALONE";

/// Runs all tests where the system gives a program a network of its own, as on the machine of the gate.
#[test]
fn the_tests_need_no_network_but_loopback() {
    if std::env::var_os(ALONE).is_some() {
        return;
    }
    let alone = |program: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command
            .args(["-rn", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
            .args(program)
            .env(ALONE, "1");
        command.output().ok()
    };
    if !alone(&["true"]).is_some_and(|output| output.status.success()) {
        return println!("skipped: no network namespace can be made here");
    }
    let tests = std::env::current_exe().unwrap();
    let output = alone(&[tests.to_str().unwrap()]).unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("test result: ok."), "{out}");
}

#[tokio::test]
async fn only_addresses_of_this_machine_need_no_token() {
    let error = server().listen("0.0.0.0:0").await.unwrap_err();
    assert!(matches!(error, ServeError::NoToken { .. }));
    assert!(error.to_string().contains("--token-file"), "{error}");
    for server in [server().insecure(), server().auth(crate::Token::new("s3cret").unwrap())] {
        assert!(server.listen("0.0.0.0:0").await.is_ok());
    }
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error() {
    let first = server().listen("127.0.0.1:0").await.unwrap();
    let error = server().listen(first.address()).await.unwrap_err();
    assert!(error.to_string().contains("choose another port with --port"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_stopped_finishes_its_responses() {
    let listening = super::listen(server()).await;
    let address = listening.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let ok = format!("GET /ok HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(ok.as_bytes()).await.unwrap();
        let mut first = [0; 1];
        stream.read_exact(&mut first).await.unwrap();
        stop.send(()).unwrap();
        rest(stream).await
    };
    let ((), answer) = tokio::join!(listening.until(async { stopped.await.unwrap() }), client);
    assert!(answer.ends_with("{\"ok\":true,\"services\":{}}"), "{answer}");
}
