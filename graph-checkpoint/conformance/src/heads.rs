//! Moves of heads: one caller wins, and every caller gets a correct reply.

use superstep_core::checkpoint::{At, Carried, CheckpointerExt, Commit, Committed};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{
    answered, ask, commit_of, effect, ended, extend, failure, result, run, set, step, thread,
};
use super::verdict::{Verdict, equal, failed, is};

items! { "heads":
    the_same_again_is_already "A commit whose outcome was not known, repeated, is `Already`: also after others."
    a_taken_id_with_other_content_conflicts "Another checkpoint under a taken id is a conflict, on any thread, and leaves no trace."
    the_same_run_adopts_the_winner "The loser of a superstep gets the winner's checkpoint, when both are of one run."
    an_adopted_winner_may_be_far_behind "The winner of the loser's superstep is adopted, not the head of today."
    another_run_conflicts "A commit of another run on a passed head is a conflict that names the head."
    a_second_beginning_conflicts "A commit without a parent to a thread that exists is a conflict."
    no_thread_is_a_conflict_without_a_head "A commit that expects a head where no thread is conflicts, and makes none."
    a_lost_commit_leaves_no_trace "A commit that lost changes neither the head nor the values nor the work."
    a_branch_leaves_the_old_one_readable "A commit on an earlier checkpoint moves the head there, and loses nothing."
    work_is_carried_along "The work that a commit carries is on top of its checkpoint, or nowhere."
}

async fn the_same_again_is_already(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    is!("the first again", b.saver.commit(commit_of("t", &first)).await?, Committed::Already);
    let second = b.advance("t", Some(&first), [set(0, "2.50")]).await?;
    is!("the second again", b.saver.commit(commit_of("t", &second)).await?, Committed::Already);
    let third = b.advance("t", Some(&second), [set(0, "3")]).await?;
    is!("the second, later", b.saver.commit(commit_of("t", &second)).await?, Committed::Already);
    equal("the past", b.ids("t").await?, [third.id, second.id, first.id])
}

async fn a_taken_id_with_other_content_conflicts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let second = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let mut other = second.clone();
    other.changes = vec![set(0, "3")];
    is!("the other of this id", b.saver.commit(commit_of("t", &other)).await?, Committed::Conflict { head } if head == Some(second.id));
    is!(
        "the same on another thread",
        b.saver.commit(commit_of("u", &first)).await?,
        Committed::Conflict { head: None }
    );
    equal("the other thread", b.saver.read(&thread("u"), At::Head).await?, None)?;
    // It is on the head, so nothing else would reject it.
    let mut onto = step(Some(&second), []);
    onto.id = first.id;
    is!("an old id on the head", b.saver.commit(commit_of("t", &onto)).await?, Committed::Conflict { head } if head == Some(second.id));
    equal("the head", b.head("t").await?.checkpoint, second)
}

async fn the_same_run_adopts_the_winner(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let won = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let lost = step(Some(&first), [set(0, "9")]);
    let adopted = match b.saver.commit(commit_of("t", &lost)).await? {
        Committed::Adopt(adopted) => adopted,
        other => return Err(failed("the second commit of a superstep", "Adopt", format!("{other:?}"))),
    };
    equal("the adopted checkpoint", &adopted.checkpoint, &won)?;
    equal("its values", values(&adopted), [(0, "2")])
}

async fn an_adopted_winner_may_be_far_behind(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let won = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let next = b.advance("t", Some(&won), [set(0, "3")]).await?;
    b.advance("t", Some(&next), [set(0, "4")]).await?;
    let lost = step(Some(&first), [set(0, "9")]);
    is!("a commit that comes late", b.saver.commit(commit_of("t", &lost)).await?, Committed::Adopt(adopted)
        if adopted.checkpoint == won && values(&adopted) == [(0, "2")]);
    Ok(())
}

async fn another_run_conflicts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let won = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let mut lost = step(Some(&first), [set(0, "9")]);
    lost.run = run(2);
    is!("the commit of another run", b.saver.commit(commit_of("t", &lost)).await?, Committed::Conflict { head } if head == Some(won.id));
    equal("the head", b.head("t").await?.checkpoint, won)
}

async fn a_second_beginning_conflicts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    is!("a second first checkpoint", b.saver.commit(commit_of("t", &step(None, []))).await?, Committed::Conflict { head } if head == Some(first.id));
    equal("the past", b.ids("t").await?, [first.id])
}

async fn no_thread_is_a_conflict_without_a_head(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let stray = step(Some(&first), []);
    is!(
        "a commit to no thread",
        b.saver.commit(commit_of("u", &stray)).await?,
        Committed::Conflict { head: None }
    );
    equal("the threads", b.names().await?, ["t"])
}

async fn a_lost_commit_leaves_no_trace(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let won = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    b.saver.record_result(&thread("t"), won.id, result(1, "1")).await?;
    let before = b.head("t").await?;
    let mut lost = step(Some(&first), [extend(0, "[9]"), set(1, "9")]);
    for run in [won.run, run(2)] {
        lost.run = run;
        b.saver.commit(commit_of("t", &lost)).await?;
        equal("the head", b.head("t").await?, before.clone())?;
    }
    equal("the past", b.ids("t").await?, [won.id, first.id])?;
    let loaded = b.saver.read(&thread("t"), At::Id(lost.id)).await;
    super::verdict::holds("the lost checkpoint is not there", loaded.is_err())?;
    let next = b.advance("t", Some(&won), [extend(0, "[3]")]).await?;
    equal("the values after it", values(&b.at("t", next.id).await?), [(0, "[1,2,3]")])
}

async fn a_branch_leaves_the_old_one_readable(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let branch = step(Some(&first), [extend(0, "[20]")]);
    b.put_as(Commit { expected: Some(second.id), ..commit_of("t", &branch) }).await?;
    let last = b.advance("t", Some(&branch), [extend(0, "[30]")]).await?;
    equal("the past of the branch", b.ids("t").await?, [last.id, branch.id, first.id])?;
    equal("the values of the branch", values(&b.head("t").await?), [(0, "[1,20,30]")])?;
    equal("the values of the old one", values(&b.at("t", second.id).await?), [(0, "[1,2]")])
}

async fn work_is_carried_along(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let next = step(Some(&first), []);
    let carried = Carried {
        results: vec![result(1, "1")],
        failures: vec![failure(2, "it")],
        asks: vec![answered(ask(1), "1"), ask(2)],
        effects: vec![ended(effect(1), "1"), effect(2)],
    };
    let commit = || Commit { carried: Some(Box::new(carried.clone())), ..commit_of("t", &next) };
    b.put_as(commit()).await?;
    let loaded = b.head("t").await?;
    let Carried { results, failures, asks, effects } = carried.clone();
    equal("the results", loaded.results, results)?;
    equal("the failures", loaded.failures, failures)?;
    equal("the questions", loaded.asks, asks)?;
    equal("the effects", loaded.effects, effects)?;
    is!("the same commit again", b.saver.commit(commit()).await?, Committed::Already);
    let lost = Commit { carried: Some(Box::new(carried)), ..commit_of("t", &step(Some(&first), [])) };
    is!("a commit that lost", b.saver.commit(lost).await?, Committed::Adopt(_));
    equal("the results still", b.head("t").await?.results.len(), 1)?;
    // The barrier takes it like any other.
    b.advance("t", Some(&next), []).await?;
    equal("the questions on the next one", b.head("t").await?.asks, [])?;
    let left = b.at("t", next.id).await?;
    let left = (left.results.len(), left.failures.len(), left.asks.len(), left.effects.len());
    equal("results, failures, questions and effects that are left", left, (0, 0, 1, 1))
}
