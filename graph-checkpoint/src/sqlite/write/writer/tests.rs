//! Tests of batches: results whose superstep ends in the same transaction.

use superstep_conformance::material::{commit_of, graph, result, step, thread};
use superstep_core::checkpoint::{Checkpoint, Commit, Committed, Recorded, TaskResult};
use superstep_core::id::Fingerprint;

use super::*;
use crate::pending::Seen;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::pending;
use crate::sqlite::write::queue::Reply;

fn results() -> [TaskResult; 3] {
    [1, 2, 3].map(|number| result(number, "1"))
}

fn pushed(queue: &Queue, commit: Commit) -> Reply<Committed> {
    let checkpoint = Arc::clone(&commit.checkpoint);
    let (thread, recorded, is_last) = (commit.thread.clone(), commit.recorded, commit.is_last);
    let kind = Kind::Commit { thread, checkpoint, recorded, is_last };
    let (job, reply) = Job::waited_for(kind, None, move |turn| turn.commit(&commit));
    queue.push(job);
    reply
}

/// Writes three results and then a commit of `next`, in one batch. Returns its answer, the number of changed rows, and
/// the results on the head.
fn batch(
    next: impl FnOnce(&Checkpoint) -> Checkpoint,
    recorded: Recorded,
) -> (Result<Committed, StoreError>, u64, Recorded) {
    let mut ledger = Ledger::open(File::new(None, SqliteOptions::new())).expect("there is memory");
    ledger.cache().expect("it is open").register(&graph()).expect("it is stored");
    let (queue, base) = (Queue::new(), step(None, []));
    let mut first = pushed(&queue, commit_of("t", &base));
    ledger.run(&queue, Waits::ToTheLimit);
    assert!(matches!(first.try_recv().expect("it is answered"), Ok(Committed::New)));

    let before = ledger.cache().expect("it is open").written();
    for result in results() {
        queue.push(Job::result(thread("t"), base.id, Arc::new(result), None));
    }
    let commit = Commit { recorded: Some(recorded), ..commit_of("t", &next(&base)) };
    let mut answer = pushed(&queue, commit);
    ledger.run(&queue, Waits::ToTheLimit);
    assert!(!queue.is_unsettled_on(None));
    let cache = ledger.cache().expect("it is open");
    let (seq, written) = (cache.last_seq, cache.written() - before);
    let stored = pending::recorded(&cache.connection, Seen { seq, worker: 1, head: true });
    (answer.try_recv().expect("it is answered"), written, stored.expect("it reads"))
}

#[test]
fn results_that_their_commit_would_delete_are_not_stored() {
    let all = Recorded::of(&results(), &[]);
    let (answer, written, stored) = batch(|base| step(Some(base), []), all);
    assert!(matches!(answer, Ok(Committed::New)), "{answer:?}");
    assert_eq!(written, 2, "the checkpoint and the head");
    assert_eq!(stored, Recorded::default());
}

#[test]
fn they_are_stored_if_the_commit_fails() {
    let all = Recorded::of(&results(), &[]);
    let unknown = Fingerprint::from_bytes([9; 16]);
    let (answer, _, stored) = batch(|base| Checkpoint { schema: unknown, ..step(Some(base), []) }, all);
    assert!(matches!(answer, Err(StoreError::NotRegistered(found)) if found == unknown), "{answer:?}");
    assert_eq!(stored, all);
}

#[test]
fn they_are_stored_if_the_commit_does_not_know_them() {
    let two = Recorded::of(&results()[..2], &[]);
    let (answer, _, stored) = batch(|base| step(Some(base), []), two);
    assert!(matches!(&answer, Ok(Committed::Outrun(head)) if head.results == results()), "{answer:?}");
    assert_eq!(stored, Recorded::of(&results(), &[]));
}
