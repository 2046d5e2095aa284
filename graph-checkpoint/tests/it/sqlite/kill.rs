//! The process ends before and after every storage commit.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Committed};

use crate::material::*;

const FILE: &str = "SUPERSTEP_TEST_KILL_FILE";
const POINT: &str = "SUPERSTEP_TEST_KILL_POINT";
const STEPS: i64 = 6;

/// Continues the thread to its last step; records a result before every commit.
async fn drive(saver: &Saver) {
    let mut last: Option<Checkpoint> = match saver.read(&thread("t"), At::Head).await.unwrap() {
        Some(loaded) => {
            let items: Vec<i64> = loaded.values[0].value.decode().unwrap();
            assert_eq!(items, (0..=loaded.checkpoint.step).collect::<Vec<_>>());
            Some(loaded.checkpoint)
        }
        None => None,
    };
    while last.as_ref().is_none_or(|last| last.step < STEPS) {
        let changes = match &last {
            None => set(0, "[]"),
            Some(last) => extend(0, &format!("[{}]", last.step + 1)),
        };
        if let Some(last) = &last {
            saver.record_result(&thread("t"), last.id, result(1, "1")).await.unwrap();
        }
        let next = step(last.as_ref(), [changes]);
        assert!(matches!(saver.commit(commit_of("t", &next)).await.unwrap(), Committed::New));
        last = Some(next);
    }
}

#[test]
fn a_kill_at_any_commit_leaves_a_whole_thread() {
    if let (Some(path), Ok(point)) = (std::env::var_os(FILE), std::env::var(POINT)) {
        let point: usize = point.parse().unwrap();
        let passed = AtomicUsize::new(0);
        let options = SqliteSaver::options().durability(Durability::Process).observe_commits(move |_| {
            if passed.fetch_add(1, Ordering::Relaxed) == point {
                std::process::abort();
            }
        });
        run(async {
            drive(&registered(Arc::new(options.open(PathBuf::from(path)).await.unwrap())).await).await
        });
        return;
    }
    let mut point = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::kill::a_kill_at_any_commit_leaves_a_whole_thread"])
            .env(FILE, &path)
            .env(POINT, point.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        run(async {
            let saver = registered(Arc::new(SqliteSaver::open(&path).await.unwrap())).await;
            drive(&saver).await;
            assert_eq!(head(&saver, "t").await.checkpoint.step, STEPS);
        });
        if child.success() {
            break;
        }
        point += 1;
    }
    assert!(point >= 16, "only {point} points");
}
