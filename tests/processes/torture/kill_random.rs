//! `kill -9` at random moments, on a disk and in memory.
//!
//! A program runs thread after thread. It is killed after a random number of acknowledgements and a random delay, and
//! started again on the same file, several times, until the file is replaced.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::dice::{Dice, Replay, times};
use crate::torture::order::{Order, Promise, Workload};
use crate::torture::said::Line;

/// The number of kills in the gate, on a disk and in memory together.
const KILLS: u64 = 1_000;
/// The number of times that a file is reused before it is resumed to its end.
const LIVES: u64 = 10;
/// The program is killed after fewer acknowledgements.
const ACKS: u64 = 12;
/// The maximum delay in microseconds.
const WHILE: u64 = 1_500;

/// The results of the kills.
#[derive(Debug, Default)]
struct Met {
    kills: u64,
    acknowledged: usize,
    recorded: usize,
    /// Kills before anything was acknowledged in that life.
    early: u64,
}

/// Kills the program of one file several times and resumes it to its end.
fn torture(order: &Order, dice: &mut Dice, met: &mut Met) -> Result<(), (Bad, String)> {
    let mut life = Life::new(order.clone());
    for _ in 0..LIVES {
        let mut program = Started::new(life.order.command());
        let (acks, pause) = (dice.below(ACKS), Duration::from_micros(dice.below(WHILE)));
        let mut heard = 0;
        // Sometimes it is killed while it starts.
        while heard < acks {
            match program.listen() {
                Some(Line::Saved { .. }) => heard += 1,
                Some(_) => {}
                None => break,
            }
        }
        thread::sleep(pause);
        let ended = program.kill();
        met.kills += u64::from(ended.was_killed());
        met.early += u64::from(!ended.said.iter().any(|line| matches!(line, Line::Saved { .. })));
        let recorded = life.check(&ended.said).map(|recorded| recorded.work());
        met.recorded += recorded.map_err(|bad| (bad, life.replay()))?;
    }
    met.acknowledged += life.told.saved.len();
    life.resume().map_err(|bad| (bad, life.replay()))?;
    Ok(())
}

/// Tests files in `folder` until the program was killed so often.
fn kill(folder: &Path, promise: Promise, kills: u64, case: u64) -> Result<Met, (Bad, String)> {
    let (mut met, mut dice) = (Met::default(), Dice::of(case));
    for file in 0.. {
        if met.kills >= kills {
            break;
        }
        let workload = Workload::ALL[file as usize % Workload::ALL.len()];
        let db = folder.join(format!("{file}.db"));
        let order = Order { threads: 12, turns: 3, promise, ..Order::new(workload, &db) };
        torture(&order, &mut dice, &mut met)?;
        std::fs::remove_file(&db).expect("the file is there");
    }
    Ok(met)
}

fn torture_in(folder: &Path, case: u64) {
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let kills = times(KILLS / 4);
    for (number, promise) in [Promise::Power, Promise::Process].into_iter().enumerate() {
        let met = kill(folder.path(), promise, kills, case + number as u64);
        let met = met.unwrap_or_else(|(bad, replay)| panic!("{bad}\n{replay}"));
        println!("{promise:?}: {met:?}");
        assert!(met.recorded > 0 && met.early > 0, "the moments are not what they should be: {met:?}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_on_disk() {
    let _replay = Replay("kill_random::");
    torture_in(&std::env::temp_dir(), 0);
}

#[test]
fn nothing_acknowledged_is_lost_in_memory() {
    let _replay = Replay("kill_random::");
    torture_in(Path::new("/dev/shm"), 10);
}

/// The mutant keeps everything in memory until it ends.
#[test]
fn a_saver_that_acknowledges_too_early_is_found_out() {
    let _replay = Replay("kill_random::");
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let (bad, _) = kill(folder.path(), Promise::Exit, 20, 20).expect_err("it loses what it has acknowledged");
    assert!(matches!(bad, Bad::Lost(_)), "{bad}");
}
