//! Commits that do not know all records on their head.

use superstep_core::checkpoint::{
    CheckpointerExt, Commit, Committed, EffectOutcome, EffectRecord, Recorded, TaskResult,
};

use super::bench::Bench;
use super::item::items;
use super::material::{commit_of, effect, ended, failure, ok, result, run, step, thread};
use super::verdict::{Stop, Verdict, equal, is};

items! { "outrun":
    who_knows_all_commits "A commit that knows the results and the effects that are recorded on its head is new."
    an_unknown_result_is_reported "A commit that does not know a result on its head stores nothing, and is given the head with it."
    another_result_is_reported "So is one that knows another result of the task, or the same without its targets."
    an_unknown_effect_is_reported "So is one that does not know an effect that succeeded, or knows another value of it."
    what_counts_for_nothing_is_not_asked_for "Failures, questions, effects that only began and those that failed need not be known."
    who_does_not_go_by_it_commits "A commit that does not say what it knows goes by nothing that is recorded."
    the_head_comes_first "Of a commit that fits neither the head nor what is recorded there, it is the head that is told."
    results_of_another_program "A commit is told of the results and effects that another program has recorded."
}

fn knowing(commit: Commit, results: &[TaskResult], effects: &[EffectRecord]) -> Commit {
    Commit { recorded: Some(Recorded::of(results, effects)), ..commit }
}

/// Makes a commit, and expects the reply that its head, `expected`, has more records.
async fn is_told(
    b: &Bench<'_>,
    commit: Commit,
    results: &[TaskResult],
    effects: &[EffectRecord],
) -> Result<(), Stop> {
    let expected = commit.expected;
    let told = match b.saver.commit(commit).await? {
        Committed::Outrun(told) => told,
        other => {
            let found = format_args!("{other:?}");
            return Err(super::verdict::failed("a commit that does not know all", "Outrun", found));
        }
    };
    equal("the head that is told", Some(told.checkpoint.id), expected)?;
    equal("the results that are told", &*told.results, results)?;
    equal("the effects that are told", &*told.effects, effects)?;
    let head = b.head("t").await?;
    equal("the head, which is still there", Some(head.checkpoint.id), expected)?;
    equal("what was told is what is read", head, *told)
}

async fn who_knows_all_commits(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&thread("t"), first.id, result(2, "2")).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    b.saver.note_effect(&thread("t"), first.id, ended(effect(3), "3")).await?;
    let second = step(Some(&first), []);
    let all = [result(1, "1"), result(2, "2")];
    b.put_as(knowing(commit_of("t", &second), &all, &[ended(effect(3), "3")])).await?;
    // The new head has no records.
    b.put_as(knowing(commit_of("t", &step(Some(&second), [])), &[], &[])).await
}

async fn an_unknown_result_is_reported(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let (known, other) = (result(1, "1"), result(2, "2"));
    b.saver.record_result(&thread("t"), first.id, known.clone()).await?;
    b.saver.record_result(&thread("t"), first.id, other.clone()).await?;
    let next = step(Some(&first), []);
    let all = [known.clone(), other];
    is_told(b, knowing(commit_of("t", &next), &[known], &[]), &all, &[]).await?;
    is_told(b, knowing(commit_of("t", &next), &[], &[]), &all, &[]).await?;
    // The same checkpoint is committed once all records are known.
    b.put_as(knowing(commit_of("t", &next), &all, &[])).await?;
    let again = b.saver.commit(knowing(commit_of("t", &next), &all, &[])).await?;
    is!("the same again", again, Committed::Already);
    equal("the results on the passed head", b.at("t", first.id).await?.results, [])
}

async fn another_result_is_reported(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let commit = || commit_of("t", &step(Some(&first), []));
    let unrouted = TaskResult { targets: None, ..result(1, "1") };
    b.saver.record_result(&thread("t"), first.id, unrouted.clone()).await?;
    is_told(b, knowing(commit(), &[], &[]), std::slice::from_ref(&unrouted), &[]).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    for known in [unrouted, result(1, "2")] {
        is_told(b, knowing(commit(), &[known], &[]), &[result(1, "1")], &[]).await?;
    }
    b.put_as(knowing(commit(), &[result(1, "1")], &[])).await
}

async fn an_unknown_effect_is_reported(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let commit = || commit_of("t", &step(Some(&first), []));
    b.saver.begin_effect(&thread("t"), first.id, effect(1)).await?;
    b.saver.end_effect(&thread("t"), first.id, &effect(1).id, ok("1")).await?;
    let held = ended(effect(1), "1");
    is_told(b, knowing(commit(), &[], &[]), &[], std::slice::from_ref(&held)).await?;
    is_told(b, knowing(commit(), &[], &[effect(1)]), &[], std::slice::from_ref(&held)).await?;
    is_told(b, knowing(commit(), &[], &[ended(effect(1), "2")]), &[], std::slice::from_ref(&held)).await?;
    let drawn = ended(effect(2), "\"drawn\"");
    b.saver.note_effect(&thread("t"), first.id, drawn.clone()).await?;
    let both = [held.clone(), drawn];
    is_told(b, knowing(commit(), &[], &[held]), &[], &both).await?;
    b.put_as(knowing(commit(), &[], &both)).await
}

async fn what_counts_for_nothing_is_not_asked_for(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.fail(&name, first.id, failure(1, "it")).await?;
    b.saver.ask(&name, first.id, vec![super::material::ask(2)]).await?;
    b.saver.begin_effect(&name, first.id, effect(3)).await?;
    b.saver.begin_effect(&name, first.id, effect(4)).await?;
    b.saver.end_effect(&name, first.id, &effect(4).id, EffectOutcome::Err("no".into())).await?;
    b.put_as(knowing(commit_of("t", &step(Some(&first), [])), &[], &[])).await
}

async fn who_does_not_go_by_it_commits(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    b.saver.note_effect(&thread("t"), first.id, ended(effect(1), "1")).await?;
    b.put_as(Commit { recorded: None, ..commit_of("t", &step(Some(&first), [])) }).await
}

async fn the_head_comes_first(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let won = b.advance("t", Some(&first), []).await?;
    b.saver.record_result(&thread("t"), won.id, result(1, "1")).await?;
    let lost = knowing(commit_of("t", &step(Some(&first), [])), &[result(9, "9")], &[]);
    is!("the loser of one run", b.saver.commit(lost).await?, Committed::Adopt(adopted) if adopted.checkpoint == won);
    let mut foreign = step(Some(&first), []);
    foreign.run = run(2);
    let lost = b.saver.commit(knowing(commit_of("t", &foreign), &[], &[])).await?;
    is!("the loser of another run", lost, Committed::Conflict { head } if head == Some(won.id));
    let again = b.saver.commit(knowing(commit_of("t", &won), &[result(1, "1")], &[])).await?;
    is!("the winner's again", again, Committed::Already);
    Ok(())
}

async fn results_of_another_program(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    // One connection has read the thread before the other one records anything.
    let mut last = b.advance("t", Some(&first), []).await?;
    for number in 0..3 {
        other.saver.record_result(&name, last.id, result(number, "1")).await?;
        other.saver.flush(&name).await?;
        let next = step(Some(&last), []);
        let held = [result(number, "1")];
        is_told(b, knowing(commit_of("t", &next), &[], &[]), &held, &[]).await?;
        other.saver.note_effect(&name, last.id, ended(effect(number.into()), "1")).await?;
        other.saver.flush(&name).await?;
        let drawn = [ended(effect(number.into()), "1")];
        is_told(b, knowing(commit_of("t", &next), &held, &[]), &held, &drawn).await?;
        b.put_as(knowing(commit_of("t", &next), &held, &drawn)).await?;
        last = next;
    }
    Ok(())
}
