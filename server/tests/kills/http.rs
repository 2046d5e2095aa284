//! A small HTTP client, which notices where a connection broke off.

use std::io::{self, ErrorKind};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::checked::Checked;

/// The time in which something must arrive. Streams have heartbeats.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Event {
    /// Returns the number in the id, which grows within a thread.
    pub(crate) fn number(&self) -> Checked<u64> {
        let number = self.id.rsplit('-').next().and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("an event without a number: {self:?}"))
    }
}

/// A response whose body is read as it arrives.
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The id of the run that the response belongs to.
    pub(crate) run: Option<String>,
    input: BufReader<TcpStream>,
    /// The length of the body; `None` for a chunked one.
    length: Option<usize>,
    text: String,
}

/// Sends a request. `last` is the id of the last event that the client has.
pub(crate) async fn send(
    port: u16,
    method: &str,
    path: &str,
    last: Option<&str>,
    body: &Value,
) -> io::Result<Response> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let last = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n{last}\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut input = BufReader::new(stream);
    let status = line(&mut input).await?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (mut run, mut length) = (None, Some(0));
    loop {
        let header = line(&mut input).await?;
        match header.split_once(": ") {
            None => break,
            Some(("content-location", path)) => run = path.rsplit('/').next().map(str::to_owned),
            Some(("content-length", count)) => length = count.parse().ok(),
            Some(("transfer-encoding", _)) => length = None,
            Some(_) => {}
        }
    }
    let status = status.ok_or(ErrorKind::InvalidData)?;
    Ok(Response { status, run, input, length, text: String::new() })
}

async fn line(input: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    timeout(PATIENCE, input.read_line(&mut line)).await??;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

impl Response {
    /// Reads more of the body; returns `false` at its end.
    async fn more(&mut self) -> io::Result<bool> {
        let (count, is_chunk) = match self.length {
            Some(count) => (count, false),
            None => {
                let size = line(&mut self.input).await?;
                let size = usize::from_str_radix(&size, 16).map_err(|_| ErrorKind::InvalidData)?;
                (size, true)
            }
        };
        let mut part = vec![0; count];
        timeout(PATIENCE, self.input.read_exact(&mut part)).await??;
        self.text += std::str::from_utf8(&part).map_err(|_| ErrorKind::InvalidData)?;
        match is_chunk {
            true => line(&mut self.input).await.map(|_| count > 0),
            false => {
                self.length = Some(0);
                Ok(count > 0)
            }
        }
    }

    /// Reads the body as JSON.
    pub(crate) async fn json(mut self) -> io::Result<Value> {
        while self.more().await? {}
        Ok(serde_json::from_str(&self.text)?)
    }

    /// Reads the next event; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = parsed(event);
                self.text = rest.to_owned();
                match event {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            if !self.more().await? {
                return Ok(None);
            }
        }
    }
}

/// Parses an event; `None` for a heartbeat.
fn parsed(text: &str) -> Option<Event> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let data = serde_json::from_str(field("data: ")?).expect("the data is JSON");
    Some(Event { id: field("id: ").unwrap_or_default().into(), name: field("event: ")?.into(), data })
}
