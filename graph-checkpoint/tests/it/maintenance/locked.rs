//! While another program holds the write lock, all operations wait for it or read beside it, and never fail because of
//! it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;
use std::time::Duration;

use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Existing, MaintenanceError, Retention};
use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{At, CheckpointerExt, EffectId, EffectRecord, StoreError};
use superstep_core::id::{IdempotencyKey, InterruptId};
use superstep_core::store::{AccessError, Namespace, Put, StoreBackend};

use super::written::{written, written_of};
use crate::material::*;

/// Works on a file, waiting at most for this patience. Returns `true` if it would have had to wait longer.
type Work = fn(&Path, Duration) -> bool;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(3);

fn saver(path: &Path, patience: Duration, work: impl AsyncFn(&Saver) -> Result<(), StoreError>) -> bool {
    let mut was_busy = false;
    run(async {
        let opened = SqliteSaver::options().busy_limit(patience).open(path).await;
        was_busy = is_busy(match opened {
            Ok(saver) => work(&(Arc::new(saver) as Saver)).await,
            Err(error) => Err(error),
        });
    });
    was_busy
}

fn is_busy<T>(done: Result<T, StoreError>) -> bool {
    match done {
        Ok(_) => false,
        Err(StoreError::Busy) => true,
        Err(error) => panic!("{error}"),
    }
}

fn cares<T>(done: Result<T, MaintenanceError>) -> bool {
    match done {
        Ok(_) => false,
        Err(MaintenanceError::Busy(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Operations that need the lock.
const WRITERS: [(&str, Work); 14] = [
    ("commit", |path, patience| {
        saver(path, patience, async |saver| {
            let last = saver.read(&thread("t"), At::Head).await?.unwrap();
            saver.commit(commit_of("t", &step(Some(&last.checkpoint), []))).await.map(drop)
        })
    }),
    ("register", |path, patience| saver(path, patience, async |saver| saver.register(&graph()).await)),
    ("record", |path, patience| {
        saver(path, patience, async |saver| {
            let last = head(saver, "t").await.checkpoint;
            saver.record_result(&thread("t"), last.id, result(7, "7")).await?;
            saver.flush(&thread("t")).await
        })
    }),
    ("fail", |path, patience| {
        saver(path, patience, async |saver| {
            let last = head(saver, "t").await.checkpoint;
            saver.fail(&thread("t"), last.id, failure(8, "no")).await?;
            saver.flush(&thread("t")).await
        })
    }),
    ("begin an effect", |path, patience| {
        saver(path, patience, async |saver| {
            let last = head(saver, "t").await.checkpoint;
            let id = EffectId { task: task(9), name: "call".into(), key: "k".into(), occurrence: 0 };
            let token = IdempotencyKey::from_bytes([9; 16]);
            let effect = EffectRecord { id, attempt: 1, starts: 1, token, outcome: None };
            saver.begin_effect(&thread("t"), last.id, effect).await.map(drop)
        })
    }),
    ("answer", |path, patience| {
        saver(path, patience, async |saver| {
            saver
                .answer_all(&thread("t"), vec![(InterruptId::from_bytes([1; 16]), json("1"))])
                .await
                .map(drop)
        })
    }),
    ("let deadlines count", |path, patience| {
        saver(path, patience, async |saver| saver.expire(&"graph".into(), None, u64::MAX).await.map(drop))
    }),
    ("fork", |path, patience| {
        saver(path, patience, async |saver| {
            let last = head(saver, "t").await.checkpoint;
            saver.fork(&thread("t"), last.id, &thread("v")).await
        })
    }),
    ("delete", |path, patience| {
        saver(path, patience, async |saver| saver.delete(&"graph".into(), &thread("u")).await)
    }),
    ("put into the store", |path, patience| {
        let mut was_busy = false;
        run(async {
            let saver = SqliteSaver::options().busy_limit(patience).open(path).await.unwrap();
            let put = async {
                let namespace = Namespace::from_path("notes/").unwrap();
                let put = Put { namespace, key: "l".into(), value: json("1"), expires_ms: None };
                let store = saver.store().await.map_err(|error| AccessError::Failed(Box::new(error)))?;
                store.put(put, 1).await
            };
            was_busy = match put.await {
                Ok(()) => false,
                Err(AccessError::Failed(error)) => is_busy::<()>(Err(*error.downcast().unwrap())),
                Err(error) => panic!("{error}"),
            };
        });
        was_busy
    }),
    ("vacuum", |path, patience| cares(maintenance::vacuum(path, patience))),
    ("collect garbage", |path, patience| cares(maintenance::collect(path, patience))),
    ("prune", |path, patience| cares(maintenance::prune(path, &Retention::new().keep_last(20), patience))),
    ("open the store", |path, patience| {
        let mut was_busy = false;
        run(async {
            let saver = SqliteSaver::options().busy_limit(patience).open(path).await.unwrap();
            was_busy = is_busy(saver.store().await.map(drop));
        });
        was_busy
    }),
];

/// Operations that continue beside a writer.
const READERS: [(&str, Work); 7] = [
    ("open", |path, patience| saver(path, patience, async |_| Ok(()))),
    ("load", |path, patience| {
        saver(path, patience, async |saver| saver.read(&thread("t"), At::Head).await.map(drop))
    }),
    ("list", |path, patience| saver(path, patience, async |saver| saver.threads().await.map(drop))),
    ("look", |path, _| is_busy(SqliteReader::open(path).and_then(|reader| reader.threads()))),
    ("back up", |path, _| cares(maintenance::backup(path, beside(path, ".copy"), Existing::Replace))),
    ("verify", |path, _| is_busy(maintenance::verify(path))),
    ("count", |path, _| is_busy(maintenance::usage(path))),
];

/// Runs the operation while the write lock is held, and releases the lock as soon as the operation waits.
fn beside_a_writer(path: &Path, work: Work, patience: Duration) -> bool {
    let holder = Connection::open(path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            let was_busy = work(path, patience);
            ended.store(true, Ordering::Relaxed);
            was_busy
        });
        while !ended.load(Ordering::Relaxed)
            && (patience == SHORT || !beside(path, "-line").join("0").exists())
        {
            yield_now();
        }
        holder.execute_batch("COMMIT").unwrap();
        working.join().unwrap()
    })
}

/// Runs all operations, each on a file of its own.
fn each(works: &[(&str, Work)], patience: Duration, mut told: impl FnMut(&str, bool)) {
    let file = tokio::runtime::Runtime::new().unwrap().block_on(written());
    for (name, work) in works {
        let path = file.folder.path().join("own.db");
        std::fs::copy(&file.path, &path).unwrap();
        told(name, beside_a_writer(&path, *work, patience));
        let left: Vec<_> =
            file.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.iter().all(|path| !path.is_dir()), "{name} leaves no line behind: {left:?}");
        for path in left.iter().filter(|path| **path != file.path) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn writers_wait_for_each_other() {
    each(&WRITERS, LONG, |name, was_busy| assert!(!was_busy, "{name} did not wait"));
}

#[test]
fn a_writer_that_waits_too_long_gets_a_busy_error() {
    each(&WRITERS, SHORT, |name, was_busy| assert!(was_busy, "{name} did not need the lock"));
    let told = StoreError::Busy.to_string();
    assert_eq!(
        told,
        "other programs kept the store busy for too long: try again, or let the saver wait longer"
    );
}

#[test]
fn readers_never_wait() {
    each(&READERS, SHORT, |name, was_busy| assert!(!was_busy, "{name} waited for a writer"));
}

#[test]
fn an_older_file_is_migrated_when_its_writer_is_done() {
    let file = tokio::runtime::Runtime::new().unwrap().block_on(written_of(15));
    let older = "DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE named; DROP TABLE branch; PRAGMA user_version = 2";
    let open: Work = |path, patience| saver(path, patience, async |saver| saver.threads().await.map(drop));
    Connection::open(&file.path).unwrap().execute_batch(older).unwrap();
    for (patience, is_busy) in [(SHORT, true), (LONG, false)] {
        assert_eq!(beside_a_writer(&file.path, open, patience), is_busy);
    }
}
