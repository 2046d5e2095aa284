//! The times of schedules.

use crate::wire::Failure;

/// Returns the first time of a cron expression after a time, both in milliseconds since the Unix epoch; `None` if
/// there is none.
#[cfg(feature = "crons")]
pub(super) fn next(schedule: &str, timezone: Option<&str>, after_ms: u64) -> Result<Option<u64>, Failure> {
    use std::str::FromStr;

    let invalid = |error: &dyn std::fmt::Display| Failure::invalid(format!("schedule: {error}"));
    let cron = croner::Cron::from_str(schedule).map_err(|error| invalid(&error))?;
    let after = i64::try_from(after_ms).unwrap_or(i64::MAX);
    let after = jiff::Timestamp::from_millisecond(after).map_err(|error| invalid(&error))?;
    let zone = timezone.unwrap_or("UTC");
    let after = after.in_tz(zone).map_err(|error| Failure::invalid(format!("timezone: {error}")))?;
    let next = cron.find_next_occurrence(&after, false).ok();
    Ok(next.and_then(|next| u64::try_from(next.timestamp().as_millisecond()).ok()))
}

/// Reads an RFC 3339 text as milliseconds since the Unix epoch.
#[cfg(feature = "crons")]
pub(super) fn time(text: &str) -> Result<u64, Failure> {
    let invalid = || Failure::invalid(format!("end_time: {text:?} is not an RFC 3339 time after 1970"));
    let time: jiff::Timestamp = text.parse().map_err(|_| invalid())?;
    u64::try_from(time.as_millisecond()).map_err(|_| invalid())
}

/// Without the feature `crons` there are no schedules.
#[cfg(not(feature = "crons"))]
pub(super) fn next(_: &str, _: Option<&str>, _: u64) -> Result<Option<u64>, Failure> {
    Err(missing())
}

/// Without the feature `crons` there are no schedules.
#[cfg(not(feature = "crons"))]
pub(super) fn time(_: &str) -> Result<u64, Failure> {
    Err(missing())
}

#[cfg(not(feature = "crons"))]
fn missing() -> Failure {
    Failure::new(501, "this server was built without schedules (feature `crons`)")
}

#[cfg(all(test, feature = "crons"))]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_zone() {
        let noon = time("2026-07-01T12:00:00Z").unwrap();
        assert_eq!(next("0 9 * * *", None, noon).unwrap(), Some(time("2026-07-02T09:00:00Z").unwrap()));
        let berlin = next("0 9 * * *", Some("Europe/Berlin"), noon).unwrap();
        assert_eq!(berlin, Some(time("2026-07-02T07:00:00Z").unwrap()));
        assert_eq!(next("nonsense", None, noon).unwrap_err().status, 422);
        assert_eq!(next("0 9 * * *", Some("Nowhere/None"), noon).unwrap_err().status, 422);
    }
}
