//! Server-sent events: written, split and read.

use hyper::body::Bytes;
use serde_json::Value;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Chat Completions has none.
    pub(super) name: Option<String>,
    pub(super) data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Json(Value),
    /// The end of a stream of Chat Completions.
    Done,
}

impl Event {
    /// An event that is called after the `type` of its data.
    pub(super) fn typed(data: Value) -> Self {
        let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
        Self { name, data: Data::Json(data) }
    }

    pub(super) fn unnamed(data: Value) -> Self {
        Self { name: None, data: Data::Json(data) }
    }

    pub(super) fn done() -> Self {
        Self { name: None, data: Data::Done }
    }

    pub(super) fn bytes(&self) -> Bytes {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        let data = match &self.data {
            Data::Json(data) => data.to_string(),
            Data::Done => "[DONE]".to_owned(),
        };
        Bytes::from(format!("{name}data: {data}\n\n"))
    }
}

/// A transcript in pieces that end where events do. Joined they are the transcript.
pub(super) fn split(transcript: &Bytes) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    let mut rest = transcript.clone();
    while let Some(end) = end_of_event(&rest) {
        pieces.push(rest.split_to(end));
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Returns the end of the first event: after an empty line.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let ends = [&b"\r\n\r\n"[..], b"\n\n", b"\r\r"];
    (1..=bytes.len()).find(|end| ends.iter().any(|empty| bytes[..*end].ends_with(empty)))
}

/// The data of a transcript that is JSON, for the server's memory. What it cannot read is of no matter to it.
pub(super) fn read(transcript: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(transcript);
    let lines = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_split_after_the_empty_lines_of_any_kind() {
        for line in ["\n", "\r\n", "\r"] {
            let transcript =
                Bytes::from(format!("event: a{line}data: 1{line}{line}data: 2{line}{line}data: 3"));
            let pieces = split(&transcript);
            assert_eq!(pieces.len(), 3, "{line:?}");
            assert_eq!(pieces[0], format!("event: a{line}data: 1{line}{line}"));
            assert_eq!(pieces.concat(), transcript);
        }
    }

    #[test]
    fn what_is_json_in_a_transcript_is_read() {
        assert_eq!(
            read(b"event: a\ndata: {\"a\":1}\n\ndata:2\n\ndata: [DONE]\n\n"),
            [serde_json::json!({"a": 1}), serde_json::json!(2)]
        );
    }
}
