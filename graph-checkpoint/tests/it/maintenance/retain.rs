//! A saver that prunes older checkpoints by itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::maintenance::{self, Retention};
use superstep_checkpoint::{SqliteOptions, SqliteSaver};
use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Naming, Source};

use super::written::long;
use crate::material::*;

async fn open(path: &Path, options: SqliteOptions) -> (SqliteSaver, Saver) {
    let saver = options.open(path).await.unwrap();
    let shared = registered(Arc::new(saver.clone())).await;
    (saver, shared)
}

/// Adds `count` checkpoints to a thread; returns the last.
async fn grow(saver: &Saver, name: &str, mut last: Option<Checkpoint>, count: usize) -> Checkpoint {
    for number in 0..count {
        let changes = [extend(0, &format!("[{number}]")), set(1, &long(&(number % 3).to_string()))];
        last = Some(advance(saver, name, last.as_ref(), changes).await);
    }
    last.expect("it adds some")
}

/// Returns the number of whole checkpoints that a thread has.
async fn whole(saver: &Saver, name: &str) -> usize {
    let history = saver.history(&thread(name), At::Head, usize::MAX).await.unwrap();
    history.iter().filter(|line| line.source != Source::Pruned).count()
}

fn sound(path: &Path) {
    assert_eq!(maintenance::verify(path).unwrap().findings, []);
}

#[test]
fn each_thread_keeps_what_is_said_of_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let options = SqliteSaver::options()
            .retention(Retention::new().keep_last(20))
            .retention_of("audit", Retention::new())
            .retention_of("short", Retention::new().keep_last(2))
            .retention_of("young", Retention::new().keep_for(Duration::from_secs(24 * 60 * 60)));
        let (saver, shared) = open(&path, options).await;
        let tenth = grow(&shared, "t", None, 10).await;
        let naming = Naming::Give { name: "release".parse().unwrap(), checkpoint: tenth.id };
        shared.name(&thread("t"), naming).await.unwrap();
        grow(&shared, "t", Some(tenth.clone()), 60).await;
        for name in ["audit", "short", "young"] {
            grow(&shared, name, None, 50).await;
        }
        let (pruned, collected) = saver.retain().await.unwrap();
        assert_eq!((pruned.checkpoints, collected.bodies), (70 - 21 + 48, 0));
        let kept = [("t", 21), ("audit", 50), ("short", 2), ("young", 50)];
        for (name, count) in kept {
            assert_eq!(whole(&shared, name).await, count, "{name}");
        }
        let named = At::Named("release".parse().unwrap());
        assert_eq!(shared.read(&thread("t"), named).await.unwrap().unwrap().checkpoint, tenth);
        assert_eq!(
            saver.retain().await.unwrap().0,
            maintenance::Pruned::default(),
            "there is nothing left to do"
        );
        assert_eq!(saver.retained().unwrap().checkpoints, pruned.checkpoints);
        drop((saver, shared));
        sound(&path);
    });
}

/// A fork keeps all of a past that it shares, if its own retention says so.
#[test]
fn a_past_that_is_shared_stays_for_the_thread_that_keeps_more() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let options = SqliteSaver::options()
            .retention(Retention::new().keep_last(1))
            .retention_of("audit", Retention::new())
            .retention_of("young", Retention::new().keep_for(Duration::from_secs(24 * 60 * 60)));
        for keeps in ["audit", "young"] {
            let (saver, shared) = open(&path, options.clone()).await;
            let thread_of = format!("of {keeps}");
            let last = grow(&shared, &thread_of, None, 10).await;
            shared.fork(&thread(&thread_of), last.id, &thread(keeps)).await.unwrap();
            grow(&shared, &thread_of, Some(last), 5).await;
            assert_eq!(saver.retain().await.unwrap().0.checkpoints, 4, "{keeps}");
            assert_eq!(whole(&shared, keeps).await, 10, "{keeps}");
        }
        sound(&path);
    });
}

#[test]
fn it_looks_every_so_many_steps_while_threads_run() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let options = SqliteSaver::options().retention(Retention::new().keep_last(10)).retain_every(30);
        let (saver, shared) = open(&path, options).await;
        let mut threads = Vec::new();
        for name in ["a", "b"] {
            let shared = Arc::clone(&shared);
            let run = async move {
                let mut last = None;
                for _ in 0..12 {
                    last = Some(grow(&shared, name, last, 20).await);
                }
                last.unwrap()
            };
            threads.push((name, tokio::spawn(run)));
        }
        for (name, run) in threads {
            let last = run.await.unwrap();
            let head = head(&shared, name).await;
            assert_eq!(head.checkpoint, last);
            let list = head.values[0].value.decode::<Vec<u32>>().unwrap();
            assert_eq!(list.len(), 240, "{name}");
        }
        for look in 0.. {
            assert!(look < 100_000, "no pass was made");
            if saver.retained().unwrap().passes > 0 {
                break;
            }
            shared.threads().await.unwrap();
        }
        // Another pruning may be running; the requested one waits for it.
        saver.retain().await.unwrap();
        let retained = saver.retained().unwrap();
        assert_eq!((retained.checkpoints, retained.failed), (480 - 20, None));
        for name in ["a", "b"] {
            assert_eq!(whole(&shared, name).await, 10);
        }
        drop((saver, shared));
        sound(&path);
    });
}

#[test]
fn a_saver_of_which_nothing_is_said_takes_nothing_out() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let (saver, shared) = open(&path, SqliteSaver::options().retain_every(1)).await;
        grow(&shared, "t", None, 20).await;
        assert_eq!(saver.retained(), None);
        assert_eq!(saver.retain().await.unwrap().0, maintenance::Pruned::default());
        assert_eq!(whole(&shared, "t").await, 20);
    });
}
