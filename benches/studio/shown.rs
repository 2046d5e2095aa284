//! A running studio, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// `superstep studio` on a file. It ends when it is dropped.
pub(crate) struct Studio {
    child: Child,
    address: String,
    token: String,
}

impl Studio {
    pub(crate) fn start(file: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.arg("studio").arg(file).args(["--port", "0", "--no-open", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a piped output");
        BufReader::new(out).read_line(&mut line).expect("the studio says its address");
        let said: Value = serde_json::from_str(&line).expect("the studio starts");
        let page = said["address"].as_str().and_then(|page| page.strip_prefix("http://"));
        let (address, token) = page.and_then(|page| page.split_once("/studio#token=")).expect("an address");
        Self { child, address: address.to_owned(), token: token.to_owned() }
    }

    /// Returns the response to a request for a document.
    pub(crate) fn get(&self, path: &str) -> Value {
        let mut response = Vec::new();
        self.open(path, "close").read_to_end(&mut response).expect("the studio answers");
        let head = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a response");
        assert!(response.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&response));
        serde_json::from_slice(&response[head + 4..]).expect("a document")
    }

    /// Opens the stream of events, and waits for its begin.
    pub(crate) fn events(&self) -> BufReader<TcpStream> {
        let mut lines = BufReader::new(self.open("events", "keep-alive"));
        wait_for(&mut lines, ": open");
        lines
    }

    fn open(&self, path: &str, connection: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the studio listens");
        let Self { address, token, .. } = self;
        let request = format!(
            "GET /studio/api/{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: {connection}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("the studio reads");
        stream
    }
}

/// Reads a stream until a line that has a text.
pub(crate) fn wait_for(lines: &mut BufReader<TcpStream>, text: &str) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(lines.read_line(&mut line).expect("the stream is open") > 0, "the stream has ended");
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.child.kill().expect("the studio runs");
        self.child.wait().expect("the studio has ended");
    }
}
