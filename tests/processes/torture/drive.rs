//! The program: runs its threads to their ends, and prints the acknowledgements.

use std::io::BufRead;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use superstep::checkpoint::{Checkpointer, Stage, StoreError};
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent};

use crate::torture::kill_migration::migrate_in_pieces;
use crate::torture::order::{Committer, Guard, OnFailure, Order, Workload};
use crate::torture::said::{Line, Voice};
use crate::torture::swallowing::Swallowing;
use crate::torture::workloads::{Trip, answer, graph};

/// Longer than any order takes.
const HANGS: Duration = Duration::from_secs(600);

/// Longer than a sync takes on disks on which callers commit themselves.
const SLOW: Duration = Duration::from_micros(400);

/// Executes the order as a process of its own: aborts when it hangs, and exits with 1 when a thread has failed.
pub(crate) fn obey(order: &Order) {
    thread::spawn(|| {
        thread::sleep(HANGS);
        process::abort();
    });
    if !perform(order, &Voice::Aloud) {
        process::exit(1);
    }
}

/// Executes the order; returns `true` if every thread finished.
pub(crate) fn perform(order: &Order, voice: &Voice) -> bool {
    if order.guard == Guard::MigratesInPieces {
        migrate_in_pieces(&order.db).expect("nothing is in its way");
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let patience = if order.on_failure == OnFailure::Wait { OnFailure::Wait } else { OnFailure::End };
        let Some(saver) = attempt(patience, voice, async || open(order).await).await else { return false };
        voice.say(Line::Opened);
        let trips =
            graph(order.workload, voice.clone()).shared_checkpointer(saver).observe(acknowledges(voice));
        for number in 0..order.threads {
            let thread = trips.thread(format!("t{number}"));
            let ended =
                attempt(order.on_failure, voice, async || to_the_end(&thread, order.turns, voice).await);
            let Some(state) = ended.await else { return false };
            let state = serde_json::to_value(state).expect("a state has a JSON form");
            voice.say(Line::End { thread: format!("t{number}"), state });
        }
        true
    })
}

/// The final state of an undisturbed thread.
pub(crate) fn expected(workload: Workload, turns: u32) -> Value {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let (voice, _) = Voice::kept();
        let trips = graph(workload, voice.clone()).checkpointer(MemorySaver::new());
        let state = to_the_end(&trips.thread("t"), turns, &voice).await.expect("nothing happens to it");
        serde_json::to_value(state).expect("a state has a JSON form")
    })
}

/// Retries up to the number of times in the order.
async fn attempt<T, E: std::error::Error>(
    on_failure: OnFailure,
    voice: &Voice,
    work: impl AsyncFn() -> Result<T, E>,
) -> Option<T> {
    for failures in 1.. {
        match work().await {
            Ok(done) => return Some(done),
            Err(error) => voice.say(Line::Failed { error: error.to_string() }),
        }
        match on_failure {
            OnFailure::Again(times) if failures <= times => {}
            OnFailure::Wait if failures == 1 => {
                voice.say(Line::Waits);
                let told = std::io::stdin().lock().read_line(&mut String::new());
                told.expect("who gave the order says when to go on");
            }
            // Data queued by the first try may be in one transaction with the second one.
            OnFailure::Wait if failures == 2 => {}
            _ => break,
        }
    }
    None
}

async fn open(order: &Order) -> Result<Arc<dyn Checkpointer>, StoreError> {
    let mut options = SqliteSaver::options().durability(order.promise.into());
    if let Some(pages) = order.max_pages {
        options = options.max_pages(pages);
    }
    if let Some(pages) = order.log_pages {
        options = options.log_pages(pages);
    }
    if order.committer == Committer::Writer {
        options = options.observe_commits(|stage| {
            if stage == Stage::Before {
                thread::sleep(SLOW);
            }
        });
    }
    let saver: Arc<dyn Checkpointer> = Arc::new(options.open(&order.db).await?);
    Ok(match order.guard {
        Guard::Whole | Guard::MigratesInPieces => saver,
        Guard::SwallowsErrors => Arc::new(Swallowing(saver)),
    })
}

/// Prints every acknowledged checkpoint. The event comes when the commit has returned.
fn acknowledges(voice: &Voice) -> impl Fn(&RunEvent) + Send + Sync + 'static {
    let voice = voice.clone();
    move |event| {
        if let EventKind::CheckpointSaved { id, step, .. } = &event.kind {
            voice.say(Line::Saved { id: id.to_string().replace('-', ""), step: *step });
        }
    }
}

/// Runs or resumes a thread, and answers its questions.
async fn to_the_end(thread: &Thread<Trip>, turns: u32, voice: &Voice) -> Result<Trip, RunError> {
    let mut run = match thread.resume().await {
        Err(RunError::NothingToResume { .. }) => thread.run(Trip::of(turns)).await?,
        resumed => resumed?,
    };
    while let Status::Interrupted { interrupts } = &run.status {
        voice.say(Line::Asked { ids: interrupts.iter().map(|asked| asked.id.to_string()).collect() });
        let question: String = interrupts[0].question().expect("questions are texts");
        run = thread.answer(&answer(&question)).await?;
    }
    Ok(run.finished().expect("nothing else stops it"))
}
