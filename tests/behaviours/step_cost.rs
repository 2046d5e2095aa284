//! The cost of a superstep: the tests count copies of the state and accesses to its items; neither grows with the
//! state.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use superstep::error::NodeErrorKind;
use superstep::prelude::*;
use superstep::reducer::Keyed;

use crate::support::{Calls, Stage, failure, on_both_savers};

/// A count that the copies of a value share.
#[derive(Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stand-in for a large field: its copies are counted.
#[derive(Debug, Default)]
struct Large(Counted);

impl Clone for Large {
    fn clone(&self) -> Self {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Self(Counted(Arc::clone(&self.0.0)))
    }
}

#[derive(State, Clone, Debug, Default)]
struct Work {
    #[state(transient)]
    large: Large,
    #[reducer(Append)]
    done: Vec<u32>,
    #[reducer(Ephemeral)]
    rung: bool,
    last: Option<u32>,
}

#[derive(Route, Clone, Copy, Debug, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

async fn add(work: Snapshot<Work>) -> Update<Work> {
    Work::update().done([u32::try_from(work.done.len()).expect("few")])
}

/// A branch used to decide on a copy of the whole state: 8,000 messages took 23 s instead of 0.03 s.
#[tokio::test]
async fn a_branch_of_the_only_node_of_a_superstep_copies_nothing() {
    const STEPS: usize = 100;
    let mut g = StateGraph::<Work>::new("loop");
    let node = g.node("add", add);
    g.edge(START, node);
    let again = |work: &Work| if work.done.len() < STEPS { Next::Again } else { Next::Done };
    g.branch(node, again, move |next| match next {
        Next::Again => to(node),
        Next::Done => END,
    });
    let run = g.compile().expect("sound").run(Work::update()).await.expect("no node fails");
    assert_eq!(run.state.done.len(), STEPS);
    let copies = run.state.large.0.count();
    assert!(copies <= 2, "{copies} copies in {STEPS} supersteps");
}

/// A wide superstep used to copy its state for each task with writes and branches.
#[tokio::test]
async fn branches_of_a_wide_superstep_share_a_copy() {
    const TASKS: u32 = 200;
    let seen: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
    let seeing = Arc::clone(&seen);
    let mut g = StateGraph::<Work>::new("wide");
    let item = g.node("item", |number: Input<u32>| async move { Work::update().done([*number]) });
    g.branch(START, |_| Next::Again, move |_| each(item, 0..TASKS));
    let look = move |work: &Work| {
        seeing.lock().expect("no test panics with the lock").push(work.done.clone());
        Next::Done
    };
    g.branch(item, look, |_| END);
    let run = g.compile().expect("sound").run(Work::update().done([1_000])).await.expect("no node fails");
    assert_eq!(run.state.done.len(), 201);
    let mut seen = std::mem::take(&mut *seen.lock().expect("no test panics with the lock"));
    seen.sort();
    let own = (0..TASKS).map(|number| vec![1_000, number]);
    assert!(seen.into_iter().eq(own), "each branch sees the write of its own task");
    let copies = run.state.large.0.count();
    assert!(copies <= 8, "{copies} copies for {TASKS} tasks");
}

/// The writes of a lone node are merged before its branches decide: once, also when those fail.
#[tokio::test]
async fn what_was_merged_for_a_branch_that_failed_is_not_merged_again() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Work, Stage>::new("failing");
        let stage = Stage::default();
        let broken = stage.broken.clone();
        let node = g.node("add", |work: Snapshot<Work>, calls: Dep<Calls>| async move {
            calls.note("add");
            add(work).await
        });
        g.edge(START, node);
        let next = move |work: &Work| {
            assert!(broken.check("panics").is_ok(), "the branch saw {:?}", work.done);
            Next::Done
        };
        let broken = stage.broken.clone();
        g.branch(node, next, move |_| broken.check("fails").map(|()| END));
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        for trouble in ["panics", "fails"] {
            let thread = graph.thread(trouble);
            stage.broken.smash(trouble);
            let failure = failure(thread.run(Work::update().done([7])).await);
            assert_eq!(failure.error.kind(), NodeErrorKind::Routing);
            assert_eq!(
                thread.head().await.expect("it ran").state().done,
                [7],
                "nothing of the step is stored"
            );
            assert_eq!(thread.state().await.expect("it ran").values.done, [7], "it has no targets yet");
            stage.broken.mend(trouble);
            assert_eq!(thread.resume().await.expect("all is mended").state.done, [7, 1]);
            assert_eq!(stage.calls.take(), ["add"], "the node ran once");
        }
    })
    .await;
}

/// A field that lives for one superstep is seen by the branches of the step that wrote it, and by the next node.
#[tokio::test]
async fn a_field_of_one_superstep_lives_as_long_as_without_a_branch() {
    let seen: Arc<Mutex<Vec<(u32, bool)>>> = Arc::default();
    let (in_branch, in_node) = (Arc::clone(&seen), Arc::clone(&seen));
    let mut g = StateGraph::<Work>::new("bell");
    let note = move |seen: &Mutex<Vec<(u32, bool)>>, at: u32, work: &Work| {
        seen.lock().expect("no test panics with the lock").push((at, work.rung));
    };
    let node = g.node("ring", move |work: Snapshot<Work>| {
        note(&in_node, 0, &work);
        async move {
            let first = work.done.is_empty();
            let update = Work::update().done([1]);
            if first { update.rung(true) } else { update }
        }
    });
    g.edge(START, node);
    let decide = move |work: &Work| {
        note(&in_branch, 1, work);
        if work.done.len() < 3 { Next::Again } else { Next::Done }
    };
    g.branch(node, decide, move |next| match next {
        Next::Again => to(node),
        Next::Done => END,
    });
    on_saver(g.compile().expect("sound")).await;
    let expected = [(0, false), (1, true), (0, true), (1, true), (0, false), (1, false)];
    assert_eq!(*seen.lock().expect("no test panics with the lock"), expected);
}

async fn on_saver(graph: Graph<Work>) {
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    let run = thread.run(Work::update()).await.expect("no node fails");
    assert!(!run.state.rung, "the last superstep did not write it");
    assert!(!thread.head().await.expect("it ran").state().rung);
}

/// A node keeps the snapshot: the writes that its branches see are not in it.
#[tokio::test]
async fn a_snapshot_that_is_kept_does_not_change() {
    let kept: Arc<Mutex<Vec<Snapshot<Work>>>> = Arc::default();
    let keeping = Arc::clone(&kept);
    let mut g = StateGraph::<Work>::new("kept");
    let node = g.node("add", move |work: Snapshot<Work>| {
        let update = Work::update().done([1]).last(1);
        keeping.lock().expect("no test panics with the lock").push(work);
        async move { update }
    });
    g.edge(START, node);
    g.branch(
        node,
        |work: &Work| if work.done.len() < 3 { Next::Again } else { Next::Done },
        move |next| match next {
            Next::Again => to(node),
            Next::Done => END,
        },
    );
    let run = g.compile().expect("sound").run(Work::update()).await.expect("no node fails");
    assert_eq!((run.state.done.len(), run.state.last), (3, Some(1)));
    let kept: Vec<usize> =
        kept.lock().expect("no test panics with the lock").iter().map(|work| work.done.len()).collect();
    assert_eq!(kept, [0, 1, 2]);
}

/// The number of times that the id of a note was read.
static LOOKS: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    id: String,
}

impl Keyed for Note {
    fn id(&self) -> &str {
        LOOKS.fetch_add(1, Ordering::Relaxed);
        &self.id
    }
}

#[derive(State, Clone, Debug, Default)]
struct Notes {
    #[reducer(KeyedLog)]
    notes: Vec<Note>,
}

#[derive(State, Clone, Debug, Default)]
struct Book {
    title: String,
    #[state(flatten)]
    inner: Notes,
}

/// A keyed log used to compare the id of each new item with those of all others: 40,000 appends took 45 s.
#[tokio::test]
async fn an_item_is_put_into_a_keyed_log_without_a_search() {
    const STEPS: u64 = 500;
    let mut g = StateGraph::<Book>::new("notes");
    let node = g.node("note", |book: Snapshot<Book>| async move {
        let id = format!("note {}", book.inner.notes.len());
        Book::update().inner(Notes::update().notes(Note { id })).title(book.title.clone())
    });
    g.edge(START, node);
    g.edge(node, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound").recursion_limit(STEPS);
    let run = graph.run(Book::update()).await.expect("no node fails");
    assert_eq!(run.state.inner.notes.len() as u64, STEPS);
    let looks = LOOKS.load(Ordering::Relaxed) as u64;
    assert!(looks <= 20 * STEPS, "{looks} looks at the ids of {STEPS} notes");
}
