//! Server-sent events, as bytes come in.

use superstep_nodes::model::ModelError;

use super::transport::MOST_BYTES;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its name; empty if it has none.
    pub(super) name: String,
    /// Its data, the lines joined.
    pub(super) data: String,
}

/// Decodes server-sent events, by the rules of the WHATWG's HTML standard, section 9.2.6. Where the bytes are cut
/// makes no difference.
///
/// Ids and retry times are left out: a model's stream cannot be taken up again. An event that the stream ends
/// within is no event.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last line ended with a carriage return, to which a line feed may belong.
    returned: bool,
    begun: bool,
}

impl SseDecoder {
    /// Takes bytes and returns the events that they complete.
    ///
    /// # Errors
    /// If an event is larger than any that a model sends.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, ModelError> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.returned) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let Some(end) = end else {
                self.hold(bytes)?;
                break;
            };
            self.hold(&bytes[..end])?;
            self.returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(events)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        self.line.extend_from_slice(bytes);
        if self.line.len() + self.event.data.len() > MOST_BYTES {
            let reason = format!("it sent an event of more than {MOST_BYTES} bytes");
            return Err(ModelError::ServerFailed { reason });
        }
        Ok(())
    }

    /// Takes in a line; returns the event that it ends, if it does.
    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix('\u{feff}').filter(|_| first).unwrap_or(&line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // A comment, an id, a retry time, or something new.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let events = pieces.iter().flat_map(|piece| decoder.push(piece).unwrap());
        events.map(|event| (event.name, event.data)).collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn where_the_bytes_are_cut_makes_no_difference() {
        let stream =
            "\u{feff}event: a\r\ndata: 1 ä\r\n\r\n: comment\rdata:2\rdata: 3\r\rid: 7\nretry: 1\ndata\n\n"
                .as_bytes();
        let whole = decoded(&[stream]);
        assert_eq!(whole, [event("a", "1 ä"), event("", "2\n3"), event("", "")]);
        for cut in 0..=stream.len() {
            assert_eq!(decoded(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decoded(&single), whole);
    }

    #[test]
    fn an_event_without_data_is_none_and_its_name_is_forgotten() {
        assert_eq!(decoded(&[b"event: a\n\ndata: x\n\n"]), [event("", "x")]);
    }

    #[test]
    fn an_event_that_the_stream_ends_within_is_none() {
        assert_eq!(decoded(&[b"data: x\n\ndata: y\n"]), [event("", "x")]);
    }

    #[test]
    fn one_space_after_the_colon_belongs_to_the_form_and_more_do_not() {
        assert_eq!(decoded(&[b"data:  x\n\n"]), [event("", " x")]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_stream() {
        assert_eq!(decoded(&[b"data: \xff\n\ndata: y\n\n"]), [event("", "\u{fffd}"), event("", "y")]);
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let mut decoder = SseDecoder::default();
        let piece = vec![b'x'; 1 << 20];
        let pieces = (0..=MOST_BYTES / piece.len()).map(|_| decoder.push(&piece));
        assert!(matches!(pieces.last(), Some(Err(ModelError::ServerFailed { .. }))));
    }
}
