//! A client: HTTP/1.1 over one connection.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection with a server.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    /// `true` while the body of a stream is being read.
    is_chunked: bool,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a connected socket takes options");
        Self { stream: BufReader::new(stream), address, is_chunked: false }
    }

    /// Sends a request, and reads the head of its response. Returns its status and the length of its body.
    pub(crate) async fn begin(&mut self, method: &str, path: &str, body: &str) -> (u16, Option<usize>) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await.expect("the server reads");
        let mut line = self.line().await;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut length = None;
        self.is_chunked = false;
        loop {
            line = self.line().await.to_ascii_lowercase();
            if line.is_empty() {
                return (status, length);
            }
            length = line.strip_prefix("content-length: ").and_then(|length| length.parse().ok()).or(length);
            self.is_chunked |= line == "transfer-encoding: chunked";
        }
    }

    /// Sends a request, and returns the body of its response.
    ///
    /// # Panics
    /// Panics if the request fails.
    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let (status, length) = self.begin(method, path, body).await;
        let mut body = Vec::new();
        if self.is_chunked {
            while let Some(part) = self.part().await {
                body.extend(part);
            }
        }
        if let Some(length) = length {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).await.expect("a whole body");
        }
        assert!(status < 300, "{method} {path}: {status} {}", String::from_utf8_lossy(&body));
        body
    }

    /// Returns the next part of a chunked body; `None` after the last one.
    pub(crate) async fn part(&mut self) -> Option<Vec<u8>> {
        let size = self.line().await;
        let size = usize::from_str_radix(&size, 16).expect("the size of a part");
        let mut part = vec![0; size + 2];
        self.stream.read_exact(&mut part).await.expect("a whole part");
        part.truncate(size);
        (size > 0).then_some(part)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Vec<u8> {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Vec<u8> {
        self.send("POST", path, &body.to_string()).await
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).await.expect("the server answers");
        assert!(read > 0, "the server closed the connection");
        line.trim_end().to_owned()
    }
}

/// Creates a thread with this id.
pub(crate) async fn thread(client: &mut Client, id: &str) {
    client.post("/threads", &serde_json::json!({ "thread_id": id, "if_exists": "do_nothing" })).await;
}

/// Returns a time in milliseconds.
pub(crate) fn ms_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Returns the value that so many percent of the samples are below.
pub(crate) fn percentile(samples: &[f64], percent: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of a list")]
    let index = ((sorted.len() as f64) * percent / 100.0).ceil() as usize;
    sorted[index.clamp(1, sorted.len()) - 1]
}
