//! Several callers of one store at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Commit, Committed, Recorded, StoreError,
};
use superstep_core::id::CheckpointId;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::bench::{Bench, values};
use super::item::items;
use super::material::{ask, commit_of, effect, ended, extend, json, result, run, set, step, thread};
use super::verdict::{Verdict, equal, failed, holds};

items! { "races":
    one_commit_wins_each_step "Of commits on one head at once exactly one is new, and all others are told so."
    drivers_of_one_run_agree "Of drivers of one run that commit the same superstep, all go on from one checkpoint."
    one_result_of_a_task_counts "Of results of one task at once one counts, and everybody is told which."
    tasks_that_finish_at_once_are_all_kept "Results of many tasks that finish at once are all kept."
    a_commit_and_an_effect "An effect that races with a commit is not recorded, or the commit is told of it."
    one_answer_counts "Of answers to one question at once exactly one is accepted."
    one_begins_an_effect "Of those who begin an effect at once exactly one may start it."
    one_fork_gets_the_name "Of forks to one name at once exactly one is made."
    readers_see_whole_checkpoints "Who reads while others write sees checkpoints whole, and never older ones than before."
    threads_do_not_wait_for_each_other "Many threads that are written at once all get everything, in their own order."
    a_commit_and_an_answer "An answer that races with the barrier is refused, or stays with the checkpoint."
}

type Shared = Arc<dyn Checkpointer>;

/// Runs `call` for each number below `count`, in separate tasks that start together, and returns the results.
pub(super) async fn at_once<T, F>(count: u8, call: impl Fn(u8) -> F) -> Result<Vec<T>, super::verdict::Stop>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let mut calls = JoinSet::new();
    let start = Arc::new(Barrier::new(count.into()));
    for number in 0..count {
        let (start, call) = (start.clone(), call(number));
        calls.spawn(async move {
            start.wait().await;
            call.await
        });
    }
    let mut done = Vec::new();
    while let Some(ended) = calls.join_next().await {
        done.push(ended.map_err(|error| failed("a task that calls the store", "it ends", error))??);
    }
    Ok(done)
}

async fn one_commit_wins_each_step(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, [set(0, "[]")]).await?;
    for round in 0..10 {
        let outcomes = at_once(8, |racer| {
            let mut next = step(Some(&last), [extend(0, &format!("[{round}]"))]);
            next.run = run(racer.into());
            let saver = b.saver.clone();
            async move { Ok((saver.commit(commit_of("t", &next)).await?, next)) }
        });
        let outcomes = outcomes.await?;
        let won = |outcome: &&(Committed, Checkpoint)| matches!(outcome.0, Committed::New);
        let winners: Vec<_> = outcomes.iter().filter(won).map(|(_, winner)| winner.clone()).collect();
        equal("how many commits were new", winners.len(), 1)?;
        last = winners[0].clone();
        let told = |outcome: &(Committed, Checkpoint)| match &outcome.0 {
            Committed::New => true,
            Committed::Conflict { head } => *head == Some(last.id),
            _ => false,
        };
        holds("the others were told of the winner", outcomes.iter().all(told))?;
    }
    equal("the values", values(&b.head("t").await?), [(0, "[0,1,2,3,4,5,6,7,8,9]")])?;
    equal("the length of the past", b.ids("t").await?.len(), 11)
}

async fn drivers_of_one_run_agree(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, [set(0, "[]")]).await?;
    for _ in 0..10 {
        let ended = at_once(6, |number| {
            let next = step(Some(&last), [extend(0, &format!("[{number}]"))]);
            let saver = b.saver.clone();
            async move {
                Ok(match saver.commit(commit_of("t", &next)).await? {
                    Committed::New | Committed::Already => Some(next.id),
                    Committed::Adopt(adopted) => Some(adopted.checkpoint.id),
                    Committed::Outrun(_) | Committed::Conflict { .. } => None,
                })
            }
        });
        let ended = ended.await?;
        let head = b.head("t").await?.checkpoint;
        equal("where the drivers go on", ended, [Some(head.id); 6])?;
        last = head;
    }
    Ok(())
}

async fn one_result_of_a_task_counts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut expected = Vec::new();
    for round in 0..10 {
        let counted = at_once(8, |number| {
            let saver = b.saver.clone();
            async move { saver.record_result(&thread("t"), first.id, result(round, &number.to_string())).await }
        });
        let mut counted = counted.await?;
        holds("all are told of the same", counted.iter().all(|counts| *counts == counted[0]))?;
        expected.push(counted.remove(0));
    }
    equal("the results", b.head("t").await?.results, expected)
}

async fn tasks_that_finish_at_once_are_all_kept(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let recorded = at_once(64, |number| {
        let saver = b.saver.clone();
        async move { saver.record_result(&thread("t"), first.id, result(number, "1")).await }
    });
    recorded.await?;
    let mut results = b.head("t").await?.results;
    results.sort_by_key(|result| result.task);
    equal("the results", results, (0..64).map(|number| result(number, "1")).collect::<Vec<_>>())
}

async fn a_commit_and_an_effect(b: &Bench<'_>) -> Verdict {
    for round in 0..20 {
        let name = format!("t{round}");
        let first = b.advance(&name, None, []).await?;
        let next = step(Some(&first), []);
        let commit = || Commit { recorded: Some(Recorded::default()), ..commit_of(&name, &next) };
        let outcomes = at_once(2, |number| {
            let (saver, to, commit) = (b.saver.clone(), thread(&name), commit());
            async move {
                if number == 0 {
                    return saver.note_effect(&to, first.id, ended(effect(1), "1")).await.map(|()| None);
                }
                // Either of the two comes first.
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                saver.commit(commit).await.map(Some)
            }
        });
        let committed = outcomes.await?.into_iter().flatten().next();
        // Whatever the result of the commit, outcomes stay with their checkpoint.
        let effects = b.at(&name, first.id).await?.effects;
        match committed {
            Some(Committed::New) => equal("the effects that the commit did not know", effects, [])?,
            Some(Committed::Outrun(told)) => {
                equal("the effect that the commit is told of", &*told.effects, [ended(effect(1), "1")])?;
                equal("the effect that came first", effects, [ended(effect(1), "1")])?;
            }
            other => {
                let found = format_args!("{other:?}");
                return Err(failed("a commit without a competing one", "New or Outrun", found));
            }
        }
    }
    Ok(())
}

async fn one_answer_counts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![ask(1)]).await?;
    let answers = at_once(8, |number| {
        let saver = b.saver.clone();
        async move {
            match saver.answer_all(&thread("t"), vec![(ask(1).id, json(&number.to_string()))]).await {
                Ok(_) => Ok(Some(number)),
                Err(StoreError::AlreadyAnswered(_)) => Ok(None),
                Err(error) => Err(error),
            }
        }
    });
    let accepted: Vec<u8> = answers.await?.into_iter().flatten().collect();
    equal("how many were accepted", accepted.len(), 1)?;
    equal("the answer", b.head("t").await?.asks[0].answer.clone(), Some(json(&accepted[0].to_string())))
}

async fn one_begins_an_effect(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    for round in 0..10 {
        let begun = at_once(8, |_| {
            let saver = b.saver.clone();
            async move { saver.begin_effect(&thread("t"), first.id, effect(round)).await }
        });
        let may_start = begun.await?.iter().filter(|held| held.is_none()).count();
        equal("how many may start it", may_start, 1)?;
    }
    equal("the effects", b.head("t").await?.effects, (0..10).map(effect).collect::<Vec<_>>())
}

async fn one_fork_gets_the_name(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let forks = at_once(8, |_| {
        let saver = b.saver.clone();
        async move {
            match saver.fork(&thread("t"), first.id, &thread("u")).await {
                Ok(()) => Ok(true),
                Err(StoreError::ThreadExists(_)) => Ok(false),
                Err(error) => Err(error),
            }
        }
    });
    equal("how many were made", forks.await?.into_iter().filter(|made| *made).count(), 1)
}

/// Reads the thread `t` until `is_over` is set, and once more; every read must see a consistent thread.
async fn watch(saver: Shared, is_over: Arc<AtomicBool>) -> Result<Option<String>, StoreError> {
    let mut seen = -2;
    let mut goes_on = true;
    while goes_on {
        tokio::task::yield_now().await;
        // There is one more read after the last commit.
        goes_on = !is_over.load(Ordering::Acquire);
        let Some(loaded) = saver.read(&thread("t"), At::Head).await? else { continue };
        let step = loaded.checkpoint.step;
        if step < seen {
            return Ok(Some(format!("step {step} after step {seen}")));
        }
        seen = step;
        let list: Vec<i64> =
            loaded.values.first().and_then(|value| value.value.decode().ok()).unwrap_or_default();
        if list != (-1..=step).collect::<Vec<_>>() {
            return Ok(Some(format!("step {step} with the values {:?}", loaded.values)));
        }
        let ids: Vec<CheckpointId> = saver
            .history(&thread("t"), At::Id(loaded.checkpoint.id), usize::MAX)
            .await?
            .iter()
            .map(|line| line.id)
            .collect();
        if i64::try_from(ids.len()) != Ok(step + 2) {
            return Ok(Some(format!("step {step} with {} lines of history", ids.len())));
        }
    }
    Ok(None)
}

async fn readers_see_whole_checkpoints(b: &Bench<'_>) -> Verdict {
    const STEPS: i64 = 60;
    let mut readers = JoinSet::new();
    let is_over = Arc::new(AtomicBool::new(false));
    for _ in 0..3 {
        readers.spawn(watch(b.saver.clone(), is_over.clone()));
    }
    let mut last = b.advance("t", None, [set(0, "[-1]")]).await?;
    for number in 0..=STEPS {
        b.saver.record_result(&thread("t"), last.id, result(1, "1")).await?;
        last = b.advance("t", Some(&last), [extend(0, &format!("[{number}]"))]).await?;
    }
    is_over.store(true, Ordering::Release);
    while let Some(ended) = readers.join_next().await {
        let seen = ended.map_err(|error| failed("a reader", "it ends", error))??;
        equal("what a reader saw that never was", seen, None)?;
    }
    Ok(())
}

async fn threads_do_not_wait_for_each_other(b: &Bench<'_>) -> Verdict {
    let writers = at_once(24, |number| {
        let saver = b.saver.clone();
        async move {
            let name = number.to_string();
            let mut last: Option<Checkpoint> = None;
            for turn in 0..10 {
                let next = step(last.as_ref(), [extend(0, &format!("[{turn}]"))]);
                saver.commit(commit_of(&name, &next)).await?;
                last = Some(next);
            }
            Ok(())
        }
    });
    writers.await?;
    for number in 0..24 {
        let loaded = b.head(&number.to_string()).await?;
        equal("the values of a thread", values(&loaded), [(0, "[0,1,2,3,4,5,6,7,8,9]")])?;
    }
    Ok(())
}

async fn a_commit_and_an_answer(b: &Bench<'_>) -> Verdict {
    for round in 0..10 {
        let name = format!("t{round}");
        let first = b.advance(&name, None, []).await?;
        b.saver.ask(&thread(&name), first.id, vec![ask(1)]).await?;
        let (saver, to) = (b.saver.clone(), thread(&name));
        let answer = tokio::spawn(async move { saver.answer_all(&to, vec![(ask(1).id, json("1"))]).await });
        b.advance(&name, Some(&first), []).await?;
        let answer = answer.await.map_err(|error| failed("the answer", "it ends", error))?;
        let is_accepted = match answer {
            Ok(_) => true,
            Err(StoreError::NoInterrupt { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let held = b.at(&name, first.id).await?.asks;
        equal("whether the answer is there", !held.is_empty(), is_accepted)?;
        equal("the questions on the head", b.head(&name).await?.asks.len(), 0)?;
    }
    Ok(())
}
