//! The checker detects violations: files and programs that are wrong on purpose.

use std::fs;
use std::path::{Path, PathBuf};

use superstep::prelude::*;
use tempfile::TempDir;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::drive;
use crate::torture::order::{Order, Workload};
use crate::torture::said::{Line, Voice};
use crate::torture::workloads::graph;

/// A program that was killed after so many acknowledgements, and its file.
struct Killed {
    life: Life,
    said: Vec<Line>,
    _folder: TempDir,
}

impl Killed {
    fn after(acks: usize, workload: Workload) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let life = Life::new(Order { turns: 20, ..Order::new(workload, folder.path().join("t.db")) });
        let mut program = Started::new(life.order.command());
        let mut heard = 0;
        while heard < acks {
            heard += usize::from(matches!(program.listen(), Some(Line::Saved { .. })));
        }
        Self { life, said: program.kill().said, _folder: folder }
    }

    /// Runs the program on, for so many acknowledgements.
    fn go_on(&self, acks: usize) -> Vec<Line> {
        let mut program = Started::new(self.life.order.command());
        let mut heard = 0;
        while heard < acks {
            heard += usize::from(matches!(program.listen(), Some(Line::Saved { .. })));
        }
        program.kill().said
    }

    fn copy(&self) -> Copied {
        let files = ["", "-wal"].map(|end| PathBuf::from(format!("{}{end}", self.life.order.db.display())));
        Copied(files.map(|path| (fs::read(&path).expect("it is there after a kill"), path)))
    }
}

struct Copied([(Vec<u8>, PathBuf); 2]);

impl Copied {
    fn put_back(self) {
        for (bytes, path) in self.0 {
            fs::write(path, bytes).expect("it can be written");
        }
    }
}

#[test]
fn what_is_missing() {
    let mut killed = Killed::after(3, Workload::Chain);
    let copied = killed.copy();
    let said = killed.go_on(3);
    copied.put_back();
    let bad = killed.life.check(&said).expect_err("an older file was put in its place");
    assert!(matches!(bad, Bad::Lost(_)), "{bad}");
}

#[test]
fn what_happens_again() {
    for workload in Workload::ALL {
        let mut killed = Killed::after(3, workload);
        let copied = killed.copy();
        killed.life.check(&killed.said).expect("nothing is wrong");
        let said = killed.go_on(4);
        killed.life.check(&said).expect("nothing is wrong");
        copied.put_back();
        let said = killed.go_on(4);
        let bad = killed.life.check(&said).expect_err("an older file was put in its place");
        assert!(matches!(bad, Bad::Repeated(_)), "{workload:?}: {bad}");
    }
}

#[test]
fn what_is_damaged() {
    let mut killed = Killed::after(6, Workload::Chain);
    let db = killed.life.order.db.clone();
    let connection = rusqlite::Connection::open(&db).expect("it is a database");
    let changed = connection.execute("UPDATE checkpoint SET step = step + 1 WHERE seq = 3", []);
    assert_eq!(changed, Ok(1));
    let bad = killed.life.check(&[]).expect_err("a row was changed");
    assert!(matches!(bad, Bad::Damaged(_)), "{bad}");
}

#[test]
fn what_has_two_lines() {
    let mut killed = Killed::after(6, Workload::Chain);
    branch(&killed.life.order.db);
    let bad = killed.life.check(&[]).expect_err("a checkpoint is continued twice");
    assert!(matches!(bad, Bad::Forked(_)), "{bad}");
}

/// Runs the last superstep again, on a branch.
fn branch(db: &Path) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let trips = graph(Workload::Chain, Voice::kept().0)
            .checkpointer(SqliteSaver::open(db).await.expect("it opens"));
        let trunk = trips.thread("t0");
        let mut before = trunk.before_named("close").await.expect("it has come there");
        if before.id() == trunk.head().await.expect("it has run").id() {
            // The kill came too early: the program continues, so that there is a checkpoint for the branch.
            let run = trunk.resume().interrupt_after(["close"]).await.expect("it runs");
            assert_ne!(run.status, Status::Finished);
            before = trunk.before_named("close").await.expect("it has come there");
        }
        let other = before.fork("other").await.expect("it can be forked");
        let run = other.resume().interrupt_after(["close"]).await.expect("it runs");
        assert_ne!(run.status, Status::Finished);
    });
}

#[test]
fn what_ends_otherwise() {
    let folder = tempfile::tempdir().expect("a folder");
    let order = Order::new(Workload::Chain, folder.path().join("t.db"));
    let end = drive::expected(order.workload, order.turns + 1);
    let bad = Life::with_end(order, end).resume().expect_err("it goes through its graph less often");
    assert!(matches!(bad, Bad::OtherEnd(_)), "{bad}");
}
