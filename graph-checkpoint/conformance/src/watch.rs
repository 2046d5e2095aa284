//! Waits for changes.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use superstep_core::checkpoint::{CheckpointName, CheckpointerExt, Mark, Naming, Watch};
use superstep_core::state::Json;
use tokio::sync::oneshot;

use super::bench::Bench;
use super::item::items;
use super::material::{ask, commit_of, effect, ended, failure, result, step, thread};
use super::verdict::{Stop, Verdict, equal, failed, holds};

items! { "watch":
    the_first_mark_comes_at_once "A watch without a mark is answered at once, also for a thread that does not exist."
    an_earlier_change_is_reported "A watch that begins after the mark was taken reports earlier changes since the mark."
    a_change_during_the_watch_is_reported "A watch that waits is answered when something changes."
    every_kind_of_change_is_reported "Commits, results, failures, questions, answers, effects, names and deletions are changes."
    a_change_of_any_thread_is_reported "A watch of all threads reports a new head of any thread."
    a_change_by_another_program_is_reported "A watch reports changes that another program stored."
}

/// The time after which a change counts as missed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the mark of a thread as soon as it differs from `since`.
async fn mark(b: &Bench<'_>, name: Option<&str>, since: Option<Mark>) -> Result<Mark, Stop> {
    let (done, waiting) = channel::<()>();
    let (tell, late) = oneshot::channel();
    thread::spawn(move || {
        if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _told = tell.send(());
        }
    });
    let mut answer = pin!(b.saver.watch(Watch { thread: name.map(thread), since }));
    let mut late = pin!(late);
    let answer = poll_fn(|context| match answer.as_mut().poll(context) {
        Poll::Ready(mark) => Poll::Ready(Some(mark)),
        Poll::Pending => late.as_mut().poll(context).map(|_| None),
    });
    let answer = answer.await;
    drop(done);
    match answer {
        Some(mark) => Ok(mark?),
        None => Err(failed("a watch", "an answer", "none in 10 seconds")),
    }
}

/// Expects the mark of a thread to change.
async fn is_told(b: &Bench<'_>, name: Option<&str>, last: &mut Mark, change: &str) -> Verdict {
    let now = mark(b, name, Some(*last)).await?;
    holds(format_args!("the mark is another one after {change}"), now != *last)?;
    *last = now;
    Ok(())
}

async fn the_first_mark_comes_at_once(b: &Bench<'_>) -> Verdict {
    let first = mark(b, Some("t"), None).await?;
    equal("the mark when nothing has changed", mark(b, Some("t"), None).await?, first)?;
    mark(b, None, None).await.map(drop)
}

async fn an_earlier_change_is_reported(b: &Bench<'_>) -> Verdict {
    let mut last = mark(b, Some("t"), None).await?;
    let first = b.advance("t", None, []).await?;
    is_told(b, Some("t"), &mut last, "the first commit").await?;
    b.advance("t", Some(&first), []).await?;
    is_told(b, Some("t"), &mut last, "a commit").await
}

async fn a_change_during_the_watch_is_reported(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let last = mark(b, Some("t"), None).await?;
    let (saver, begun) = (b.saver.clone(), oneshot::channel());
    let (tell, waits) = begun;
    let commit = commit_of("t", &step(Some(&first), []));
    let other = tokio::spawn(async move {
        // Its answer is not of interest: without it, nothing is stored.
        let _begun = waits.await;
        saver.commit(commit).await
    });
    let mut watch = pin!(mark(b, Some("t"), Some(last)));
    let mut tell = Some(tell);
    let now = poll_fn(|context| {
        let now = watch.as_mut().poll(context);
        // It waits now.
        tell.take().map(|tell| tell.send(()));
        now
    });
    let now = now.await?;
    other.await.map_err(|error| failed("the commit", "it ends", error))??;
    holds("the mark is another one after a commit", now != last)
}

async fn every_kind_of_change_is_reported(b: &Bench<'_>) -> Verdict {
    let (name, at) = (thread("t"), Some("t"));
    let base = b.advance("t", None, []).await?.id;
    let mut last = mark(b, at, None).await?;
    b.saver.record_result(&name, base, result(1, "1")).await?;
    b.saver.flush(&name).await?;
    is_told(b, at, &mut last, "a result").await?;
    b.saver.fail(&name, base, failure(2, "it")).await?;
    b.saver.flush(&name).await?;
    is_told(b, at, &mut last, "a failure").await?;
    b.saver.ask(&name, base, vec![ask(3)]).await?;
    is_told(b, at, &mut last, "a question").await?;
    b.saver.answer_all(&name, vec![(ask(3).id, Json::null())]).await?;
    is_told(b, at, &mut last, "an answer").await?;
    b.saver.begin_effect(&name, base, effect(4)).await?;
    is_told(b, at, &mut last, "an effect that begins").await?;
    let outcome = ended(effect(4), "4").outcome.ok_or_else(|| failed("the effect", "an outcome", "none"))?;
    b.saver.end_effect(&name, base, &effect(4).id, outcome).await?;
    is_told(b, at, &mut last, "the end of an effect").await?;
    b.saver.note_effect(&name, base, ended(effect(5), "5")).await?;
    b.saver.flush(&name).await?;
    is_told(b, at, &mut last, "a drawn value").await?;
    let label: CheckpointName = "good".parse().map_err(|error| failed("a name", "it is one", error))?;
    b.saver.name(&name, Naming::Give { name: label, checkpoint: base }).await?;
    is_told(b, at, &mut last, "a name").await?;
    let mut of_fork = mark(b, Some("fork"), None).await?;
    b.saver.fork(&name, base, &thread("fork")).await?;
    is_told(b, Some("fork"), &mut of_fork, "a fork").await?;
    let mut last = mark(b, at, None).await?;
    b.delete("t").await?;
    is_told(b, at, &mut last, "a deletion").await
}

async fn a_change_of_any_thread_is_reported(b: &Bench<'_>) -> Verdict {
    let mut last = mark(b, None, None).await?;
    for name in ["t", "other"] {
        b.advance(name, None, []).await?;
        is_told(b, None, &mut last, "a commit").await?;
    }
    b.delete("t").await?;
    is_told(b, None, &mut last, "a deletion").await
}

async fn a_change_by_another_program_is_reported(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let mut last = mark(b, Some("t"), None).await?;
    let first = other.advance("t", None, []).await?;
    is_told(b, Some("t"), &mut last, "a commit of another program").await?;
    other.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    other.saver.flush(&thread("t")).await?;
    is_told(b, Some("t"), &mut last, "a result of another program").await
}
