//! The line below the output.

use std::time::Duration;

use super::line::Line;
use crate::page::{DIM, NOTE, plain, span};
use crate::screen::Look;

/// The state of the work, for the line below the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// The present activity, such as `bash cargo test`.
    pub(crate) activity: String,
    /// The tokens of the last request of the session and its reply.
    pub(crate) tokens: u64,
    /// The context window of the model.
    pub(crate) window: Option<u64>,
    /// The cost so far, in millionths of a dollar; `None` if a price is not known.
    pub(crate) micro_usd: Option<u64>,
}

/// The pictures of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The time that each picture is shown, in milliseconds.
const PICTURE_MS: u128 = 100;

impl Status {
    /// Returns the line after so long a time of work, no wider than the terminal: less important parts are left out
    /// first, and then the activity is cut.
    pub(crate) fn line(&self, elapsed: Duration, hint: &str, look: Look) -> Line {
        let picture = SPINNER[(elapsed.as_millis() / PICTURE_MS) as usize % SPINNER.len()];
        let time = time(elapsed);
        let tokens = match (self.tokens, self.window) {
            (0, _) => String::new(),
            (tokens, Some(window)) => format!("{} of {}", count(tokens), count(window)),
            (tokens, None) => count(tokens),
        };
        let cost = self.micro_usd.filter(|cost| *cost > 0).map(dollars).unwrap_or_default();
        let mut parts = [time, tokens, cost, hint.to_owned()];
        let columns = look.width.unwrap_or(usize::MAX);
        // The cost is left out first, then the tokens, the time and the hint.
        let mut leave_out = [2, 1, 0, 3].into_iter();
        loop {
            let mut spans = vec![span(NOTE, picture), plain(" "), plain(&self.activity)];
            for part in parts.iter().filter(|part| !part.is_empty()) {
                spans.push(span(DIM, format!(" · {part}")));
            }
            let line = Line(spans);
            // The last column stays free, as some terminals break the line there.
            let most = columns.saturating_sub(1);
            match leave_out.next().filter(|_| line.width() > most) {
                Some(part) if self.keeps_room(&line, most) => parts[part].clear(),
                _ => return self.fitted(line, most),
            }
        }
    }

    /// Returns `true` if leaving parts out helps more than cutting the activity, which needs no more than half the line.
    fn keeps_room(&self, line: &Line, columns: usize) -> bool {
        let rest = line.width() - Line::of([plain(&self.activity)]).width();
        rest + columns / 2 > columns
    }

    /// Cuts the activity, so that the parts behind it are shown.
    fn fitted(&self, mut line: Line, columns: usize) -> Line {
        let activity = Line::of([plain(&self.activity)]);
        let rest = line.width() - activity.width();
        line.0.splice(2..3, activity.cut(columns.saturating_sub(rest)).0);
        line.cut(columns)
    }
}

/// Returns a duration for people.
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns a number of tokens for people.
pub(crate) fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

/// Returns an amount of money for people; it is rounded up, so that no cost is shown as none.
pub(crate) fn dollars(micro_usd: u64) -> String {
    let cents = micro_usd.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(activity: &str) -> Status {
        Status { activity: activity.into(), tokens: 41_200, window: Some(200_000), micro_usd: Some(301_000) }
    }

    fn shown(status: &Status, columns: usize) -> String {
        let look = Look { width: Some(columns), color: false };
        status.line(Duration::from_secs(12), "Esc stops", look).text(false)
    }

    #[test]
    fn the_line_has_activity_time_tokens_and_cost() {
        let full = "⠋ bash cargo test · 12 s · 41k of 200k · $0.31 · Esc stops";
        assert_eq!(shown(&status("bash cargo test"), 80), full);
        assert_eq!(
            shown(&Status { activity: "thinks".into(), ..Status::default() }, 80),
            "⠋ thinks · 12 s · Esc stops"
        );
    }

    #[test]
    fn a_narrow_line_leaves_out_the_cost_first_and_keeps_the_key() {
        let without_cost = "⠋ bash cargo test · 12 s · 41k of 200k · Esc stops";
        assert_eq!(shown(&status("bash cargo test"), 58), without_cost);
        assert_eq!(shown(&status("bash cargo test"), 40), "⠋ bash cargo test · 12 s · Esc stops");
        let cut = "⠋ bash cargo test --worksp… · Esc stops";
        assert_eq!(shown(&status("bash cargo test --workspace"), 40), cut);
    }

    #[test]
    fn numbers_are_written_for_people() {
        let times = [0, 59, 61, 3_700].map(|seconds| time(Duration::from_secs(seconds)));
        assert_eq!(times, ["0 s", "59 s", "1 min 1 s", "1 h 1 min"]);
        assert_eq!([0, 999, 41_999, 1_250_000].map(count), ["0", "999", "41k", "1.2M"]);
        assert_eq!([1, 10_000, 1_234_567].map(dollars), ["$0.01", "$0.01", "$1.24"]);
    }

    proptest! {
        #[test]
        fn the_line_is_never_wider_than_the_terminal(activity in ".{0,60}", columns in 1..200_usize, seconds in 0..100_000_u64) {
            let look = Look { width: Some(columns), color: false };
            let line = status(&activity).line(Duration::from_secs(seconds), "Esc stops", look);
            prop_assert!(line.width() < columns.max(2), "{}", line.text(false));
        }
    }
}
