//! States with type parameters.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep::reducer::{Append, Merge, Reducer};
use superstep::state::{FieldId, State, StateUpdate, Update};

use super::after;

/// The struct has no bounds, because the derive adds those that a state needs.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Batch<T> {
    current: Option<T>,
    #[reducer(Append)]
    done: Vec<T>,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Index<K: Ord, V, const N: usize = 4>
where
    V: PartialEq,
{
    #[reducer(Merge)]
    entries: BTreeMap<K, V>,
    #[state(flatten)]
    batch: Batch<V>,
    #[reducer(Latest<N>)]
    latest: Vec<V>,
    #[state(transient)]
    marker: PhantomData<K>,
}

/// Keeps the last `N` items.
struct Latest<const N: usize>;

impl<T: Serialize + DeserializeOwned + Send + 'static, const N: usize> Reducer<Vec<T>> for Latest<N> {
    type Write = T;

    fn reduce(current: &mut Vec<T>, write: T) {
        current.push(write);
        if current.len() > N {
            current.remove(0);
        }
    }
}

#[test]
fn parameters_are_those_of_the_struct() {
    let batch = after(Batch::default(), Batch::<u32>::update().current(1).done([1, 2]));
    assert_eq!(batch, Batch { current: Some(1), done: vec![1, 2] });
    assert_eq!(Batch::<u32>::schema().fields[1].rust_type, "Vec<T>");
    assert_eq!(Batch::<String>::DONE.id(), FieldId(1));
}

#[test]
fn bounds_defaults_and_constants_are_kept() {
    type Pages = Index<String, u32, 2>;
    let update =
        Pages::update().entries([("a", 1)]).batch(Batch::update().done([7])).latest(1).latest(2).latest(3);
    let index = after(Pages::default(), update);
    assert_eq!(index.latest, [2, 3]);
    assert_eq!(index.entries["a"], 1);
    assert_eq!(index.batch.done, [7]);
    assert_eq!(Batch::DONE.within(Pages::BATCH).id(), FieldId(2));
    assert_eq!(Pages::FIELDS, 5);
    assert_eq!(index.clone().overwrite().writes().len(), 5);
    assert_eq!(Index::<u8, u8>::schema().fields[3].reducer, "Latest<N>");
}

fn finish<T>(batch: &Batch<T>) -> Update<Batch<T>>
where
    T: Clone + Debug + Default + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    Batch::update().done(batch.current.iter().cloned().collect::<Vec<T>>()).set_current(None)
}

#[test]
fn generic_code_writes_generic_states() {
    let batch = Batch { current: Some("a".to_owned()), done: Vec::new() };
    let update = finish(&batch);
    assert_eq!(after(batch, update), Batch { current: None, done: vec!["a".to_owned()] });
}
