//! A restore that ends after any of its operations.

use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

struct Killed;

/// Works until so many points are passed; returns `None` if the work was ended by that.
fn until<T>(at: &mut Fixture, mut points: usize, work: impl FnOnce(&mut Fixture) -> T) -> Option<T> {
    at.state.root.points.set(Some(Box::new(move |_| match points {
        0 => std::panic::resume_unwind(Box::new(Killed)),
        _ => points -= 1,
    })));
    let done = catch_unwind(AssertUnwindSafe(|| work(at)));
    at.state.root.points.set(None);
    match done {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<Killed>() => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A session has changed files of all kinds, and another program one of them.
fn world() -> (Fixture, Restore, Files, Files) {
    let mut at = Fixture::new();
    at.write("a", "one");
    at.write("foreign", "one");
    at.write("old/x", "x");
    at.write("swap/y", "y");
    at.write("back", "a file");
    symlink("a", at.folder().join("link")).unwrap();
    let earlier = at.files();
    let start = at.take(None).id;
    let (call, change) = at.call(start, |at| {
        at.write("a", "two");
        at.write("foreign", "two");
        at.write("new/deep/z", "z");
        at.remove("old");
        at.remove("swap");
        at.write("swap", "a file where a folder was");
        at.remove("back");
        at.write("back/inside", "a folder where a file was");
        at.remove("link");
        symlink("b", at.folder().join("link")).unwrap();
    });
    at.write("foreign", "three");
    let later = at.files();
    let plan = at.plan(call.id, start, &[change]);
    assert_eq!(plan.foreign().count(), 1);
    let plan = plan.include_foreign(|_| true);
    (at, plan, earlier, later)
}

/// Without what a restore that was cut off has left.
fn visible(mut files: Files) -> Files {
    files.retain(|path, _| !path.contains(crate::snapshot::place::TEMPORARY));
    files
}

#[test]
fn a_restore_that_is_cut_off_leaves_whole_files_and_can_be_carried_out_again() {
    let mut cut_off = 0;
    for points in 0.. {
        let (mut at, plan, earlier, later) = world();
        let done = until(&mut at, points, |at| at.restore(&plan));
        if done.is_none() {
            cut_off += 1;
            for (path, node) in visible(at.files()) {
                let whole = [earlier.get(&path), later.get(&path)].contains(&Some(&node));
                assert!(whole, "{path} is {node:?} after {points} points");
            }
            at.reopen();
        }
        let plan: Restore = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
        let restored = match done {
            Some(restored) => restored,
            None => at.restore(&plan),
        };
        assert_eq!(restored.left, [], "after {points} points");
        assert_eq!(at.files(), earlier, "after {points} points");
        let redo = at.plan(restored.after, restored.before, &[restored.change()]);
        at.restore(&redo);
        assert_eq!(at.files(), later, "after {points} points");
        if cut_off < points {
            break;
        }
    }
    assert!(cut_off >= 25, "{cut_off}");
}

#[test]
fn a_snapshot_that_is_cut_off_is_not_in_the_store() {
    for points in 0.. {
        let mut at = Fixture::new();
        at.write("a", "one");
        at.write("b", "one");
        let first = at.take(None).id;
        at.write("a", "two");
        at.write("b", "two");
        let done = until(&mut at, points, |at| at.take(first));
        if done.is_some() {
            assert_eq!(points, 2, "each file is read once");
            break;
        }
        assert_eq!(at.state.store.newest().unwrap(), Some(first));
        assert_eq!(at.take(first).changed.len(), 2);
    }
}
