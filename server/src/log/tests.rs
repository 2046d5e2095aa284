//! Readers of logs that runs write at the same time.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, json};
use superstep_core::checkpoint::{Checkpointer, MemorySaver};
use superstep_core::id::ThreadId;
use superstep_core::records::life::Ending;
use superstep_core::records::{Multitask, Records, RunClaim, RunRow, RunStatus, ThreadRow, ThreadStatus};
use superstep_core::state::Json;

use super::subscription::Received;
use super::{Attempt, Hub, Logged, Subscription};
use crate::clock::Clock;

/// A run of a generated log.
#[derive(Clone, Debug)]
struct Written {
    /// `true` if its entries are stored.
    is_stored: bool,
    /// The number of its entries.
    entries: usize,
    /// The readers that join during the run: after which entry of those so far, and the number of entries that they
    /// read at once.
    readers: Vec<(Index, usize)>,
}

fn written() -> impl Strategy<Value = Written> {
    let entries = prop_oneof![8 => 1_usize..40, 1 => Just(MORE_THAN_A_RING)];
    let readers = vec((any::<Index>(), 0_usize..60), 0..4);
    (any::<bool>(), entries, readers).prop_map(|(is_stored, entries, readers)| Written {
        is_stored,
        entries,
        readers,
    })
}

/// More entries than a ring keeps.
const MORE_THAN_A_RING: usize = 1_100;

/// A reader of a thread with the numbers that it got.
struct Reader {
    subscription: Subscription,
    after: u64,
    got: Vec<u64>,
    has_missed: bool,
}

impl Reader {
    fn join(hub: &Hub, thread: &ThreadId, after: u64) -> Self {
        let subscription = Subscription::of_thread(hub, thread, after);
        Self { subscription, after, got: Vec::new(), has_missed: false }
    }

    /// Reads at most so many entries of those that are ready.
    fn read(&mut self, most: usize) {
        for _ in 0..most {
            match self.subscription.next().now_or_never() {
                Some(Ok(Some(Received::Entry(entry)))) => self.got.push(entry.seq),
                Some(Ok(Some(Received::Missed))) => self.has_missed = true,
                Some(Ok(Some(Received::Gone(_)))) | Some(Ok(None)) => {
                    panic!("the stream of a thread does not end")
                }
                Some(Err(error)) => panic!("{error}"),
                None => return,
            }
        }
    }

    /// Checks that the reader has everything after its place, once each and in order, but for lost entries that it was
    /// told of.
    fn check(&self, log: &[(u64, bool)]) {
        assert!(self.got.is_sorted_by(|a, b| a < b), "once each and in order: {:?}", self.got);
        let later = || log.iter().filter(|(seq, _)| *seq > self.after);
        let got: HashSet<u64> = self.got.iter().copied().collect();
        let needed = later().filter(|(_, is_stored)| *is_stored || !self.has_missed);
        let lost: Vec<u64> = needed.map(|(seq, _)| *seq).filter(|seq| !got.contains(seq)).collect();
        assert_eq!(lost, [] as [u64; 0], "after {}", self.after);
        let known: HashSet<u64> = later().map(|(seq, _)| *seq).collect();
        assert!(got.is_subset(&known));
    }
}

fn run_row(id: String, thread: &ThreadId) -> RunRow {
    RunRow {
        id,
        thread: thread.clone(),
        assistant: "a".into(),
        graph: "g".into(),
        status: RunStatus::Pending,
        kwargs: Json::encode(&json!({})).unwrap(),
        metadata: Map::new(),
        multitask: Multitask::Enqueue,
        created_ms: 0,
        updated_ms: 0,
        not_before_ms: 0,
        owner: None,
        until_ms: 0,
        attempt: 0,
        lost: 0,
        cancel: None,
        error: None,
        calls: None,
    }
}

fn thread_row(id: &ThreadId) -> ThreadRow {
    ThreadRow {
        id: id.clone(),
        graph: None,
        metadata: Map::new(),
        status: ThreadStatus::Idle,
        config: Json::encode(&json!({})).unwrap(),
        error: None,
        created_ms: 0,
        updated_ms: 0,
        state_updated_ms: 0,
        expiry: None,
    }
}

/// Writes the entries of a run while readers join and read. Adds their numbers to the log.
async fn write(
    (hub, row): (&Hub, &RunRow),
    run: &Written,
    log: &mut Vec<(u64, bool)>,
    readers: &mut Vec<(Reader, usize)>,
) {
    let numbers = hub.reserve(&row.thread).await.unwrap();
    let mut attempt = Attempt::begin(hub, row, numbers, run.is_stored);
    for at in 0..run.entries {
        let modes = Vec::new();
        let begun = Logged::Begun {
            graph: "g".into(),
            assistant: "a".into(),
            metadata: Map::new(),
            modes,
            subgraphs: false,
        };
        let ended = Logged::Ended { status: RunStatus::Success, thread: ThreadStatus::Idle, error: None };
        attempt.log(if at + 1 == run.entries { ended } else { begun }).await.unwrap();
        log.push((hub.ring(&row.thread).last().unwrap(), run.is_stored));
        let joining =
            run.readers.iter().enumerate().filter(|(nth, _)| at == nth * run.entries / run.readers.len());
        for (_, (place, pace)) in joining {
            let places: Vec<u64> = std::iter::once(0).chain(log.iter().map(|(seq, _)| *seq)).collect();
            readers.push((Reader::join(hub, &row.thread, *place.get(&places)), *pace));
        }
        tokio::task::yield_now().await;
        readers.iter_mut().for_each(|(reader, pace)| reader.read(*pace));
    }
    attempt.close(Some(u64::MAX)).await.unwrap();
}

async fn log_of(runs: &[Written]) -> (Hub, Vec<(u64, bool)>, Vec<(Reader, usize)>) {
    let records: Arc<dyn Records> = MemorySaver::new().records().unwrap();
    let thread = ThreadId::from("t");
    records.insert_thread(thread_row(&thread)).await.unwrap();
    let hub = Hub::new(records, Clock::default());
    let (mut log, mut readers) = (Vec::new(), Vec::new());
    for (nth, run) in runs.iter().enumerate() {
        hub.records().create_run(run_row(format!("run-{nth}"), &thread)).await.unwrap();
        let claim = RunClaim {
            owner: "worker".into(),
            graphs: vec!["g".into()],
            left: Vec::new(),
            until_ms: u64::MAX,
        };
        let row = hub.records().claim_run(&claim, 0).await.unwrap().unwrap();
        write((&hub, &row), run, &mut log, &mut readers).await;
        let ending = Ending::Ended { status: RunStatus::Success, thread: ThreadStatus::Idle, error: None };
        assert!(hub.records().finish_run(&row.id, row.attempt, ending, None, 0).await.unwrap());
    }
    (hub, log, readers)
}

/// Entries that were lost before stored ones were skipped without a word.
#[tokio::test(start_paused = true)]
async fn a_reader_is_told_that_entries_before_stored_ones_are_lost() {
    let run = |is_stored| Written { is_stored, entries: MORE_THAN_A_RING, readers: Vec::new() };
    let (hub, log, _) = log_of(&[run(false), run(true)]).await;
    let mut reader = Reader::join(&hub, &"t".into(), 0);
    reader.read(usize::MAX);
    assert!(reader.has_missed);
    reader.check(&log);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_reader_gets_what_it_has_not_seen_once_each_in_order(runs in vec(written(), 1..6), place in any::<Index>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (hub, log, mut readers) = log_of(&runs).await;
            for (reader, _) in &mut readers {
                reader.read(usize::MAX);
                reader.check(&log);
            }
            // Another process has the stored entries only.
            let stored = log.iter().filter(|(_, is_stored)| *is_stored).map(|(seq, _)| *seq);
            let (after, elsewhere) = (place.get(&log).0, Hub::new(Arc::clone(hub.records()), Clock::default()));
            let mut late = Reader::join(&elsewhere, &"t".into(), after);
            late.read(usize::MAX);
            assert_eq!(late.got, stored.filter(|seq| *seq > after).collect::<Vec<_>>());
        });
    }
}
