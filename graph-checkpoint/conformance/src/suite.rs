//! Runs the items.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use superstep_core::checkpoint::Checkpointer;

use super::bench::Bench;
use super::item::Item;
use super::report::Report;
use super::subject::{OpenedBy, Subject};
use super::verdict::{Verdict, failed, unopened};
use super::{
    asks, assistants, clock, commit, crash, deadlines, delete, effects, emitted, failures, fold, fork, heads,
    history, inputs, leases, lineage, load, names, outrun, queue, races, refusals, results, rows, sharing,
    steps, subgraphs, threads, values, watch, webhooks,
};

/// The groups in the order in which they run: basic behaviour comes first.
const GROUPS: [&[Item]; 32] = [
    commit::ITEMS,
    load::ITEMS,
    heads::ITEMS,
    inputs::ITEMS,
    history::ITEMS,
    threads::ITEMS,
    fold::ITEMS,
    values::ITEMS,
    results::ITEMS,
    failures::ITEMS,
    asks::ITEMS,
    deadlines::ITEMS,
    effects::ITEMS,
    outrun::ITEMS,
    emitted::ITEMS,
    steps::ITEMS,
    fork::ITEMS,
    names::ITEMS,
    lineage::ITEMS,
    subgraphs::ITEMS,
    leases::ITEMS,
    delete::ITEMS,
    refusals::ITEMS,
    clock::ITEMS,
    races::ITEMS,
    sharing::ITEMS,
    crash::ITEMS,
    watch::ITEMS,
    rows::ITEMS,
    queue::ITEMS,
    webhooks::ITEMS,
    assistants::ITEMS,
];

/// Returns all items, in the order in which they run.
pub fn items() -> impl Iterator<Item = &'static Item> {
    GROUPS.into_iter().flatten()
}

/// Runs all items, one after the other, each on a [fresh](Subject::fresh) store. A failure or a panic in one item does
/// not stop the others.
pub async fn run<S: Subject>(subject: &S) -> Report {
    run_only(subject, "").await
}

/// Runs the items whose names contain `name`: a single item, or a group such as `"fork."`.
pub async fn run_only<S: Subject>(subject: &S, name: &str) -> Report {
    let mut report = Report { items: Vec::new() };
    for item in items().filter(|item| item.name.contains(name)) {
        report.items.push((item, unpanicked(check(subject, item)).await.into()));
    }
    report
}

async fn check<S: Subject>(subject: &S, item: &Item) -> Verdict {
    let saver = Arc::new(subject.fresh().await.map_err(|error| unopened(&error))?);
    let opened = OpenedBy { subject, saver: saver.clone() };
    let bench = Bench::new(saver as Arc<dyn Checkpointer>, &opened).await?;
    (item.check)(&bench).await
}

/// Runs a check, and converts a panic into a failure.
async fn unpanicked(check: impl Future<Output = Verdict>) -> Verdict {
    let mut check = pin!(check);
    poll_fn(|context| {
        // A check that panicked is not polled again, and no other check uses its store.
        match catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Err(failed("the item", "it ends", message(&*panic)))),
        }
    })
    .await
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("a panic: {}", text.unwrap_or("without a text"))
}
