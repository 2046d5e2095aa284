//! Many connections: streams without events, and clients that are slow or dead.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::client::{Client, ms_since, percentile, thread};
use crate::reference::Reference;
use crate::report::{Figure, median, round};
use crate::runs::{folder, run};
use crate::served::{Served, block_on};

const STREAMS: usize = 5_000;
const HOSTILE: usize = 1_000;
const REQUESTS: usize = 200;

/// Returns the times of runs of a good client, in milliseconds.
async fn good(address: SocketAddr) -> Vec<f64> {
    let mut client = Client::connect(address).await;
    thread(&mut client, "good").await;
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        client.post("/threads/good/runs/wait", &run()).await;
        times.push(ms_since(begun));
    }
    times
}

/// S6: 5,000 streams without events: the memory of each, and other requests meanwhile.
pub(crate) fn idle_streams(_: Option<&Reference>) -> Figure {
    block_on(async {
        let folder = folder();
        let served = Served::start(&folder.path().join("served.db"));
        good(served.address).await;
        let (mut before, mut during) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            before.push(percentile(&good(served.address).await, 99.0));
        }
        let kib = served.kib("VmRSS");
        let mut open = Vec::new();
        for first in (0..STREAMS).step_by(100) {
            let streams = (first..first + 100).map(|number| async move {
                let mut client = Client::connect(served.address).await;
                let (status, _) = client.begin("GET", &format!("/threads/idle-{number}/stream"), "").await;
                assert_eq!(status, 200, "the stream opens");
                client
            });
            open.extend(join_all(streams).await);
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        let each = (served.kib("VmRSS") - kib) / STREAMS as f64;
        for _ in 0..3 {
            during.push(percentile(&good(served.address).await, 99.0));
        }
        let mut extra = Map::new();
        extra.insert("p99_ms".into(), round(median(&during)).into());
        extra.insert("p99_before_ms".into(), round(median(&before)).into());
        extra.insert("ratio_of_p99".into(), round(median(&during) / median(&before)).into());
        drop(open);
        let target = "≤ 48 KiB; runs/wait meanwhile ≤ 2 × its p99";
        Figure { unit: "KiB/stream", values: vec![each], baselines: vec![48.0], extra, target }
    })
}

/// A client that sends a byte a second of a request's head. Returns when the server has closed the connection.
async fn slow(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    for byte in "GET /ok HTTP/1.1\r\nx-slow: ".bytes().chain(std::iter::repeat(b'a')) {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A client that asks for states, again and again, and reads nothing. Returns when the server has closed the
/// connection.
async fn silent(address: SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a new socket takes options");
    let mut stream = socket.connect(address).await.expect("the server listens");
    let request = format!("GET /threads/large/state HTTP/1.1\r\nhost: {address}\r\n\r\n");
    while stream.write_all(request.as_bytes()).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// S9: 1,000 clients that send a byte a second, and 1,000 that do not read: runs of a good client meanwhile.
pub(crate) fn hostile(_: Option<&Reference>) -> Figure {
    block_on(async {
        let folder = folder();
        let served = Served::start(&folder.path().join("served.db"));
        let address = served.address;
        let mut client = Client::connect(address).await;
        thread(&mut client, "large").await;
        let messages: Vec<_> = (0..1_000)
            .map(|number| json!({ "id": number.to_string(), "type": "human", "content": "x".repeat(100) }))
            .collect();
        let large = json!({ "assistant_id": "chat", "input": { "messages": messages } });
        client.post("/threads/large/runs/wait", &large).await;
        good(address).await;
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            baselines.push(percentile(&good(address).await, 99.0));
        }
        let begun = Instant::now();
        let mut clients = JoinSet::new();
        for _ in 0..HOSTILE {
            clients.spawn(slow(address));
            clients.spawn(silent(address));
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        for _ in 0..3 {
            values.push(percentile(&good(address).await, 99.0));
        }
        let all = async { while clients.join_next().await.is_some() {} };
        let are_gone = tokio::time::timeout(Duration::from_secs(120), all).await.is_ok();
        let mut extra = Map::new();
        extra.insert("most_mb".into(), round(served.kib("VmHWM") / 1024.0).into());
        extra.insert(
            "gone_after_s".into(),
            if are_gone { round(begun.elapsed().as_secs_f64()).into() } else { "never".into() },
        );
        Figure { unit: "ms, p99", values, baselines, extra, target: "without them, ≤ 2; ≤ 512 MB" }
    })
}
