//! Checks that a task which waits for the end of a run, or of an attempt, is woken.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::node::revoked::Revoked;
use super::{Sleeper, everywhere, fails};

type Wait = Pin<Box<dyn Future<Output = ()>>>;

/// Waits until `ended`, in the same way as a task.
fn wait(revoked: &Arc<Revoked>, ended: impl Fn() -> bool + 'static) -> Wait {
    let revoked = Arc::clone(revoked);
    Box::pin(async move { revoked.until(ended).await })
}

/// Waits without checking again after registering its waker: a mutant without this guard.
fn wait_after_one_look(revoked: &Arc<Revoked>, ended: impl Fn() -> bool + 'static) -> Wait {
    let looks = Cell::new(0);
    wait(revoked, move || {
        looks.set(looks.get() + 1);
        looks.get() % 2 == 1 && ended()
    })
}

/// Starts to wait on another thread. The returned function returns `true` if the waiter was ready or was woken.
fn is_told(begin: impl FnOnce() -> Wait + Send + 'static) -> impl FnOnce() -> bool {
    let sleeper = Arc::new(Sleeper::default());
    let waker = Waker::from(Arc::clone(&sleeper));
    let waiter = thread::spawn(move || begin().as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    move || waiter.join().expect("the thread does not panic") || sleeper.was_woken()
}

/// Lets two threads wait for the end of a run, and ends it.
fn a_run_ends(wait: impl Fn(Arc<Revoked>) -> Wait + Clone + Send + 'static) {
    let revoked = Arc::new(Revoked::default());
    let waiters = [(), ()].map(|()| {
        let (revoked, wait) = (Arc::clone(&revoked), wait.clone());
        is_told(move || wait(revoked))
    });
    revoked.set();
    assert!(revoked.is_set(), "the run has ended");
    for was_told in waiters {
        assert!(was_told(), "a waiter sleeps forever");
    }
}

#[test]
fn a_waiter_for_the_end_of_a_run_is_woken() {
    everywhere(|| {
        a_run_ends(|revoked| {
            let run = Arc::clone(&revoked);
            wait(&revoked, move || run.is_set())
        });
    });
}

#[test]
fn without_a_second_look_a_waiter_is_not_woken() {
    assert!(fails(|| {
        a_run_ends(|revoked| {
            let run = Arc::clone(&revoked);
            wait_after_one_look(&revoked, move || run.is_set())
        });
    }));
}

/// Here the attempt ends although its run continues, while another thread ends the run.
#[test]
fn a_waiter_for_the_end_of_an_attempt_is_woken() {
    everywhere(|| {
        let (revoked, over) = (Arc::new(Revoked::default()), Arc::new(AtomicBool::new(false)));
        let was_told = {
            let (revoked, over) = (Arc::clone(&revoked), Arc::clone(&over));
            is_told(move || {
                let run = Arc::clone(&revoked);
                wait(&revoked, move || over.load(Ordering::Acquire) || run.is_set())
            })
        };
        let ender = {
            let revoked = Arc::clone(&revoked);
            thread::spawn(move || revoked.set())
        };
        over.store(true, Ordering::Release);
        revoked.wake();
        assert!(was_told(), "a waiter sleeps forever");
        ender.join().expect("the thread does not panic");
    });
}
