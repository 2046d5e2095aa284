//! Power loss: the file system of a loop device is shut down under the program, without writing its journal, and
//! mounted again.
//!
//! ```text
//! just power-cut
//! ```
//!
//! This needs root. An acknowledgement counts if this process received it before the cut begins.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::dice::{Dice, Replay, times};
use crate::torture::drive;
use crate::torture::order::{Order, Promise, Workload};
use crate::torture::said::Line;

/// The number of cuts.
const CUTS: u64 = 200;
/// The number of cuts for a saver that only survives kills.
const CUTS_OF_MUTANT: u64 = 40;
/// The power is cut after fewer acknowledgements.
const ACKS: u64 = 60;

/// Waits for a line and shuts the file system down: `EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`.
const SHUT_DOWN: &str = "open(F, '<', $ARGV[0]) or die $!; $how = pack('L', 2); <STDIN>; \
     ioctl(F, 0x8004587d, $how) or die $!";

/// A separate disk.
struct Disk {
    image: PathBuf,
    mounted: PathBuf,
    _folder: TempDir,
}

/// Runs a command that needs root.
fn root(command: &str, arguments: &[&Path]) {
    let mut words = command.split(' ');
    let program = words.next().expect("a command has a name");
    let ended = Command::new(program).args(words).args(arguments).output();
    let ended = ended.unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(ended.status.success(), "{command}: {}", String::from_utf8_lossy(&ended.stderr));
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let (image, mounted) = (folder.path().join("image"), folder.path().join("mounted"));
        fs::create_dir(&mounted).expect("a new folder");
        fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("there is memory");
        root("mkfs.ext4 -q -F", &[&image]);
        let disk = Self { image, mounted, _folder: folder };
        disk.mount();
        disk
    }

    fn mount(&self) {
        root("mount -o loop", &[&self.image, &self.mounted]);
    }

    fn unmount(&self) {
        root("umount", &[&self.mounted]);
    }

    /// The process that cuts the power when it reads a line.
    fn switch(&self) -> Child {
        let mut switch = Command::new("perl");
        switch.args(["-e", SHUT_DOWN]).arg(&self.mounted).stdin(Stdio::piped());
        switch.spawn().expect("perl is there")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It is possibly not mounted.
        let _done = Command::new("umount").arg("--lazy").arg(&self.mounted).stderr(Stdio::null()).status();
    }
}

/// Cuts the power of a program after so many acknowledgements; returns those before the cut.
fn run_and_cut(disk: &Disk, order: &Order, acks: u64) -> Vec<Line> {
    let mut switch = disk.switch();
    let program = Started::new(order.command());
    let process = program.child.id();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = {
        let (heard, mut program) = (Arc::clone(&heard), program);
        thread::spawn(move || {
            while let Some(line) = program.listen() {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
            }
            program.end()
        })
    };
    let is_ack = |line: &&Line| matches!(line, Line::Saved { .. });
    while (heard.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(is_ack).count() as u64) < acks {
        thread::yield_now();
        assert!(!listener.is_finished(), "it ended before the cut: {order}");
    }
    let told = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut input = switch.stdin.take().expect("its input is a pipe");
    input.write_all(b"\n").expect("it waits for this");
    assert!(switch.wait().expect("it ends").success(), "the power cannot be cut");
    let killed = Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
    // It may have ended by itself, because it cannot write.
    killed.expect("kill is there");
    drop(listener.join().expect("it listens to the end"));
    told
}

/// The violation after a cut, if there is one.
fn cut(disk: &Disk, order: &Order, end: &Value, dice: &mut Dice) -> Result<usize, Bad> {
    let mut life = Life::with_end(order.clone(), end.clone());
    let told = run_and_cut(disk, order, 1 + dice.below(ACKS));
    disk.unmount();
    disk.mount();
    life.check(&told)?;
    let acknowledged = life.told.saved.len();
    life.resume()?;
    Ok(acknowledged)
}

/// Cuts the power so often; returns the violations.
fn cut_all(promise: Promise, cuts: u64) -> Vec<(u64, Bad)> {
    let disk = Disk::new();
    let (mut wrong, mut acknowledged) = (Vec::new(), 0);
    for number in 0..cuts {
        let workload = Workload::ALL[number as usize % Workload::ALL.len()];
        let db = disk.mounted.join(format!("{number}.db"));
        let order = Order { threads: 20, turns: 4, promise, ..Order::new(workload, &db) };
        let end = drive::expected(order.workload, order.turns);
        match cut(&disk, &order, &end, &mut Dice::of(number)) {
            Ok(count) => acknowledged += count,
            Err(bad) => wrong.push((number, bad)),
        }
        crate::torture::made::remove(&db);
    }
    println!("{promise:?}: {cuts} cuts, {acknowledged} checkpoints, {} wrong", wrong.len());
    wrong
}

#[test]
#[ignore = "only root may shut a file system down; `just power-cut`"]
fn nothing_acknowledged_is_lost_with_the_power() {
    let _replay = Replay("power_cut::");
    let wrong = cut_all(Promise::Power, times(CUTS));
    assert_eq!(wrong, []);
}

/// Data that only survives kills is lost with the power, but the rest is consistent.
#[test]
#[ignore = "only root may shut a file system down; `just power-cut`"]
fn what_survives_kills_only_is_lost_with_the_power_and_never_damaged() {
    let _replay = Replay("power_cut::");
    let wrong = cut_all(Promise::Process, CUTS_OF_MUTANT);
    assert!(!wrong.is_empty(), "the power was not cut");
    assert!(wrong.iter().all(|(_, bad)| matches!(bad, Bad::Lost(_))), "{wrong:?}");
}
