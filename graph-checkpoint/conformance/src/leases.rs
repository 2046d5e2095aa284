//! Leases: one holder per thread, and former holders are kept out. For stores that keep leases.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::{
    Acquired, At, Carried, Checkpointer, CheckpointerExt, Claim, Commit, Committed, LeaseRecord, Loaded,
    Naming, StoreError,
};

use super::bench::{Bench, Hand};
use super::item::items;
use super::material::{
    ask, commit_of, due, effect, ended, failure, json, ok, result, set, step, task, thread,
};
use super::races::at_once;
use super::verdict::{Stop, Verdict, equal, failed, holds, is};

items! { "leases":
    one_holds_a_thread "Who claims a thread that is held is told by whom; other threads are free."
    one_that_is_given_back_is_free "A released lease has no holder, and is not listed."
    are_listed_by_thread "Leases are listed by thread, also those that are over; those that were lost or given back are not."
    numbers_only_grow "The number of a lease is greater than those of all that the store has given, whatever became of them."
    one_of_many_acquires "Of claims to a free thread at once exactly one gets it, and all others are told of that one."
    one_of_many_takes_over "Of claims at once to a thread whose lease is over exactly one gets it."
    stale_ones_are_lost "A lease that another one has taken over is neither renewed nor released: `LeaseLost`, with the new holder."
    several_are_renewed_at_once "Leases that are renewed together are each held from now on, and a lost one is told."
    a_broken_one_is_lost "A broken lease is told once, frees the thread, and keeps its holder out."
    go_with_their_thread "Deleting a thread takes its lease, whose holder is kept out."
    a_commit_that_is_fenced_off_changes_nothing "The commit of who has lost the lease is `LeaseLost`, and everything is as it was."
    every_write_is_fenced "So is every other write of that one; what is handed over without waiting is told at the next flush."
    subgraphs_are_fenced_with_their_thread "The lease of a thread is also that of its subgraphs' threads, and of no other thread."
    nothing_is_held_against_the_holder "What the loser has tried is no matter to who holds the thread now."
    reading_needs_none "Who has lost a lease still reads."
    are_over_by_the_clock_of_the_store "A lease is held for as long as it says since it was renewed, by the store's clock, and no longer."
    one_that_is_over_is_held_until_it_is_wanted "An expired lease that no other run has taken still permits writes, and can be renewed."
    a_clock_set_back_keeps_no_dead_lease "When the clock is set back, a lease is over after its time from when somebody asks, and asking once more makes it no longer."
    a_clock_that_jumps_gives_no_two_holders "However the clock jumps, who renews keeps the thread, and who was taken over is out for good."
    count_for_other_programs "A lease that one program has is held, renewed and lost for the other one."
    outlive_their_program "A lease is there for the program that starts after its holder was killed."
}

fn claim_for(name: &str, holder: &str, ttl: u64) -> Claim {
    Claim { thread: thread(name), holder: holder.into(), ttl: Duration::from_millis(ttl) }
}

/// A duration in milliseconds that is longer than an item runs.
const LONG: u64 = 3_600_000;
/// A duration in milliseconds after which a lease has already ended.
const NONE: u64 = 0;

async fn asked(saver: &dyn Checkpointer, claim: Claim) -> Result<Acquired, Stop> {
    match saver.acquire(claim).await {
        Err(StoreError::NoLeases) => Err(Stop::NotApplicable("the store keeps no leases")),
        asked => Ok(asked?),
    }
}

async fn acquired(b: &Bench<'_>, name: &str, holder: &str, ttl: u64) -> Result<LeaseRecord, Stop> {
    match asked(&*b.saver, claim_for(name, holder, ttl)).await? {
        Acquired::Now(lease) => {
            equal("whose lease it is", (lease.thread.clone(), &*lease.holder), (thread(name), holder))?;
            equal("how long it lasts", lease.ttl_ms, ttl)?;
            Ok(lease)
        }
        Acquired::Held(held) => {
            Err(failed("a thread that is free", "it is acquired", format_args!("{held:?}")))
        }
    }
}

async fn is_held(b: &Bench<'_>, name: &str) -> Result<LeaseRecord, Stop> {
    match asked(&*b.saver, claim_for(name, "nobody", LONG)).await? {
        Acquired::Held(held) => Ok(held),
        Acquired::Now(_) => Err(failed("a thread that is held", "it is not acquired", "it is")),
    }
}

fn fenced(b: &Bench<'_>, lease: &LeaseRecord) -> Result<Arc<dyn Checkpointer>, Stop> {
    b.saver.fenced(lease).ok_or_else(|| failed("the store of a holder", "Some", "None"))
}

/// Expects the error that the lease of `t` was lost to this holder.
#[track_caller]
fn is_lost<T: std::fmt::Debug>(what: &str, told: Result<T, StoreError>, to: Option<&str>) -> Verdict {
    match told {
        Err(StoreError::LeaseLost { thread: lost, to: holder }) => {
            equal(what, (lost, holder.as_deref()), (thread("t"), to))
        }
        other => Err(failed(what, "LeaseLost", format_args!("{other:?}"))),
    }
}

async fn one_holds_a_thread(b: &Bench<'_>) -> Verdict {
    let lease = acquired(b, "t", "one", LONG).await?;
    equal("what another one is told", is_held(b, "t").await?, lease.clone())?;
    equal("what the same one is told", is_held(b, "t").await?, lease.clone())?;
    let other = acquired(b, "u", "two", LONG).await?;
    holds("the two have numbers of their own", other.fence != lease.fence)?;
    let renewed = b.saver.renew(&lease).await?;
    equal("the renewed one", LeaseRecord { renewed_ms: renewed.renewed_ms, ..lease }, renewed.clone())?;
    equal("what another one is told, later", is_held(b, "t").await?, renewed)
}

async fn several_are_renewed_at_once(b: &Bench<'_>) -> Verdict {
    let one = acquired(b, "t", "one", LONG).await?;
    let lost = acquired(b, "u", "one", LONG).await?;
    let last = acquired(b, "v", "one", LONG).await?;
    b.saver.break_lease(&thread("u")).await?;
    let renewed = b.saver.renew_all(vec![last.clone(), lost, one.clone()]).await?;
    let at = |place: usize| renewed.get(place).cloned().flatten().map_or(0, |lease| lease.renewed_ms);
    let expected = [
        Some(LeaseRecord { renewed_ms: at(0), ..last.clone() }),
        None,
        Some(LeaseRecord { renewed_ms: at(2), ..one.clone() }),
    ];
    equal("the renewed ones", &renewed[..], &expected[..])?;
    holds("none is renewed to an earlier time", at(0) >= last.renewed_ms && at(2) >= one.renewed_ms)?;
    equal("the leases", b.saver.leases().await?, renewed.into_iter().flatten().rev().collect::<Vec<_>>())?;
    equal("none", b.saver.renew_all(Vec::new()).await?, Vec::new())
}

async fn one_that_is_given_back_is_free(b: &Bench<'_>) -> Verdict {
    let lease = acquired(b, "t", "one", LONG).await?;
    let renewed = b.saver.renew(&lease).await?;
    b.saver.release(&renewed).await?;
    equal("the leases", b.saver.leases().await?, [])?;
    is_lost("giving it back twice", b.saver.release(&lease).await, None)?;
    is_lost("renewing it then", b.saver.renew(&lease).await, None)?;
    acquired(b, "t", "two", LONG).await.map(drop)
}

async fn are_listed_by_thread(b: &Bench<'_>) -> Verdict {
    let mut expected = Vec::new();
    for (name, ttl) in [("b", LONG), ("c", NONE), ("a", LONG), ("d", LONG), ("e", LONG)] {
        expected.push(acquired(b, name, "it", ttl).await?);
    }
    b.saver.release(&expected[3]).await?;
    b.saver.break_lease(&thread("e")).await?;
    expected.truncate(3);
    expected.sort_by(|one, other| one.thread.cmp(&other.thread));
    equal("the leases", b.saver.leases().await?, expected)
}

async fn numbers_only_grow(b: &Bench<'_>) -> Verdict {
    let mut last = acquired(b, "t", "one", LONG).await?;
    for end in 0..4 {
        match end {
            0 => b.saver.release(&last).await?,
            1 => drop(b.saver.break_lease(&thread("t")).await?),
            2 => {
                b.advance("t", None, []).await?;
                b.delete("t").await?;
            }
            _ => {
                // A lease that ended at once.
                b.saver.release(&last).await?;
                last = acquired(b, "t", "brief", NONE).await?;
            }
        }
        let next = acquired(b, "t", "next", LONG).await?;
        holds("the next number is greater", next.fence > last.fence)?;
        last = next;
    }
    let other = acquired(b, "u", "other", LONG).await?;
    holds("also that of another thread", other.fence > last.fence)
}

async fn race(b: &Bench<'_>, name: &str) -> Result<LeaseRecord, Stop> {
    let name = &name;
    let claims = at_once(8, |number| {
        let (saver, claim) = (b.saver.clone(), claim_for(name, &number.to_string(), LONG));
        async move { saver.acquire(claim).await }
    });
    let (mut winners, mut told) = (Vec::new(), Vec::new());
    for claimed in claims.await? {
        match claimed {
            Acquired::Now(lease) => winners.push(lease),
            Acquired::Held(held) => told.push(held),
        }
    }
    equal("how many have the thread", winners.len(), 1)?;
    let winner = winners.remove(0);
    holds("the others are told of the one", told.iter().all(|held| *held == winner))?;
    Ok(winner)
}

async fn one_of_many_acquires(b: &Bench<'_>) -> Verdict {
    b.saver.release(&acquired(b, "t", "first", LONG).await?).await?;
    for _ in 0..10 {
        let winner = race(b, "t").await?;
        b.saver.release(&winner).await?;
    }
    Ok(())
}

async fn one_of_many_takes_over(b: &Bench<'_>) -> Verdict {
    for number in 0..10 {
        let name = number.to_string();
        let slow = acquired(b, &name, "slow", NONE).await?;
        let winner = race(b, &name).await?;
        holds("it is another lease", winner.fence > slow.fence)?;
        let late = b.saver.renew(&slow).await;
        is!("the one that was taken over", late, Err(StoreError::LeaseLost { .. }));
    }
    Ok(())
}

async fn stale_ones_are_lost(b: &Bench<'_>) -> Verdict {
    let slow = acquired(b, "t", "slow", NONE).await?;
    let next = acquired(b, "t", "next", LONG).await?;
    is_lost("renewing it", b.saver.renew(&slow).await, Some("next"))?;
    is_lost("giving it back", b.saver.release(&slow).await, Some("next"))?;
    equal("the lease that stands", is_held(b, "t").await?, next.clone())?;
    b.saver.renew(&next).await.map(drop).map_err(Stop::from)
}

async fn a_broken_one_is_lost(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let lease = acquired(b, "t", "one", LONG).await?;
    equal("what was broken", b.saver.break_lease(&thread("t")).await?, Some(lease.clone()))?;
    equal("what was broken then", b.saver.break_lease(&thread("t")).await?, None)?;
    is_lost("renewing it", b.saver.renew(&lease).await, None)?;
    let late = fenced(b, &lease)?.commit(commit_of("t", &step(Some(&first), []))).await;
    is_lost("a commit", late, None)?;
    acquired(b, "t", "two", LONG).await.map(drop)
}

async fn go_with_their_thread(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let lease = acquired(b, "t", "one", LONG).await?;
    let other = acquired(b, "u", "two", LONG).await?;
    b.delete("t").await?;
    equal("the leases", b.saver.leases().await?, [other])?;
    let late = fenced(b, &lease)?.commit(commit_of("t", &step(None, []))).await;
    is_lost("a commit", late, None)?;
    holds("the thread is still gone", !b.is_there(&thread("t")).await?)
}

/// Creates a thread with work on it, whose lease was lost; returns the store of the former holder, and the thread's
/// contents.
async fn lost_thread(b: &Bench<'_>) -> Result<(Arc<dyn Checkpointer>, LeaseRecord, Loaded), Stop> {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let slow = acquired(b, "t", "slow", NONE).await?;
    let loser = fenced(b, &slow)?;
    let name = thread("t");
    loser.record_result(&name, first.id, result(1, "1")).await?;
    loser.ask(&name, first.id, vec![ask(2), due(3, 5)]).await?;
    loser.begin_effect(&name, first.id, effect(4)).await?;
    loser.flush(&name).await?;
    let next = acquired(b, "t", "next", LONG).await?;
    let shown = b.head("t").await?;
    equal("what the slow one did in time", &*shown.results, [result(1, "1")])?;
    Ok((loser, next, shown))
}

async fn a_commit_that_is_fenced_off_changes_nothing(b: &Bench<'_>) -> Verdict {
    let (loser, next, shown) = lost_thread(b).await?;
    let late = step(Some(&shown.checkpoint), [set(0, "\"late\"")]);
    let commit = Commit {
        carried: Some(Box::new(Carried { results: vec![result(9, "9")], ..Default::default() })),
        ..commit_of("t", &late)
    };
    is_lost("a commit", loser.commit(commit.clone()).await, Some("next"))?;
    equal("the thread", b.head("t").await?, shown.clone())?;
    equal("its history", b.ids("t").await?, [shown.checkpoint.id])?;
    equal("the lease", is_held(b, "t").await?, next.clone())?;
    // Only the lease was the reason.
    is!("the same by who holds it", fenced(b, &next)?.commit(commit).await?, Committed::New);
    Ok(())
}

async fn every_write_is_fenced(b: &Bench<'_>) -> Verdict {
    let (loser, _, shown) = lost_thread(b).await?;
    let (name, base) = (thread("t"), shown.checkpoint.id);
    let to = Some("next");
    is_lost("a question", loser.ask(&name, base, vec![ask(7)]).await, to)?;
    is_lost("an answer", loser.answer_all(&name, vec![(ask(2).id, json("1"))]).await, to)?;
    is_lost("a deadline", loser.expire(&"graph".into(), Some(&name), 5).await, to)?;
    is_lost("the beginning of an effect", loser.begin_effect(&name, base, effect(8)).await, to)?;
    is_lost("the end of an effect", loser.end_effect(&name, base, &effect(4).id, ok("\"late\"")).await, to)?;
    let naming = Naming::Give { name: "late".parse().expect("it is a name"), checkpoint: base };
    is_lost("a name", loser.name(&name, naming).await, to)?;
    is_lost("a fork", loser.fork(&name, base, &thread("u")).await, to)?;
    is_lost("a deletion", loser.delete(&"graph".into(), &name).await, to)?;

    // The errors of these may be returned later.
    loser.record_result(&name, base, result(2, "\"late\"")).await?;
    loser.fail(&name, base, failure(3, "late")).await?;
    if let told @ Err(_) = loser.note_effect(&name, base, ended(effect(5), "\"late\"")).await {
        is_lost("a note", told, to)?;
    }
    is_lost("a flush", loser.flush(&name).await, to)?;
    equal("the thread", b.head("t").await?, shown)?;
    equal("the names of the thread", b.saver.names(&name).await?, [])?;
    equal("the threads", b.names().await?, ["t"])
}

async fn subgraphs_are_fenced_with_their_thread(b: &Bench<'_>) -> Verdict {
    let (loser, next, _) = lost_thread(b).await?;
    let below = thread("t").below(task(1));
    let child = commit_of(below.as_str(), &step(None, []));
    is_lost("a commit of a subgraph", loser.commit(child.clone()).await, Some("next"))?;
    holds("it is not there", !b.is_there(&below).await?)?;
    fenced(b, &next)?.commit(child).await?;
    holds("that of the holder is", b.is_there(&below).await?)?;
    // A saver without a lease is not rejected: the fence only applies to holders.
    b.advance("elsewhere", None, []).await.map(drop)
}

async fn nothing_is_held_against_the_holder(b: &Bench<'_>) -> Verdict {
    let (loser, next, shown) = lost_thread(b).await?;
    let (name, base) = (thread("t"), shown.checkpoint.id);
    loser.record_result(&name, base, result(2, "\"late\"")).await?;
    drop(loser.note_effect(&name, base, ended(effect(5), "\"late\"")).await);
    drop(loser.end_effect(&name, base, &effect(4).id, ok("\"late\"")).await);
    let holder = fenced(b, &next)?;
    let counts = holder.record_result(&name, base, result(2, "\"in time\"")).await?;
    equal("the result that counts", counts, result(2, "\"in time\""))?;
    holder.note_effect(&name, base, ended(effect(5), "\"in time\"")).await?;
    holder.end_effect(&name, base, &effect(4).id, ok("\"in time\"")).await?;
    holder.flush(&name).await?;
    let head = b.head("t").await?;
    equal("the results", head.results, [result(1, "1"), result(2, "\"in time\"")])?;
    let effects = [ended(effect(4), "\"in time\""), ended(effect(5), "\"in time\"")];
    equal("the effects", head.effects, effects)?;
    let done = holder.commit(commit_of("t", &step(Some(&shown.checkpoint), []))).await?;
    is!("the holder's commit", done, Committed::New);
    Ok(())
}

async fn reading_needs_none(b: &Bench<'_>) -> Verdict {
    let (loser, _, shown) = lost_thread(b).await?;
    let name = thread("t");
    equal("the head", loser.read(&name, At::Head).await?, Some(shown.clone()))?;
    equal("the history", loser.history(&name, At::Head, 9).await?.len(), 1)?;
    equal("the leases", loser.leases().await?.len(), 1)
}

async fn are_over_by_the_clock_of_the_store(b: &Bench<'_>) -> Verdict {
    let (b, clock) = b.with_clock().await?;
    let first = acquired(&b, "t", "one", 1_000).await?;
    equal("when it was acquired", first.renewed_ms, Hand::START)?;
    clock.turn(600);
    equal("the lease, after 600 ms", is_held(&b, "t").await?, first.clone())?;
    let renewed = b.saver.renew(&first).await?;
    equal(
        "the renewed one",
        renewed.clone(),
        LeaseRecord { renewed_ms: Hand::START + 600, ..first.clone() },
    )?;
    clock.turn(999);
    equal("the lease, after 1599 ms", is_held(&b, "t").await?, renewed.clone())?;
    clock.turn(1);
    equal("the leases, after 1600 ms", b.saver.leases().await?, [renewed])?;
    let next = acquired(&b, "t", "two", 1_000).await?;
    holds("it is another lease", next.fence > first.fence)
}

async fn one_that_is_over_is_held_until_it_is_wanted(b: &Bench<'_>) -> Verdict {
    let (b, clock) = b.with_clock().await?;
    let first = b.advance("t", None, []).await?;
    let lease = acquired(&b, "t", "slow", 1_000).await?;
    clock.turn(86_400_000);
    let slow = fenced(&b, &lease)?;
    let done = slow.commit(commit_of("t", &step(Some(&first), []))).await?;
    is!("a commit after its time", done, Committed::New);
    let renewed = b.saver.renew(&lease).await?;
    equal("the lease that stands", is_held(&b, "t").await?, renewed)
}

async fn a_clock_set_back_keeps_no_dead_lease(b: &Bench<'_>) -> Verdict {
    let (b, clock) = b.with_clock().await?;
    let dead = acquired(&b, "t", "dead", 1_000).await?;
    clock.turn(-86_400_000);
    let seen = is_held(&b, "t").await?;
    equal("the lease", seen.clone(), LeaseRecord { renewed_ms: Hand::START - 86_400_000, ..dead.clone() })?;
    clock.turn(999);
    equal("the lease, asked for again", is_held(&b, "t").await?, seen)?;
    clock.turn(1);
    let next = acquired(&b, "t", "next", 1_000).await?;
    holds("it is another lease", next.fence > dead.fence)
}

async fn a_clock_that_jumps_gives_no_two_holders(b: &Bench<'_>) -> Verdict {
    let (b, clock) = b.with_clock().await?;
    let first = b.advance("t", None, []).await?;
    let mut lease = acquired(&b, "t", "one", 1_000).await?;
    for jump in [50_000, -900_000, 3, -60_000, 0] {
        clock.turn(jump);
        lease = b.saver.renew(&lease).await?;
        equal("the lease that stands", is_held(&b, "t").await?, lease.clone())?;
    }
    clock.turn(86_400_000);
    let next = acquired(&b, "t", "two", 1_000).await?;
    clock.turn(-86_400_000);
    is_lost("renewing it", b.saver.renew(&lease).await, Some("two"))?;
    let commit = commit_of("t", &step(Some(&first), []));
    is_lost("a commit", fenced(&b, &lease)?.commit(commit.clone()).await, Some("two"))?;
    is!("the holder's commit", fenced(&b, &next)?.commit(commit).await?, Committed::New);
    Ok(())
}

async fn count_for_other_programs(b: &Bench<'_>) -> Verdict {
    let lease = acquired(b, "t", "one", LONG).await?;
    let other = b.reopened().await?;
    equal("what the other is told", is_held(&other, "t").await?, lease.clone())?;
    let first = other.advance("t", None, []).await?;
    let renewed = other.saver.renew(&lease).await?;
    equal("the lease that stands", is_held(b, "t").await?, renewed.clone())?;
    equal("what the other has broken", other.saver.break_lease(&thread("t")).await?, Some(renewed))?;
    let next = acquired(&other, "t", "two", LONG).await?;
    let late = fenced(b, &lease)?.commit(commit_of("t", &step(Some(&first), []))).await;
    is_lost("a commit", late, Some("two"))?;
    // Any saver with the record of the lease counts as its holder.
    let holder = fenced(b, &next)?;
    let done = holder.commit(commit_of("t", &step(Some(&first), []))).await?;
    is!("the holder's commit", done, Committed::New);
    Ok(())
}

async fn outlive_their_program(b: &Bench<'_>) -> Verdict {
    let lease = acquired(b, "t", "killed", LONG).await?;
    let renewed = b.saver.renew(&lease).await?;
    let again = b.reopened().await?;
    equal("the leases", again.saver.leases().await?, [renewed.clone()])?;
    equal("what is told", is_held(&again, "t").await?, renewed.clone())?;
    again.saver.release(&renewed).await?;
    let next = acquired(&again, "t", "next", LONG).await?;
    holds("its number is greater", next.fence > lease.fence)
}
