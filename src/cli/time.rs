//! Times for people.

use crate::checkpoint::rfc3339;

/// Milliseconds since the Unix epoch in UTC, to the second and with a blank: short, for tables.
pub(super) fn readable(unix_ms: u64) -> String {
    rfc3339(unix_ms)[..19].replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_a_table_ends_with_the_second() {
        assert_eq!(readable(1_735_689_599_999), "2024-12-31 23:59:59");
    }
}
