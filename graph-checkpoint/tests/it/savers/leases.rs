//! Leases: the holder of a thread, the time that its lease lasts, and the rejection of holders that have lost it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::checkpoint::{
    Acquired, CheckpointerExt, Claim, EffectId, EffectRecord, LeaseRecord, MemorySaver, StoreError,
};
use superstep_core::id::IdempotencyKey;

use crate::material::*;

const TTL: u64 = 1_000;

/// A clock that a test moves.
type Clock = Arc<AtomicU64>;

/// Runs `test` against every saver, with a clock of its own.
fn on_every_saver_at<F: Future<Output = ()>>(test: impl Fn(Saver, Clock) -> F) {
    run(async {
        let clock = || Arc::new(AtomicU64::new(1_000_000));
        let told = |clock: &Clock| {
            let clock = Arc::clone(clock);
            move || clock.load(Ordering::Relaxed)
        };
        let now = clock();
        test(registered(Arc::new(MemorySaver::new().lease_clock(told(&now)))).await, now).await;
        let folder = tempfile::tempdir().unwrap();
        for durability in [Durability::Power, Durability::Process, Durability::Exit] {
            let now = clock();
            let options = SqliteSaver::options().durability(durability).lease_clock(told(&now));
            let path = folder.path().join(format!("{durability:?}.db"));
            test(registered(Arc::new(options.open(path).await.unwrap())).await, now).await;
        }
    });
}

fn claim(holder: &str) -> Claim {
    Claim { thread: thread("t"), holder: holder.into(), ttl: Duration::from_millis(TTL) }
}

async fn acquired(saver: &Saver, holder: &str) -> LeaseRecord {
    match saver.acquire(claim(holder)).await.unwrap() {
        Acquired::Now(lease) => lease,
        Acquired::Held(held) => panic!("{held:?}"),
    }
}

async fn held(saver: &Saver) -> LeaseRecord {
    match saver.acquire(claim("nobody")).await.unwrap() {
        Acquired::Held(held) => held,
        Acquired::Now(lease) => panic!("{lease:?}"),
    }
}

fn effect() -> EffectRecord {
    let id = EffectId { task: task(1), name: "call".into(), key: "k".into(), occurrence: 0 };
    EffectRecord { id, attempt: 1, starts: 1, token: IdempotencyKey::from_bytes([1; 16]), outcome: None }
}

fn assert_lost<T: std::fmt::Debug>(done: Result<T, StoreError>, to: Option<&str>) {
    match done {
        Err(StoreError::LeaseLost { thread, to: holder }) => {
            assert_eq!((thread.as_str(), holder.as_deref()), ("t", to));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_holds_a_thread_until_it_gives_it_back() {
    on_every_saver_at(async |saver, clock| {
        let first = acquired(&saver, "one").await;
        assert_eq!((first.holder.as_str(), first.until_ms()), ("one", 1_000_000 + TTL));
        clock.fetch_add(600, Ordering::Relaxed);
        assert_eq!(held(&saver).await, first);
        let renewed = saver.renew(&first).await.unwrap();
        assert_eq!(renewed.until_ms(), first.until_ms() + 600);
        clock.fetch_add(600, Ordering::Relaxed);
        assert_eq!(held(&saver).await, renewed, "longer than without the renewal");
        assert_eq!(saver.leases().await.unwrap(), std::slice::from_ref(&renewed));
        // Other threads are free.
        let other = Claim { thread: thread("u"), ..claim("two") };
        assert!(matches!(saver.acquire(other).await.unwrap(), Acquired::Now(_)));
        saver.release(&renewed).await.unwrap();
        assert_lost(saver.release(&first).await, None);
        assert!(acquired(&saver, "two").await.fence > first.fence);
    });
}

#[test]
fn who_was_silent_for_too_long_is_kept_out() {
    on_every_saver_at(async |saver, clock| {
        let first = advance(&saver, "t", None, []).await;
        let one = acquired(&saver, "one").await;
        let zombie = saver.fenced(&one).unwrap();
        zombie.record_result(&thread("t"), first.id, result(1, "1")).await.unwrap();
        zombie.flush(&thread("t")).await.unwrap();
        clock.fetch_add(TTL, Ordering::Relaxed);
        let two = acquired(&saver, "two").await;
        assert!(two.fence > one.fence);

        let name = thread("t");
        let next = step(Some(&first), [set(0, "\"zombie\"")]);
        assert_lost(zombie.commit(commit_of("t", &next)).await, Some("two"));
        assert_lost(zombie.begin_effect(&name, first.id, effect()).await, Some("two"));
        assert_lost(zombie.ask(&name, first.id, Vec::new()).await, Some("two"));
        assert_lost(zombie.answer_all(&name, Vec::new()).await, Some("two"));
        assert_lost(zombie.fork(&name, first.id, &thread("v")).await, Some("two"));
        assert_lost(zombie.delete(&"graph".into(), &name).await, Some("two"));
        assert_lost(saver.renew(&one).await, Some("two"));
        // Work that is queued without waiting.
        zombie.record_result(&name, first.id, result(2, "\"zombie\"")).await.unwrap();
        zombie.fail(&name, first.id, failure(3, "zombie")).await.unwrap();
        zombie.note_effect(&name, first.id, effect()).await.unwrap();
        assert_lost(zombie.flush(&name).await, Some("two"));

        // The threads of subgraphs belong to the thread.
        let below = name.below(task(1));
        let child = commit_of(below.as_str(), &step(None, []));
        assert_lost(zombie.commit(child.clone()).await, Some("two"));

        // Nothing of it was stored, and it does not affect the current holder.
        let holder = saver.fenced(&two).unwrap();
        let loaded = head(&holder, "t").await;
        assert_eq!(loaded.checkpoint.id, first.id);
        assert_eq!(loaded.results, [result(1, "1")]);
        assert!(loaded.failures.is_empty() && loaded.effects.is_empty());
        let counts = holder.record_result(&name, first.id, result(2, "\"two\"")).await.unwrap();
        assert_eq!(counts, result(2, "\"two\""));
        assert!(holder.begin_effect(&name, first.id, effect()).await.unwrap().is_none());
        holder.commit(child).await.unwrap();
        advance(&holder, "t", Some(&first), [set(0, "\"two\"")]).await;
        assert_eq!(values(&head(&saver, "t").await), [(0, "\"two\"".to_owned())]);
    });
}

/// The guard is the fence: without it the same writes are stored.
#[test]
fn without_the_fence_a_zombie_writes_on() {
    on_every_saver_at(async |saver, clock| {
        let first = advance(&saver, "t", None, []).await;
        acquired(&saver, "one").await;
        let zombie = Arc::clone(&saver);
        clock.fetch_add(TTL, Ordering::Relaxed);
        let holder = saver.fenced(&acquired(&saver, "two").await).unwrap();
        let name = thread("t");
        assert!(zombie.begin_effect(&name, first.id, effect()).await.unwrap().is_none());
        assert!(holder.begin_effect(&name, first.id, effect()).await.unwrap().is_some(), "too late");
        advance(&zombie, "t", Some(&first), [set(0, "\"zombie\"")]).await;
    });
}

#[test]
fn an_expired_lease_stays_until_another_claim() {
    on_every_saver_at(async |saver, clock| {
        let first = advance(&saver, "t", None, []).await;
        let lease = acquired(&saver, "slow").await;
        clock.fetch_add(10 * TTL, Ordering::Relaxed);
        let slow = saver.fenced(&lease).unwrap();
        advance(&slow, "t", Some(&first), []).await;
        let renewed = saver.renew(&lease).await.unwrap();
        assert_eq!((renewed.fence, renewed.until_ms()), (lease.fence, 1_000_000 + 11 * TTL));
        assert_eq!(held(&saver).await, renewed);
    });
}

#[test]
fn a_broken_lease_is_lost() {
    on_every_saver_at(async |saver, _| {
        let lease = acquired(&saver, "one").await;
        assert_eq!(saver.break_lease(&thread("t")).await.unwrap(), Some(lease.clone()));
        assert_eq!(saver.break_lease(&thread("t")).await.unwrap(), None);
        let zombie = saver.fenced(&lease).unwrap();
        assert_lost(zombie.commit(commit_of("t", &step(None, []))).await, None);
        assert!(saver.leases().await.unwrap().is_empty());
    });
}

#[test]
fn a_deleted_thread_has_no_lease() {
    on_every_saver_at(async |saver, _| {
        advance(&saver, "t", None, []).await;
        let lease = acquired(&saver, "one").await;
        saver.delete(&"graph".into(), &thread("t")).await.unwrap();
        let zombie = saver.fenced(&lease).unwrap();
        assert_lost(zombie.commit(commit_of("t", &step(None, []))).await, None);
        let next = acquired(&saver, "two").await;
        assert!(next.fence > lease.fence, "also when nothing is left of the last one");
    });
}

/// The clock is set back by a day. A dead holder keeps the thread for one more `ttl`, counted from the next attempt to
/// acquire it, and not for a day.
#[test]
fn a_clock_that_goes_backwards_keeps_no_dead_lease() {
    on_every_saver_at(async |saver, clock| {
        clock.store(100_000_000, Ordering::Relaxed);
        let dead = acquired(&saver, "dead").await;
        clock.store(13_600_000, Ordering::Relaxed);
        let seen = held(&saver).await;
        assert_eq!((seen.fence, seen.until_ms()), (dead.fence, 13_600_000 + TTL));
        clock.fetch_add(TTL - 1, Ordering::Relaxed);
        assert_eq!(held(&saver).await, seen, "asking does not make it longer");
        clock.fetch_add(1, Ordering::Relaxed);
        assert!(acquired(&saver, "next").await.fence > dead.fence);
    });
}

/// A live holder renews its lease, independently of the clock, and there are never two holders.
#[test]
fn a_clock_that_jumps_gives_no_two_holders() {
    on_every_saver_at(async |saver, clock| {
        let first = advance(&saver, "t", None, []).await;
        let mut lease = acquired(&saver, "one").await;
        for jump in [50_000_i64, -900_000, 3, -60_000, 0] {
            clock.fetch_add(jump.cast_unsigned(), Ordering::Relaxed);
            lease = saver.renew(&lease).await.unwrap();
            assert_eq!(held(&saver).await, lease);
        }
        // The clock jumps before the holder has renewed: another holder takes over, and the first one is fenced off.
        clock.fetch_add(86_400_000, Ordering::Relaxed);
        let other = acquired(&saver, "two").await;
        clock.fetch_sub(86_400_000, Ordering::Relaxed);
        assert_lost(saver.renew(&lease).await, Some("two"));
        let zombie = saver.fenced(&lease).unwrap();
        assert_lost(zombie.commit(commit_of("t", &step(Some(&first), []))).await, Some("two"));
        advance(&saver.fenced(&other).unwrap(), "t", Some(&first), []).await;
    });
}

/// Without an injected clock it is the database's.
#[test]
fn a_lease_is_over_by_itself() {
    on_every_saver(async |saver| {
        let brief = Claim { ttl: Duration::from_millis(1), ..claim("brief") };
        assert!(matches!(saver.acquire(brief).await.unwrap(), Acquired::Now(_)));
        while matches!(saver.acquire(claim("next")).await.unwrap(), Acquired::Held(_)) {}
        let [lease] = saver.leases().await.unwrap().try_into().unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = u64::try_from(now.as_millis()).unwrap();
        assert!(lease.renewed_ms.abs_diff(now) < 60_000, "{} is not now, {now}", lease.renewed_ms);
    });
}
