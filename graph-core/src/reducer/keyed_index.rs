//! The index of keyed lists.

use alloc::vec::Vec;
use core::fmt;
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::Keyed;

/// The positions of the items of a keyed list by id, kept beside the list, so that items are found without a
/// search.
///
/// It contains only positions; the ids remain in the list. It is built on first use, and rebuilt whenever the
/// list's length is not the expected one. An owner that replaces the list must create a new index.
///
/// All indexes are equal, and a cloned index is empty, because an index contains no information beyond its list.
#[derive(Default)]
pub struct KeyedIndex {
    /// The last position of each id.
    positions: HashTable<usize>,
    /// The length of the list that `positions` describes; `None` before the first use.
    covered: Option<usize>,
}

/// Reads an item's id; `None` for an item without one.
type IdOf<T> = fn(&T) -> Option<&str>;

impl KeyedIndex {
    /// Creates an empty index, which is built on first use.
    #[must_use]
    pub const fn new() -> Self {
        Self { positions: HashTable::new(), covered: None }
    }

    /// Replaces the last item with the same id, or adds the item at the end.
    pub fn put<T: Keyed>(&mut self, list: &mut Vec<T>, item: T) {
        let at = self.find(list, item.id(), keyed_id);
        self.put_at(list, at, item, keyed_id);
    }

    /// Removes every item with this id.
    pub fn remove<T: Keyed>(&mut self, list: &mut Vec<T>, id: &str) {
        self.remove_by(list, id, keyed_id);
    }

    /// Replaces the item at a position that [`find`](Self::find) returned, or adds the item at the end.
    pub(crate) fn put_at<T>(&mut self, list: &mut Vec<T>, at: Option<usize>, item: T, id_of: IdOf<T>) {
        let Some(at) = at else {
            list.push(item);
            return self.add_last(list, id_of);
        };
        if id_of(&list[at]) != id_of(&item) {
            self.covered = None;
        }
        list[at] = item;
    }

    pub(crate) fn remove_by<T>(&mut self, list: &mut Vec<T>, id: &str, id_of: IdOf<T>) {
        if self.covers(list) && self.find(list, id, id_of).is_none() {
            return;
        }
        let before = list.len();
        list.retain(|held| id_of(held) != Some(id));
        if list.len() != before {
            self.covered = None;
        }
    }

    fn covers<T>(&self, list: &[T]) -> bool {
        self.covered == Some(list.len())
    }

    /// Returns the last position of an id.
    pub(crate) fn find<T>(&mut self, list: &[T], id: &str, id_of: IdOf<T>) -> Option<usize> {
        // The item that is being streamed is the last one, and needs no index.
        if let Some(last) = list.last()
            && id_of(last) == Some(id)
        {
            return Some(list.len() - 1);
        }
        if !self.covers(list) {
            self.build(list, id_of);
        }
        self.positions.find(hash(id), |at| id_of(&list[*at]) == Some(id)).copied()
    }

    fn build<T>(&mut self, list: &[T], id_of: IdOf<T>) {
        self.positions.clear();
        self.positions.reserve(list.len(), |at| hash_at(list, *at, id_of));
        for at in 0..list.len() {
            self.add(list, at, id_of);
        }
        self.covered = Some(list.len());
    }

    /// Adds the item that was just pushed onto the indexed list.
    fn add_last<T>(&mut self, list: &[T], id_of: IdOf<T>) {
        if self.covered.is_some_and(|covered| covered + 1 == list.len()) {
            self.add(list, list.len() - 1, id_of);
            self.covered = Some(list.len());
        }
    }

    fn add<T>(&mut self, list: &[T], at: usize, id_of: IdOf<T>) {
        let Some(id) = id_of(&list[at]) else { return };
        let hash = hash(id);
        match self.positions.find_mut(hash, |held| id_of(&list[*held]) == Some(id)) {
            Some(held) => *held = at,
            None => {
                self.positions.insert_unique(hash, at, |held| hash_at(list, *held, id_of));
            }
        }
    }
}

fn keyed_id<T: Keyed>(item: &T) -> Option<&str> {
    Some(item.id())
}

fn hash(id: &str) -> u64 {
    FixedState::default().hash_one(id)
}

fn hash_at<T>(list: &[T], at: usize, id_of: IdOf<T>) -> u64 {
    hash(id_of(&list[at]).expect("only items with an id are indexed"))
}

impl Clone for KeyedIndex {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl PartialEq for KeyedIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for KeyedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedIndex").field("covered", &self.covered).finish_non_exhaustive()
    }
}
