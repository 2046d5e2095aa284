//! Benchmarks of snapshots of files, compared with git and with a walk.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Map;
use superstep::nodes::assistant::snapshot::{SnapshotId, SnapshotOptions, Snapshots, Taken};

use crate::engine::on_worker;
use crate::report::{Figure, median, round};

const FOLDERS: usize = 100;
const FILES: usize = 100;
const ROUNDS: usize = 9;
/// The number of files that change at once.
const MANY: usize = 1_000;
/// A file that changed more recently is read each time, in git, too.
const SETTLED: Duration = Duration::from_millis(2_100);

/// W19: a snapshot of a folder of 10,000 files of which one has changed.
pub(crate) fn snapshots() -> Figure {
    on_worker(async {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let folder = dir.path().join("folder");
        let data = dir.path().join("data");
        fs::create_dir(&data).expect("it is new");
        (0..FOLDERS * FILES).for_each(|file| write(&folder, file, 0));
        git(&folder, &["init", "-q"]);
        std::thread::sleep(SETTLED);
        let snapshots = Snapshots::open(&folder, SnapshotOptions::new(data.join("snapshots.sqlite")));
        let snapshots = snapshots.expect("it opens");
        let (first, first_ms) = taken(&snapshots, None).await;
        let first_git_ms = add(&folder);

        let mut samples: [Vec<f64>; 7] = Default::default();
        let mut last = first.id;
        for turn in 1..=ROUNDS {
            // Files that were written in the turn before are read once more.
            taken(&snapshots, Some(last)).await;
            let (same, nothing_ms) = taken(&snapshots, Some(last)).await;
            assert_eq!(same.id, last, "nothing has changed");
            let walk_ms = timed(|| assert_eq!(walk(&folder), FOLDERS * FILES)).1;
            write(&folder, turn, turn);
            let (one, one_ms) = taken(&snapshots, Some(last)).await;
            assert_eq!(one.changed.len(), 1);
            let git_ms = add(&folder);
            (0..MANY).for_each(|file| write(&folder, 10 * file, turn));
            let (many, many_ms) = taken(&snapshots, Some(one.id)).await;
            let many_git_ms = add(&folder);
            let own = [many.change().expect("files have changed")];
            let plan = snapshots.plan(many.id, one.id, &own).await.expect("it can be read");
            let begun = Instant::now();
            let restored = snapshots.restore(&plan).await.expect("it can be written");
            let restore_ms = begun.elapsed().as_secs_f64() * 1e3;
            assert_eq!(restored.restored.len(), MANY);
            last = restored.after;
            let times = [one_ms, git_ms, nothing_ms, walk_ms, many_ms, many_git_ms, restore_ms];
            samples.iter_mut().zip(times).for_each(|(samples, time)| samples.push(time));
            std::thread::sleep(SETTLED);
        }
        let [values, baselines, others @ ..] = samples;
        let names = ["nothing_ms", "walk_ms", "thousand_ms", "thousand_git_ms", "restore_thousand_ms"];
        let mut extra: Map<_, _> = names
            .iter()
            .zip(&others)
            .map(|(name, times)| ((*name).into(), round(median(times)).into()))
            .collect();
        extra.insert("first_ms".into(), round(first_ms).into());
        extra.insert("first_git_ms".into(), round(first_git_ms).into());
        let target = "git add -A && git write-tree; <= 0.5 x, and nothing changed <= 2 x the walk";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}

async fn taken(snapshots: &Snapshots, before: Option<SnapshotId>) -> (Taken, f64) {
    let begun = Instant::now();
    let taken = snapshots.take(before, [""; 0]).await.expect("it can be taken");
    (taken, begun.elapsed().as_secs_f64() * 1e3)
}

fn write(folder: &Path, file: usize, turn: usize) {
    let folder = folder.join(format!("folder{:02}", file / FILES));
    fs::create_dir_all(&folder).expect("it can be made");
    let text = format!("{file} {turn}\n").repeat(100);
    fs::write(folder.join(format!("file{:02}", file % FILES)), text).expect("it can be written");
}

/// Returns the number of files below a folder, after it has asked for the metadata of each.
fn walk(folder: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).expect("it can be read") {
        let entry = entry.expect("it can be read");
        if entry.file_name() == ".git" {
            continue;
        }
        let metadata = entry.metadata().expect("it is there");
        files += if metadata.is_dir() { walk(&entry.path()) } else { 1 };
    }
    files
}

fn add(folder: &Path) -> f64 {
    timed(|| {
        git(folder, &["add", "-A"]);
        git(folder, &["write-tree"]);
    })
    .1
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    let status = git.arg("-C").arg(folder).args(arguments).stdout(Stdio::null()).status();
    assert!(status.expect("git is installed").success());
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed().as_secs_f64() * 1e3)
}
