//! Checks that readers of a ring reach its end, and receive every item or a notice that they missed it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loom::thread;

use super::stream::ring::{Next, Ring};
use super::{Sleeper, everywhere, fails};

/// The function with which a reader polls for the next item.
type Ask = fn(&Ring<u64>, &mut u64, &Context<'_>) -> Poll<Option<Next<u64>>>;

fn ask(ring: &Ring<u64>, place: &mut u64, context: &Context<'_>) -> Poll<Option<Next<u64>>> {
    ring.poll_next(place, |_| true, context)
}

/// Hides missed items: a mutant of [`ask`].
fn ask_and_hide(ring: &Ring<u64>, place: &mut u64, context: &Context<'_>) -> Poll<Option<Next<u64>>> {
    loop {
        match ask(ring, place, context) {
            Poll::Ready(Some(Next::Missed { .. })) => {}
            next => return next,
        }
    }
}

/// Polls without registering a waker: a mutant of [`ask`].
fn ask_unseen(ring: &Ring<u64>, place: &mut u64, _context: &Context<'_>) -> Poll<Option<Next<u64>>> {
    ask(ring, place, &Context::from_waker(Waker::noop()))
}

/// A reader of a ring, with its position.
struct Reader {
    ring: Arc<Ring<u64>>,
    ask: Ask,
    place: u64,
    /// The next item that it must receive or be told to have missed.
    expected: u64,
    sleeper: Arc<Sleeper>,
}

impl Reader {
    fn new(ring: &Arc<Ring<u64>>, ask: Ask) -> Self {
        Self { ring: Arc::clone(ring), ask, place: 0, expected: 0, sleeper: Arc::default() }
    }

    /// Reads until it would sleep; returns `true` if it reached the end.
    fn read(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.sleeper));
        loop {
            match (self.ask)(&self.ring, &mut self.place, &Context::from_waker(&waker)) {
                Poll::Pending => return false,
                Poll::Ready(None) => return true,
                Poll::Ready(Some(Next::Item(item))) => {
                    assert_eq!(*item, self.expected, "an item is missing without a notice");
                    self.expected += 1;
                }
                Poll::Ready(Some(Next::Missed { from, to })) => {
                    assert!(from == self.expected && to >= from, "{from} to {to} were not missed");
                    self.expected = to + 1;
                }
            }
        }
    }
}

fn written_and_read(items: u64, readers: usize, ask: Ask) {
    let ring = Arc::new(Ring::new(1));
    let readers: Vec<_> = (0..readers)
        .map(|_| {
            let mut reader = Reader::new(&ring, ask);
            thread::spawn(move || {
                let at_end = reader.read();
                (reader, at_end)
            })
        })
        .collect();
    for item in 0..items {
        ring.push(item, || item);
    }
    ring.end();
    for reader in readers {
        let (mut reader, at_end) = reader.join().expect("the reader does not panic");
        if !at_end {
            assert!(reader.sleeper.was_woken(), "a reader sleeps forever");
            assert!(reader.read(), "everything is written");
        }
        assert_eq!(reader.expected, items);
    }
}

#[test]
fn a_reader_comes_to_the_end_and_knows_what_it_missed() {
    everywhere(|| written_and_read(3, 1, ask));
}

#[test]
fn two_readers_come_to_the_end() {
    everywhere(|| written_and_read(2, 2, ask));
}

#[test]
fn a_gap_that_is_hidden_is_noticed() {
    assert!(fails(|| written_and_read(3, 1, ask_and_hide)));
}

#[test]
fn a_reader_that_is_not_woken_is_noticed() {
    assert!(fails(|| written_and_read(3, 1, ask_unseen)));
}
