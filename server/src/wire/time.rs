//! Times of clients: RFC 3339 texts with microseconds and `+00:00`.

use superstep_core::checkpoint::rfc3339;

/// Returns a time in milliseconds since the Unix epoch as a text.
pub(crate) fn text(unix_ms: u64) -> String {
    of_utc(&rfc3339(unix_ms))
}

/// Returns an RFC 3339 text with milliseconds and `Z`, as checkpoints have it, in the form of clients.
pub(crate) fn of_utc(text: &str) -> String {
    match text.strip_suffix('Z') {
        Some(time) => format!("{time}000+00:00"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_microseconds_and_an_offset() {
        assert_eq!(text(951_827_696_789), "2000-02-29T12:34:56.789000+00:00");
    }
}
