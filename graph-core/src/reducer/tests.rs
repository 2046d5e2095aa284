//! Properties of the built-in reducers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{
    Any, Append, Ephemeral, Keyed, KeyedIndex, KeyedLog, LastValue, LogEdit, LogWrite, MapWrite, Max, Merge,
    Min, Reducer, SetWrite, Sum, Transient, Union,
};
use crate::checkpoint::Fold;
use crate::state::{Json, Lifetime, Logged, Op, Writers};

/// Returns the value after these writes, in order.
fn fold<R: Reducer<T>, T>(mut value: T, writes: impl IntoIterator<Item = R::Write>) -> T {
    for write in writes {
        R::reduce(&mut value, write);
    }
    value
}

/// Returns the write after it was logged, stored and decoded, as in a resume.
fn stored<R: Reducer<T>, T>(write: &R::Write) -> R::Write
where
    R::Write: Serialize + DeserializeOwned,
{
    let logged = match R::log(write).expect("the write has a JSON form") {
        Some(op) => Logged::Op(op),
        None => Logged::Reduce(Json::encode(write).expect("the write has a JSON form")),
    };
    let text = serde_json::to_string(&logged).expect("a logged write has a JSON form");
    match serde_json::from_str(&text).expect("what was stored can be read") {
        Logged::Op(op) => R::replay(&op).expect("a reducer knows its own operations"),
        Logged::Reduce(write) => write.decode().expect("the write can be read"),
    }
}

/// Folds the logged operations without the reducer, like a reader of the file.
fn read<R: Reducer<T>, T>(value: &T, writes: &[R::Write]) -> T
where
    T: Serialize + DeserializeOwned,
    R::Write: Serialize,
{
    let mut fold = Fold::new();
    let set = Op::Set(Json::encode(value).expect("the value has a JSON form"));
    fold.apply(&set).expect("any value can be set");
    for write in writes {
        let op = R::log(write).expect("the write has a JSON form");
        let op = op.expect("the reducer logs operations");
        fold.apply(&op).expect("the operation fits the value");
    }
    let json = fold.finish().expect("the value can be encoded");
    json.expect("the field was written").decode().expect("the value can be read")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    id: String,
    text: u8,
}

impl Keyed for Note {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Generates few ids, so that they often collide.
fn id() -> impl Strategy<Value = String> {
    (0..5_u8).prop_map(|id| id.to_string())
}

fn note() -> impl Strategy<Value = Note> {
    (id(), any::<u8>()).prop_map(|(id, text)| Note { id, text })
}

fn edit() -> impl Strategy<Value = LogEdit<Note>> {
    prop_oneof![3 => note().prop_map(LogEdit::Put), 1 => id().prop_map(LogEdit::Remove)]
}

fn edits() -> impl Strategy<Value = LogWrite<Note>> {
    vec(edit(), 0..6).prop_map(LogWrite)
}

/// Generates notes with distinct ids, as in a keyed log.
fn notes() -> impl Strategy<Value = Vec<Note>> {
    btree_map(0..5_u8, any::<u8>(), 0..5).prop_map(|notes| {
        let notes = notes.into_iter().map(|(id, text)| Note { id: id.to_string(), text });
        notes.collect()
    })
}

/// Applies an edit by searching the whole list.
fn search(log: &mut Vec<Note>, edit: LogEdit<Note>) {
    match edit {
        LogEdit::Put(note) => match log.iter_mut().rev().find(|held| held.id == note.id) {
            Some(held) => *held = note,
            None => log.push(note),
        },
        LogEdit::Remove(id) => log.retain(|held| held.id != id),
    }
}

fn map_write() -> impl Strategy<Value = MapWrite<u8, u8>> {
    prop_oneof![
        3 => vec((0..8_u8, any::<u8>()), 0..5).prop_map(MapWrite::Put),
        1 => vec(0..8_u8, 0..3).prop_map(MapWrite::Remove),
    ]
}

fn set_write() -> impl Strategy<Value = SetWrite<u8>> {
    prop_oneof![
        3 => vec(0..8_u8, 0..5).prop_map(SetWrite::Add),
        1 => vec(0..8_u8, 0..3).prop_map(SetWrite::Remove),
    ]
}

fn map() -> impl Strategy<Value = BTreeMap<u8, u8>> {
    btree_map(0..8_u8, any::<u8>(), 0..6)
}

fn set() -> impl Strategy<Value = BTreeSet<u8>> {
    btree_set(0..8_u8, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_last_write_wins(start: u8, writes in vec(any::<u8>(), 1..6)) {
        let last = *writes.last().expect("at least one write");
        prop_assert_eq!(fold::<LastValue, _>(start, writes.clone()), last);
        prop_assert_eq!(fold::<Any, _>(start, writes.clone()), last);
        prop_assert_eq!(fold::<Ephemeral, _>(start, writes.clone()), last);
        prop_assert_eq!(fold::<Transient, _>(start, writes), last);
    }

    /// Checks that joining the writes of two tasks gives the same value, because only their order counts.
    #[test]
    fn append_is_associative(start: Vec<u8>, first: Vec<u8>, second: Vec<u8>) {
        let apart = fold::<Append, _>(start.clone(), [first.clone(), second.clone()]);
        let joined = fold::<Append, _>(start.clone(), [fold::<Append, _>(first.clone(), [second.clone()])]);
        prop_assert_eq!(&apart, &joined);
        prop_assert_eq!(apart, [start, first, second].concat());
    }

    #[test]
    fn merge_is_idempotent(start in map(), write in map_write()) {
        let once = fold::<Merge, _>(start.clone(), [write.clone()]);
        prop_assert_eq!(&once, &fold::<Merge, _>(start, [write.clone(), write]));
    }

    #[test]
    fn merge_prefers_the_later_write(start in map(), key in 0..8_u8, first: u8, second: u8) {
        let writes = [MapWrite::Put([(key, first)].into()), MapWrite::Put([(key, second)].into())];
        prop_assert_eq!(fold::<Merge, _>(start.clone(), writes).get(&key).copied(), Some(second));
        let one_write = MapWrite::Put([(key, first), (key, second)].into());
        prop_assert_eq!(fold::<Merge, _>(start, [one_write]).get(&key).copied(), Some(second));
    }

    #[test]
    fn merge_removes_what_it_names(start in map(), keys in btree_set(0..8_u8, 0..4)) {
        let left = fold::<Merge, _>(start.clone(), [MapWrite::remove(keys.clone())]);
        let expected: BTreeMap<u8, u8> = start.into_iter().filter(|(key, _)| !keys.contains(key)).collect();
        prop_assert_eq!(left, expected);
    }

    #[test]
    fn union_of_additions_is_commutative_and_idempotent(start in set(), first in set(), second in set()) {
        let add = |items: &BTreeSet<u8>| SetWrite::Add(items.iter().copied().collect());
        let both = fold::<Union, _>(start.clone(), [add(&first), add(&second)]);
        prop_assert_eq!(&both, &fold::<Union, _>(start.clone(), [add(&second), add(&first)]));
        prop_assert_eq!(&both, &fold::<Union, _>(both.clone(), [add(&first)]));
        let expected: BTreeSet<u8> = start.union(&first).copied().chain(second).collect();
        prop_assert_eq!(both, expected);
    }

    #[test]
    fn union_removes_what_it_names(start in set(), gone in set()) {
        let left = fold::<Union, _>(start.clone(), [SetWrite::remove(gone.clone())]);
        prop_assert_eq!(left, start.difference(&gone).copied().collect::<BTreeSet<u8>>());
    }

    /// Uses integers, because floating-point sums depend on the order.
    #[test]
    fn sums_and_bounds_do_not_depend_on_order(
        start in -1000..1000_i64,
        writes in vec(-1000..1000_i64, 0..8),
        seed: u64,
    ) {
        let mut shuffled = writes.clone();
        if !shuffled.is_empty() {
            let middle = usize::try_from(seed % 8).expect("small") % shuffled.len();
            shuffled.rotate_left(middle);
            shuffled.reverse();
        }
        prop_assert_eq!(fold::<Sum, _>(start, writes.clone()), start + writes.iter().sum::<i64>());
        prop_assert_eq!(fold::<Sum, _>(start, writes.clone()), fold::<Sum, _>(start, shuffled.clone()));
        let max = fold::<Max, _>(start, writes.clone());
        prop_assert_eq!(max, fold::<Max, _>(start, shuffled.clone()));
        prop_assert_eq!(Some(max), writes.iter().copied().chain([start]).max());
        let min = fold::<Min, _>(start, writes.clone());
        prop_assert_eq!(min, fold::<Min, _>(start, shuffled));
        prop_assert_eq!(Some(min), writes.iter().copied().chain([start]).min());
        prop_assert_eq!(fold::<Max, _>(max, writes), max, "bounds are idempotent");
    }

    /// Checks that a value which is not comparable is ignored.
    #[test]
    fn bounds_ignore_nan(start in -10.0..10.0_f64) {
        prop_assert_eq!(fold::<Max, _>(start, [f64::NAN]), start);
        prop_assert_eq!(fold::<Min, _>(start, [f64::NAN]), start);
    }

    /// Compares with a naive model: the ids in order of their first appearance, each with its last text.
    #[test]
    fn a_keyed_log_puts_in_place_and_removes(start in notes(), write in edits()) {
        let log = fold::<KeyedLog, _>(start.clone(), [write.clone()]);
        let mut order: Vec<String> = start.iter().map(|note| note.id.clone()).collect();
        let mut texts: BTreeMap<String, u8> = start.into_iter().map(|note| (note.id, note.text)).collect();
        for edit in write.0 {
            match edit {
                LogEdit::Put(note) => {
                    if texts.insert(note.id.clone(), note.text).is_none() {
                        order.push(note.id);
                    }
                }
                LogEdit::Remove(id) => {
                    texts.remove(&id);
                    order.retain(|held| *held != id);
                }
            }
        }
        let expected: Vec<Note> = order.into_iter().map(|id| Note { text: texts[&id], id }).collect();
        prop_assert_eq!(log, expected);
    }

    /// Compares an index that is kept from write to write with a search from the end. They must agree even for a
    /// list of an older version that contains an id twice, and after the list is replaced or grows without the
    /// index.
    #[test]
    fn an_index_finds_what_a_search_finds(
        start in vec(note(), 0..6),
        writes in vec((edits(), option::of(vec(note(), 0..6)), any::<bool>()), 0..8),
    ) {
        let (mut searched, mut indexed, mut index) = (start.clone(), start, KeyedIndex::new());
        for (write, other, grows) in writes {
            match other {
                Some(other) if grows => [&mut searched, &mut indexed].map(|log| log.extend(other.clone())),
                Some(other) => {
                    index = KeyedIndex::new();
                    [&mut searched, &mut indexed].map(|log| log.clone_from(&other))
                }
                None => [(), ()],
            };
            write.clone().0.into_iter().for_each(|edit| search(&mut searched, edit));
            write.apply(&mut indexed, &mut index);
            prop_assert_eq!(&indexed, &searched);
        }
    }

    #[test]
    fn putting_the_same_notes_again_changes_nothing(start in notes(), put in notes()) {
        let write = || LogWrite(put.iter().cloned().map(LogEdit::Put).collect());
        let once = fold::<KeyedLog, _>(start, [write()]);
        prop_assert_eq!(&once, &fold::<KeyedLog, _>(once.clone(), [write()]));
    }

    #[test]
    fn edits_of_several_writes_can_be_joined(start in notes(), first in edits(), second in edits()) {
        let joined = LogWrite([first.0.clone(), second.0.clone()].concat());
        prop_assert_eq!(fold::<KeyedLog, _>(start.clone(), [first, second]), fold::<KeyedLog, _>(start, [joined]));
    }

    #[test]
    fn a_stored_write_does_what_the_write_did(
        lists: (Vec<u8>, Vec<u8>),
        maps in (map(), map_write()),
        sets in (set(), set_write()),
        logs in (notes(), edits()),
        numbers in (-1000..1000_i64, -1000..1000_i64),
        texts: (String, String),
    ) {
        fn check<R, T>((value, write): (T, R::Write)) -> Result<(), TestCaseError>
        where
            R: Reducer<T>,
            R::Write: Clone + Serialize + DeserializeOwned,
            T: Clone + PartialEq + core::fmt::Debug,
        {
            let read = stored::<R, T>(&write);
            prop_assert_eq!(fold::<R, T>(value.clone(), [write]), fold::<R, T>(value, [read]));
            Ok(())
        }
        check::<Append, _>(lists)?;
        check::<Merge, _>(maps)?;
        check::<Union, _>(sets)?;
        check::<KeyedLog, _>(logs)?;
        check::<Sum, _>(numbers)?;
        check::<Max, _>(numbers)?;
        check::<Min, _>(numbers)?;
        check::<Any, _>(texts)?;
    }

    /// Checks that operations have the same effect for a reader of the file as the writes have for the reducer.
    #[test]
    fn a_reader_folds_operations_to_the_same_value(
        lists: (Vec<u8>, Vec<Vec<u8>>),
        maps in (map(), vec(map_write(), 0..4)),
        sets in (set(), vec(set_write(), 0..4)),
        logs in (notes(), vec(edits(), 0..4)),
        text: (String, Vec<String>),
    ) {
        prop_assert_eq!(read::<Append, _>(&lists.0, &lists.1), fold::<Append, _>(lists.0.clone(), lists.1));
        prop_assert_eq!(read::<Merge, _>(&maps.0, &maps.1), fold::<Merge, _>(maps.0.clone(), maps.1));
        prop_assert_eq!(read::<Union, _>(&sets.0, &sets.1), fold::<Union, _>(sets.0.clone(), sets.1));
        prop_assert_eq!(read::<KeyedLog, _>(&logs.0, &logs.1), fold::<KeyedLog, _>(logs.0.clone(), logs.1));
        prop_assert_eq!(read::<LastValue, _>(&text.0, &text.1), fold::<LastValue, _>(text.0.clone(), text.1.clone()));
        prop_assert_eq!(read::<Ephemeral, _>(&text.0, &text.1), fold::<Ephemeral, _>(text.0.clone(), text.1));
    }
}

#[test]
fn hash_collections_behave_like_ordered_ones() {
    use std::collections::{HashMap, HashSet};

    let map = HashMap::from([(1, 'a'), (2, 'b')]);
    let map: HashMap<u8, char> =
        fold::<Merge, _>(map, [MapWrite::Put([(1, 'z')].into()), MapWrite::remove([2])]);
    assert_eq!(map, HashMap::from([(1, 'z')]));
    let set = fold::<Union, _>(HashSet::from([1, 2]), [SetWrite::Add([3].into()), SetWrite::remove([1])]);
    assert_eq!(set, HashSet::from([2, 3]));
}

#[test]
fn an_operation_of_another_reducer_is_refused() {
    let op = Op::SetAdd(Json::parse("[1]").expect("JSON"));
    let error = <Append as Reducer<Vec<u8>>>::replay(&op).expect_err("a set's operation");
    assert_eq!(error.to_string(), "the field's reducer knows no operation `set_add`");
    assert!(<Sum as Reducer<u8>>::replay(&op).is_err());
    assert!(<Merge as Reducer<BTreeMap<u8, u8>>>::replay(&op).is_err());
    assert!(<KeyedLog as Reducer<Vec<Note>>>::replay(&op).is_err());
}

#[test]
fn reducers_say_how_many_may_write() {
    fn facts<R: Reducer<T>, T>() -> (Writers, Lifetime) {
        (R::WRITERS, R::LIFETIME)
    }
    assert_eq!(facts::<LastValue, u8>(), (Writers::One, Lifetime::Stored));
    assert_eq!(facts::<Any, u8>(), (Writers::Many, Lifetime::Stored));
    assert_eq!(facts::<Append, Vec<u8>>(), (Writers::Many, Lifetime::Stored));
    assert_eq!(facts::<Sum, u8>(), (Writers::Many, Lifetime::Stored));
    assert_eq!(facts::<Ephemeral, u8>(), (Writers::One, Lifetime::OneStep));
    assert_eq!(facts::<Transient, u8>(), (Writers::One, Lifetime::Unstored));
}
