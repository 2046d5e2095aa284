//! Power loss: images of the files that it may leave, computed from a log of all calls.
//!
//! Data written to a file before its last sync is there. Of later writes any part may be there, in any order, torn
//! between sectors; a file may have grown without its content, and creations and deletions without a sync of the folder
//! may be missing. The images of real disks are among these.

mod disk;
mod log;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::torture::check::{Bad, Life};
use crate::torture::dice::{Dice, Replay, times};
use crate::torture::drive;
use crate::torture::made;
use crate::torture::order::{Committer, Order, Promise, Workload};
use crate::torture::said::{Line, Voice};
use crate::torture::side_by_side::side_by_side;
use crate::torture::strace;
use disk::Disk;
use log::Event;

/// The number of images in the gate.
const IMAGES: u64 = 5_000;
/// The number of images per log.
const OF_A_LOG: u64 = 500;
/// One of so many images is also resumed to its end.
const RESUMED: u64 = 10;
/// The log is moved into the file after so few pages, while the program runs.
const LOG_PAGES: u32 = 12;

/// The effect of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syncs {
    Kept,
    /// A mutant: the disk reports a sync that it has not done.
    Ignored,
}

/// A log from which images are made.
struct Case {
    number: u64,
    promise: Promise,
    syncs: Syncs,
}

/// The number of images, and of those with each violation.
#[derive(Debug, Default)]
struct Found {
    images: u64,
    /// Images in which an unsynced write is missing: without such images nothing was tested.
    lost: u64,
    damaged: u64,
    other: u64,
    /// The first one, and how to reproduce it.
    first: Option<String>,
}

impl Found {
    fn add(&mut self, bad: &Bad, replay: String) {
        match bad {
            Bad::Lost(_) => self.lost += 1,
            Bad::Damaged(_) => self.damaged += 1,
            _ => self.other += 1,
        }
        self.first.get_or_insert_with(|| format!("{bad}\n{replay}"));
    }
}

/// Makes images of one log.
fn explore(case: &Case, opened: &[u8]) -> Found {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let workload = Workload::ALL[case.number as usize % Workload::ALL.len()];
    let db = folder.path().join("t.db");
    let order = Order {
        promise: case.promise,
        committer: Committer::Writer,
        log_pages: Some(LOG_PAGES),
        ..Order::new(workload, &db)
    };
    // Some begin with an existing file, so that not all images are of its creation.
    let begun = !case.number.is_multiple_of(3);
    if begun {
        fs::write(&db, opened).expect("the folder is there");
    }
    let mut events = log::record(&order);
    if case.syncs == Syncs::Ignored {
        events.retain(|event| !matches!(event, Event::Sync(_)));
    }
    let mut before = 0;
    if begun {
        let name = "t.db".to_owned();
        let written = Event::Write { name: name.clone(), at: 0, bytes: opened.to_owned() };
        let made = [Event::Create(name.clone()), written, Event::Sync(name), Event::SyncFolder];
        before = made.len();
        events.splice(0..0, made);
    }
    let moved = events.iter().skip_while(|event| !matches!(event, Event::Said(Line::Saved { .. })));
    let mut moved = moved.skip_while(|event| !matches!(event, Event::Write { name, .. } if name == "t.db"));
    let moved_in_time = moved.any(|event| matches!(event, Event::Said(Line::Saved { .. })));
    assert!(moved_in_time, "the log is not moved into the file while the program runs: {order}");
    let end = drive::expected(order.workload, order.turns);
    let mut found = Found::default();
    for image in 0..OF_A_LOG {
        let mut dice = Dice::of(case.number << 32 | image);
        let at = before + dice.below((events.len() - before) as u64 + 1) as usize;
        let image_folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        found.images += 1;
        if let Err(bad) = check(&events[..at], &mut dice, &order, &end, image_folder.path()) {
            let replay = format!("log {}, image {image} after {at} calls of {order}", case.number);
            found.add(&bad, replay);
        }
    }
    found
}

/// Checks one image.
fn check(happened: &[Event], dice: &mut Dice, order: &Order, end: &Value, folder: &Path) -> Result<(), Bad> {
    let mut disk = Disk::default();
    happened.iter().for_each(|event| disk.happens(event));
    disk.loses_power(dice, folder);
    let order = Order { db: folder.join("t.db"), ..order.clone() };
    let mut life = Life::with_end(order, end.clone());
    let told = happened.iter().filter_map(|event| match event {
        Event::Said(line) => Some(line.clone()),
        _ => None,
    });
    let told: Vec<Line> = told.collect();
    life.check(&told)?;
    // The checker cannot check much of a file during its creation.
    let resumed = if life.told.is_nothing() { RESUMED / 3 } else { RESUMED };
    if dice.below(resumed) == 0 {
        let (voice, said) = Voice::kept();
        drive::perform(&life.order, &voice);
        let said = core::mem::take(&mut *said.lock().expect("no holder of the lock panicked"));
        life.check(&said)?;
        life.check_ends(&said)?;
    }
    Ok(())
}

/// Makes a number of images, from several logs.
fn explore_all(images: u64, promise: Promise, syncs: Syncs) -> Found {
    let opened = made::opened();
    let cases = (0..images.div_ceil(OF_A_LOG)).map(|number| Case { number, promise, syncs }).collect();
    let mut all = Found::default();
    for found in side_by_side(cases, |case| explore(&case, &opened)) {
        all.images += found.images;
        all.lost += found.lost;
        all.damaged += found.damaged;
        all.other += found.other;
        all.first = all.first.or(found.first);
    }
    println!(
        "{promise:?}, syncs {syncs:?}: {} images, {} lost, {} damaged",
        all.images, all.lost, all.damaged
    );
    all
}

#[test]
fn no_image_lacks_what_was_acknowledged() {
    let _replay = Replay("images::");
    if !strace::is_here() {
        return;
    }
    // A night run makes 200,000.
    let images = if times(1) > 1 { times(2 * IMAGES) } else { IMAGES };
    let found = explore_all(images, Promise::Power, Syncs::Kept);
    assert!(found.first.is_none(), "{found:?}");
}

/// There, acknowledged steps may be missing, which also shows that the images can detect this.
#[test]
fn no_image_is_damaged_where_only_a_kill_is_survived() {
    let _replay = Replay("images::");
    if !strace::is_here() {
        return;
    }
    let found = explore_all(times(IMAGES / 10), Promise::Process, Syncs::Kept);
    assert!(found.damaged == 0 && found.other == 0, "{found:?}");
    assert!(found.lost > 0, "{found:?}");
}

#[test]
fn a_disk_that_does_not_sync_is_found_out() {
    let _replay = Replay("images::");
    if !strace::is_here() {
        return;
    }
    let found = explore_all(IMAGES / 10, Promise::Power, Syncs::Ignored);
    assert!(found.damaged > 0 && found.lost > 0, "{found:?}");
}
