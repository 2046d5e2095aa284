//! Subscribers that are slow, or never read: the run is not delayed, the buffer stays small, and every gap is reported.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Instant;

use superstep::prelude::*;
use superstep::run::{Feed, Received, RunEvent, Subscription};
use tokio::task::yield_now;

#[derive(State, Clone, Debug, Default)]
struct Nothing {
    said: String,
}

/// Events that the node emits.
const EVENTS: u32 = 2_000;

/// The capacity of the buffer.
const ROOM: usize = 64;

fn chatty() -> Graph<Nothing> {
    let mut g = StateGraph::<Nothing>::new("g");
    let node = g.node("node", async |emit: Emit| {
        for number in 0..EVENTS {
            emit.emit("number", &number);
            yield_now().await;
        }
        Nothing::update().said("all")
    });
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("sound")
}

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime of one thread").block_on(work)
}

/// A reader that checks that every missing event was reported.
struct Reader {
    events: Subscription,
    expected: u64,
    received: u64,
    missed: u64,
    /// The mutant does not report missed events.
    hides_gaps: bool,
}

impl Reader {
    fn new(events: Subscription) -> Self {
        Self { events, expected: 0, received: 0, missed: 0, hides_gaps: false }
    }

    /// Reads the next event; `Ok(false)` at the end, and an error if an event is missing.
    async fn read(&mut self) -> Result<bool, String> {
        match self.events.next().await {
            None => return Ok(false),
            Some(Received::Missed { .. }) if self.hides_gaps => {}
            Some(Received::Missed { from, to }) => {
                if from != self.expected || to < from {
                    return Err(format!("{from} to {to} are said to be missing after {}", self.expected));
                }
                self.missed += to + 1 - from;
                self.expected = to + 1;
            }
            Some(Received::Event(event)) => {
                if event.seq != self.expected {
                    return Err(format!("event {} follows event {}", event.seq, self.expected));
                }
                self.received += 1;
                self.expected += 1;
            }
        }
        Ok(true)
    }

    async fn read_all(&mut self) -> Result<(), String> {
        while self.read().await? {}
        Ok(())
    }
}

/// Runs beside subscribers that read one event in so many turns of the run. Returns the polls of the run and the
/// results of the subscribers.
async fn beside(paces: &[u32], hides_gaps: bool) -> Result<Vec<Reader>, String> {
    let mut request = chatty().run(Nothing::default());
    let feed = request.feed(ROOM);
    let mut readers: Vec<Reader> =
        paces.iter().map(|_| Reader { hides_gaps, ..Reader::new(feed.subscribe_from(0)) }).collect();
    let mut run = pin!(request.into_future());
    let mut turn = 0;
    loop {
        let ended = poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await;
        turn += 1;
        for (reader, pace) in readers.iter_mut().zip(paces).filter(|(_, pace)| turn % **pace == 0) {
            let _pace = pace;
            reader.read().await?;
        }
        if ended.is_ready() {
            break;
        }
        yield_now().await;
    }
    let whole = feed_length(&feed).await;
    for reader in &mut readers {
        reader.read_all().await?;
        if reader.expected != whole {
            return Err(format!("a reader ends at {}, and the log at {whole}", reader.expected));
        }
    }
    Ok(readers)
}

/// The number of events.
async fn feed_length(feed: &Feed) -> u64 {
    let mut last = Reader::new(feed.subscribe_from(0));
    last.read_all().await.expect("all writers have ended");
    last.expected
}

#[test]
fn a_slow_subscriber_gets_the_missed_range() {
    let paces = [1, 2, 3, 7, 50, 1_000, u32::MAX];
    let readers = on_one_thread(beside(&paces, false)).expect("every gap is told");
    assert_eq!(readers[0].missed, 0, "who keeps up misses nothing");
    for reader in &readers[4..] {
        assert!(reader.missed > 0 && reader.received >= ROOM as u64, "{} missed", reader.missed);
    }
}

/// The mutant: a subscription that does not report lost events.
#[test]
fn a_gap_that_is_not_told_is_noticed() {
    let wrong = on_one_thread(beside(&[50], true)).err().expect("it is noticed");
    assert!(wrong.contains("follows event"), "{wrong}");
}

#[test]
fn a_subscriber_that_returns_continues_where_it_was() {
    on_one_thread(async {
        let mut request = chatty().run(Nothing::default());
        let feed = request.feed(ROOM);
        let run = tokio::spawn(request.into_future());
        let mut reader = Reader::new(feed.subscribe_from(0));
        while reader.read().await.expect("every gap is told") {
            // A connection that is lost after each event, and comes back a little later.
            for _ in 0..reader.expected % 100 {
                yield_now().await;
            }
            reader.events = feed.subscribe_from(reader.expected);
        }
        assert!(reader.missed > 0 && reader.received > 0);
        assert_eq!(reader.expected, feed_length(&feed).await);
        assert!(run.await.expect("nothing panics").is_ok());
    });
}

/// The number of polls of a run's future beside so many subscribers that never read.
async fn polls(dead: usize) -> usize {
    let mut request = chatty().run(Nothing::default());
    let feed = request.feed(ROOM);
    let _dead: Vec<Subscription> = (0..dead).map(|_| feed.subscribe_from(0)).collect();
    let mut polls = 0;
    let mut run = pin!(request.into_future());
    let run = poll_fn(|context| {
        polls += 1;
        run.as_mut().poll(context)
    });
    assert!(run.await.is_ok());
    polls
}

#[test]
fn a_run_does_no_more_for_subscribers_that_never_read() {
    let [alone, beside_many] = [0, 1_000].map(|dead| on_one_thread(polls(dead)));
    assert_eq!(alone, beside_many, "the run was held up");
}

/// The maximum number of events in memory, with a prompt reader and a dead one.
async fn most_in_memory(room: usize) -> usize {
    let mut request = chatty().run(Nothing::default());
    let feed = request.feed(room);
    let (mut prompt, _dead) = (feed.subscribe_from(0), feed.subscribe_from(0));
    let run = tokio::spawn(request.into_future());
    let mut seen: Vec<Weak<RunEvent>> = Vec::new();
    let mut most = 0;
    while let Some(received) = prompt.next().await {
        let Received::Event(event) = received else { panic!("it is prompt: {received:?}") };
        seen.push(Arc::downgrade(&event));
        drop(event);
        seen.retain(|event| event.strong_count() > 0);
        most = most.max(seen.len());
    }
    assert!(run.await.expect("nothing panics").is_ok());
    most
}

#[test]
fn no_more_is_in_memory_than_the_ring_holds() {
    assert_eq!(on_one_thread(most_in_memory(ROOM)), ROOM);
    // The mutant: a buffer without a limit.
    assert!(on_one_thread(most_in_memory(usize::MAX)) > EVENTS as usize);
}

/// The slowdown of a run beside subscribers that never read, or read slowly. It compares the fastest of many rounds,
/// because other load on the machine only adds time.
#[test]
#[ignore = "it measures time: `cargo test --release --test behaviours slowdown -- --ignored --nocapture`, on a quiet machine"]
fn the_slowdown_by_dead_subscribers_is_small() {
    let time = |dead: usize| {
        let begun = Instant::now();
        on_one_thread(polls(dead));
        begun.elapsed()
    };
    let (mut alone, mut beside_many) = (time(0), time(100));
    for _ in 0..200 {
        alone = alone.min(time(0));
        beside_many = beside_many.min(time(100));
    }
    let ratio = beside_many.as_secs_f64() / alone.as_secs_f64();
    println!("beside 100 dead subscribers a run takes {ratio:.3} times as long");
    assert!(ratio < 1.05, "{ratio:.3}");
}
