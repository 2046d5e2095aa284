//! Values are the fold of their operations along the parents, for any order of writing and branching.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::Commit;
use superstep_core::state::{Change, FieldId, Json, Op};

use crate::material::*;

/// A step of a random history: which earlier checkpoint it continues, and what it does to which field.
type Step = (usize, Vec<(u8, Vec<u8>)>);

/// A simple model of the four fields: a list, a map, a set and a keyed list.
#[derive(Clone, Default)]
struct Naive {
    list: Option<Vec<u8>>,
    map: Option<BTreeMap<String, u8>>,
    set: Option<Vec<u8>>,
    keyed: Option<Vec<Item>>,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Debug)]
struct Item {
    id: String,
    n: u8,
}

impl Naive {
    /// Applies the operation given by `kind` and `items`; returns it as a change.
    fn apply(&mut self, kind: u8, items: &[u8]) -> Change {
        let encode = |value: &dyn erased::Encode| value.json();
        let text = |item: &u8| (item % 8).to_string();
        let (field, op) = match kind % 9 {
            0 => {
                self.list = Some(items.to_vec());
                (0, Op::Set(encode(&items.to_vec())))
            }
            1 | 2 => {
                self.list.get_or_insert_default().extend(items);
                (0, Op::Extend(encode(&items.to_vec())))
            }
            3 => {
                let entries: BTreeMap<_, _> = items.iter().map(|item| (text(item), *item)).collect();
                self.map.get_or_insert_default().extend(entries.clone());
                (1, Op::MapPut(encode(&entries)))
            }
            4 => {
                let gone: BTreeMap<_, _> = items.iter().map(|item| (text(item), ())).collect();
                self.map.get_or_insert_default().retain(|key, _| !gone.contains_key(key));
                (1, Op::MapRemove(encode(&gone)))
            }
            5 => {
                let set = self.set.get_or_insert_default();
                for item in items {
                    if !set.contains(item) {
                        set.push(*item);
                    }
                }
                (2, Op::SetAdd(encode(&items.to_vec())))
            }
            6 => {
                self.set.get_or_insert_default().retain(|item| !items.contains(item));
                (2, Op::SetRemove(encode(&items.to_vec())))
            }
            7 => {
                let all: Vec<_> = items.iter().map(|n| Item { id: text(n), n: *n }).collect();
                let mut rows = Vec::new();
                for item in all {
                    let list = self.keyed.get_or_insert_default();
                    match list.iter_mut().find(|held| held.id == item.id) {
                        Some(held) => *held = item.clone(),
                        None => list.push(item.clone()),
                    }
                    rows.push(BTreeMap::from([("id", encode(&item.id)), ("item", encode(&item))]));
                }
                self.keyed.get_or_insert_default();
                (3, Op::Keyed(encode(&rows)))
            }
            _ => {
                let ids: Vec<_> = items.iter().map(text).collect();
                self.keyed.get_or_insert_default().retain(|held| !ids.contains(&held.id));
                let rows: Vec<_> = ids.iter().map(|id| BTreeMap::from([("id", id)])).collect();
                (3, Op::Keyed(encode(&rows)))
            }
        };
        Change { field: FieldId(field), ops: vec![op] }
    }

    fn values(&self) -> Vec<(u16, String)> {
        let texts = [
            self.list.as_ref().map(|value| Json::encode(value).unwrap()),
            self.map.as_ref().map(|value| Json::encode(value).unwrap()),
            self.set.as_ref().map(|value| Json::encode(value).unwrap()),
            self.keyed.as_ref().map(|value| Json::encode(value).unwrap()),
        ];
        let values = texts.into_iter().zip(0..);
        values.filter_map(|(text, field)| Some((field, text?.as_str().to_owned()))).collect()
    }
}

mod erased {
    use superstep_core::state::Json;

    pub(super) trait Encode {
        fn json(&self) -> Json;
    }

    impl<T: serde::Serialize> Encode for T {
        fn json(&self) -> Json {
            Json::encode(self).unwrap()
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let items = prop::collection::vec(any::<u8>(), 0..4);
    let change = (0_u8..9, items);
    prop::collection::vec((0_usize..1000, prop::collection::vec(change, 0..4)), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_checkpoint_of_every_branch_reads_as_if_folded_naively(steps in steps()) {
        on_every_saver(|saver| {
            let steps = steps.clone();
            async move {
                let mut all = Vec::new();
                let mut last = None;
                for (at, changes) in steps {
                    // Mostly from the newest checkpoint, sometimes from anywhere.
                    let from = if at % 3 == 0 { at % (all.len() + 1) } else { all.len() };
                    let (parent, mut naive) = match from.checked_sub(1).and_then(|from| all.get(from)) {
                        Some((checkpoint, naive)) => (Some(checkpoint), Naive::clone(naive)),
                        None => (None, Naive::default()),
                    };
                    let mut merged: Vec<Change> = Vec::new();
                    for (kind, items) in changes {
                        let change = naive.apply(kind, &items);
                        match merged.iter_mut().find(|held| held.field == change.field) {
                            Some(held) if change.ops[0].is_whole() => held.ops = change.ops,
                            Some(held) => held.ops.extend(change.ops),
                            None => merged.push(change),
                        }
                    }
                    let next = step(parent, merged);
                    let commit = Commit { expected: last, ..commit_of("t", &next) };
                    saver.commit(commit).await.unwrap();
                    last = Some(next.id);
                    all.push((next, naive));
                }
                for (checkpoint, naive) in &all {
                    let loaded = at(&saver, "t", checkpoint.id).await;
                    assert_eq!(&loaded.checkpoint, checkpoint);
                    assert_eq!(values(&loaded), naive.values());
                }
            }
        });
    }
}
