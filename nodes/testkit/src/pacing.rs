//! The speed of an answer, the pieces it is sent in, and whether it is sent completely.

use std::time::Duration;

use hyper::body::Bytes;

/// The speed of an answer, the pieces it is sent in, and whether it is sent completely. By default it is sent at once,
/// one event of a stream after the other.
///
/// ```
/// use std::time::Duration;
/// use superstep_testkit::Pacing;
///
/// // Three bytes at a time, and after 40 bytes the connection is closed.
/// let cut = Pacing::new().chunks_of(3).cut_after_bytes(40);
/// // The head after 5 ms, then an event every millisecond.
/// let slow = Pacing::new().head_after(Duration::from_millis(5)).pause(Duration::from_millis(1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pacing {
    pub(super) head: Head,
    pieces: Pieces,
    pause: Duration,
    end: End,
}

/// The delivery of the head of an answer, before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    After(Duration),
    Never,
    HangUp,
}

impl Default for Head {
    fn default() -> Self {
        Self::After(Duration::ZERO)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pieces {
    #[default]
    Events,
    Bytes(usize),
    Whole,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Whole,
    Early(Until, Way),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Bytes(usize),
    Events(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Cut,
    Stall,
}

/// A step in the delivery of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Wait(Duration),
    Send(Bytes),
    /// The connection is closed, though more was to come.
    Cut,
    /// Nothing more comes, until the client goes away.
    Stall,
}

impl Pacing {
    /// Everything at once, an event after the other.
    pub fn new() -> Self {
        Self::default()
    }

    /// No answer at all, until the client goes away.
    pub fn never() -> Self {
        Self { head: Head::Never, ..Self::default() }
    }

    /// No answer: the connection is closed once the request is read.
    pub fn hang_up() -> Self {
        Self { head: Head::HangUp, ..Self::default() }
    }

    /// A byte at a time, with a pause before each.
    pub fn trickle(pause: Duration) -> Self {
        Self::new().chunks_of(1).pause(pause)
    }

    /// Waits before the status and the headers.
    #[must_use]
    pub fn head_after(self, wait: Duration) -> Self {
        Self { head: Head::After(wait), ..self }
    }

    /// Sends so many bytes at a time, wherever events end. Fewer than one is one.
    #[must_use]
    pub fn chunks_of(self, bytes: usize) -> Self {
        Self { pieces: Pieces::Bytes(bytes.max(1)), ..self }
    }

    /// Sends all events in one chunk.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { pieces: Pieces::Whole, ..self }
    }

    /// Waits before each chunk: an event, unless the chunks are set otherwise.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Closes the connection after so many bytes of the body. There is no end of the body then.
    #[must_use]
    pub fn cut_after_bytes(self, bytes: usize) -> Self {
        Self { end: End::Early(Until::Bytes(bytes), Way::Cut), ..self }
    }

    /// Closes the connection after so many events.
    #[must_use]
    pub fn cut_after_events(self, events: usize) -> Self {
        Self { end: End::Early(Until::Events(events), Way::Cut), ..self }
    }

    /// Sends so many bytes of the body and then nothing more, until the client goes away.
    #[must_use]
    pub fn stall_after_bytes(self, bytes: usize) -> Self {
        Self { end: End::Early(Until::Bytes(bytes), Way::Stall), ..self }
    }

    /// Sends so many events and then nothing more, until the client goes away.
    #[must_use]
    pub fn stall_after_events(self, events: usize) -> Self {
        Self { end: End::Early(Until::Events(events), Way::Stall), ..self }
    }

    /// Returns the steps that deliver the events of a body.
    pub(super) fn steps(&self, events: &[Bytes]) -> Vec<Step> {
        let mut body: Bytes = events.concat().into();
        let kept = match self.end {
            End::Whole => body.len(),
            End::Early(Until::Bytes(bytes), _) => bytes.min(body.len()),
            End::Early(Until::Events(count), _) => events.iter().take(count).map(Bytes::len).sum(),
        };
        body.truncate(kept);
        let mut steps = Vec::new();
        let mut sizes = events.iter().map(Bytes::len).filter(|size| *size > 0);
        while !body.is_empty() {
            let size = match self.pieces {
                Pieces::Events => sizes.next().unwrap_or(body.len()),
                Pieces::Bytes(size) => size,
                Pieces::Whole => body.len(),
            };
            if !self.pause.is_zero() {
                steps.push(Step::Wait(self.pause));
            }
            steps.push(Step::Send(body.split_to(size.min(body.len()))));
        }
        match self.end {
            End::Whole => {}
            End::Early(_, Way::Cut) => steps.push(Step::Cut),
            End::Early(_, Way::Stall) => steps.push(Step::Stall),
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Bytes; 3] =
        [Bytes::from_static(b"one"), Bytes::from_static(b"three"), Bytes::from_static(b"x")];

    fn send(text: &'static str) -> Step {
        Step::Send(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn a_body_comes_event_by_event_unless_told_otherwise() {
        assert_eq!(Pacing::new().steps(&EVENTS), [send("one"), send("three"), send("x")]);
        assert_eq!(Pacing::new().whole().steps(&EVENTS), [send("onethreex")]);
        assert_eq!(Pacing::new().chunks_of(4).steps(&EVENTS), [send("onet"), send("hree"), send("x")]);
    }

    #[test]
    fn a_pause_is_before_every_chunk() {
        let wait = Duration::from_millis(2);
        assert_eq!(
            Pacing::new().chunks_of(8).pause(wait).steps(&EVENTS),
            [Step::Wait(wait), send("onethree"), Step::Wait(wait), send("x")]
        );
    }

    #[test]
    fn a_body_may_end_early_after_bytes_or_events() {
        assert_eq!(Pacing::new().cut_after_bytes(4).steps(&EVENTS), [send("one"), send("t"), Step::Cut]);
        assert_eq!(Pacing::new().cut_after_events(1).steps(&EVENTS), [send("one"), Step::Cut]);
        assert_eq!(Pacing::new().cut_after_bytes(0).steps(&EVENTS), [Step::Cut]);
        assert_eq!(
            Pacing::new().whole().stall_after_events(2).steps(&EVENTS),
            [send("onethree"), Step::Stall]
        );
    }

    #[test]
    fn a_cut_after_the_last_byte_leaves_out_the_end_only() {
        assert_eq!(Pacing::new().whole().cut_after_bytes(99).steps(&EVENTS), [send("onethreex"), Step::Cut]);
    }
}
