//! A disk that loses unsynced writes, or keeps some of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::log::Event;
use crate::torture::dice::Dice;

/// A sector is either written or not.
const SECTOR: usize = 512;

/// The files with their operations since the last sync.
#[derive(Default)]
pub(super) struct Disk<'e> {
    /// Each file that ever existed.
    files: Vec<File<'e>>,
    /// The current names of files.
    names: BTreeMap<&'e str, usize>,
    /// The names when the folder was last synced.
    synced: BTreeMap<&'e str, usize>,
    /// The changes of names since then.
    renamed: BTreeMap<&'e str, Vec<Option<usize>>>,
}

#[derive(Default)]
struct File<'e> {
    synced: Vec<u8>,
    since: Vec<&'e Event>,
}

/// The unsynced writes that are on the disk.
#[derive(Clone, Copy)]
enum Keeps {
    All,
    None,
    /// A given number of them, from the first on.
    First(usize),
    /// Each with a probability of one half.
    Some,
}

impl<'e> Disk<'e> {
    pub(super) fn happens(&mut self, event: &'e Event) {
        match event {
            Event::Create(name) if !self.names.contains_key(name.as_str()) => {
                self.files.push(File::default());
                self.name(name, Some(self.files.len() - 1));
            }
            Event::Unlink(name) => self.name(name, None),
            Event::Write { name, .. } | Event::Truncate { name, .. } => {
                self.file(name).since.push(event);
            }
            Event::Sync(name) => {
                let file = self.file(name);
                let since = core::mem::take(&mut file.since);
                since.into_iter().for_each(|event| apply(event, &mut file.synced, |_| true));
            }
            Event::SyncFolder => {
                self.synced.clone_from(&self.names);
                self.renamed.clear();
            }
            Event::Create(_) | Event::Said(_) => {}
        }
    }

    fn name(&mut self, name: &'e str, file: Option<usize>) {
        match file {
            Some(file) => self.names.insert(name, file),
            None => self.names.remove(name),
        };
        self.renamed.entry(name).or_default().push(file);
    }

    fn file(&mut self, name: &str) -> &mut File<'e> {
        let file = self.names.get(name).unwrap_or_else(|| panic!("{name} was written and not created"));
        &mut self.files[*file]
    }

    /// Writes into `folder` the files that a power loss may leave at this moment.
    pub(super) fn loses_power(&self, dice: &mut Dice, folder: &Path) {
        let mut names = self.synced.clone();
        for (name, meanings) in &self.renamed {
            match dice.below(meanings.len() as u64 + 1).checked_sub(1).map(|last| meanings[last as usize]) {
                Some(Some(file)) => drop(names.insert(name, file)),
                Some(None) => drop(names.remove(name)),
                None => {}
            }
        }
        for (name, file) in names {
            fs::write(folder.join(name), self.files[file].left(dice)).expect("the folder is there");
        }
    }
}

impl File<'_> {
    /// The bytes of a file that may be left.
    fn left(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let keeps = match dice.below(5) {
            0 => Keeps::All,
            1 => Keeps::None,
            2 => Keeps::First(dice.below(self.since.len() as u64) as usize),
            _ => Keeps::Some,
        };
        let torn = dice.below(2) == 0;
        for (number, event) in self.since.iter().enumerate() {
            let kept = match keeps {
                Keeps::All => true,
                Keeps::None => false,
                Keeps::First(kept) => number < kept,
                Keeps::Some => dice.below(2) == 0,
            };
            let torn = torn && dice.below(4) == 0;
            let length = bytes.len();
            match event {
                Event::Write { .. } if kept && torn => apply(event, &mut bytes, |_| dice.below(2) == 0),
                _ if kept => apply(event, &mut bytes, |_| true),
                // The file grew, but the new part was not written.
                Event::Write { at, bytes: written, .. } if torn => {
                    bytes.resize(length.max(at + written.len()), 0);
                }
                _ => {}
            }
        }
        bytes
    }
}

/// Applies an operation to a file; of a write, only the `kept` sectors.
fn apply(event: &Event, file: &mut Vec<u8>, mut kept: impl FnMut(usize) -> bool) {
    match event {
        Event::Truncate { length, .. } => file.resize(*length, 0),
        Event::Write { at, bytes, .. } => {
            let end = at + bytes.len();
            file.resize(file.len().max(end), 0);
            for sector in at / SECTOR..end.div_ceil(SECTOR) {
                let (from, to) = ((sector * SECTOR).max(*at), ((sector + 1) * SECTOR).min(end));
                if kept(sector) {
                    file[from..to].copy_from_slice(&bytes[from - at..to - at]);
                }
            }
        }
        _ => {}
    }
}
