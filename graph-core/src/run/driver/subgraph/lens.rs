//! The mapping between the state of a graph and the state of its subgraph.

use std::boxed::Box;
use std::fmt;
use std::marker::PhantomData;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::graph::{ExitType, Exited};
use crate::node::{Item, NoInput, NodeDescription, Takes};
use crate::route::Route;
use crate::state::{
    CodecError, Field, FieldId, FieldWrite, IntoWrite, LoggedWrite, State, StateUpdate, Update,
};

/// The mapping from the state `P` of a graph to the state `S` of its subgraph, and back.
///
/// A subgraph sees only the fields that its lens gives, and changes only those that its lens takes or shares. An
/// empty lens neither gives nor takes anything.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use serde::{Deserialize, Serialize};
/// use superstep::reducer::Append;
/// use superstep::run::Lens;
/// use superstep::state::State;
///
/// #[derive(State, Clone, Default, Serialize, Deserialize)]
/// struct Essay {
///     topic: String,
///     #[reducer(Append)]
///     facts: Vec<String>,
///     summary: String,
/// }
///
/// #[derive(State, Clone, Default, Serialize, Deserialize)]
/// struct Search {
///     query: String,
///     #[reducer(Append)]
///     facts: Vec<String>,
///     verdict: String,
/// }
///
/// let lens = Lens::new()
///     .give(Essay::TOPIC, Search::QUERY)
///     .share(Essay::FACTS, Search::FACTS)
///     .take(Search::VERDICT, Essay::SUMMARY);
/// # let essay = Essay { topic: "Rust".into(), facts: vec!["old".into()], summary: String::new() };
/// # let _ = (&essay.topic, &essay.facts, &essay.summary);
/// # let search = Search { query: String::new(), facts: vec![], verdict: String::new() };
/// # let _ = (&search.query, &search.facts, &search.verdict, lens);
/// ```
pub struct Lens<P: State, S: State, In = NoInput, Out = ()> {
    enter: Vec<Enter<P, S>>,
    leave: Vec<Leave<P, S>>,
    /// The shared fields: the subgraph's field, and the field that its writes go to.
    pub(in crate::run) shared: Vec<(FieldId, FieldId)>,
    /// The given fields, whose values are copied into the subgraph: the outer field, and the subgraph's.
    pub(in crate::run) given: Vec<(FieldId, FieldId)>,
    /// The taken fields, whose values are copied out of the subgraph: the subgraph's field, and the outer one.
    pub(in crate::run) taken: Vec<(FieldId, FieldId)>,
    /// The key under which the subgraph's state is kept between runs of its node.
    keep: Option<KeyOf<P>>,
    pub(super) describe: fn(&mut NodeDescription),
    /// Converts the item with which the subgraph took its exit into the decision of its node.
    pub(super) decide: fn(Option<&Item>) -> Out,
    /// The expected decision type of the subgraph's exit.
    pub(in crate::run) exit: Option<ExitType>,
    input: PhantomData<fn(In)>,
}

/// Computes the input of the subgraph from the surrounding state and the task's item.
type Enter<P, S> = Box<dyn Fn(&P, Option<&Item>) -> Update<S> + Send + Sync>;

/// Computes a key from the surrounding state and the task's item.
type KeyOf<P> = Box<dyn Fn(&P, Option<&Item>) -> String + Send + Sync>;

/// Computes the node's update from the subgraph's final state and the writes to its shared fields.
type Leave<P, S> = Box<dyn Fn(&S, &[LoggedWrite]) -> Result<Update<P>, CodecError> + Send + Sync>;

impl<P: State, S: State> Lens<P, S> {
    /// Creates an empty lens.
    #[must_use]
    pub fn new() -> Self {
        Self {
            enter: Vec::new(),
            leave: Vec::new(),
            shared: Vec::new(),
            given: Vec::new(),
            taken: Vec::new(),
            keep: None,
            describe: |_| {},
            decide: |_| (),
            exit: None,
            input: PhantomData,
        }
    }
}

impl<P: State, S: State, Out> Lens<P, S, NoInput, Out> {
    /// Makes the subgraph's node a target of `each`: every item starts a subgraph of its own, with `begin(item)` as
    /// a part of its input.
    pub fn item<T>(self, begin: impl Fn(&T) -> Update<S> + Send + Sync + 'static) -> Lens<P, S, Takes<T>, Out>
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let Self { mut enter, leave, shared, given, taken, keep, decide, exit, .. } = self;
        enter.push(Box::new(move |_, item| {
            let item = item.expect("a node that takes an item is led to by `each`");
            begin(&item.value::<T>())
        }));
        let describe = NodeDescription::takes::<T>;
        Lens { enter, leave, shared, given, taken, keep, describe, decide, exit, input: PhantomData }
    }
}

impl<P: State, S: State, In> Lens<P, S, In> {
    /// Declares that the subgraph may take an exit with an `R`. Its node then decides with an [`Exited<R>`], which
    /// is routed like any other decision.
    pub fn exits<R: Route + Clone + Sync>(self) -> Lens<P, S, In, Exited<R>> {
        let Self { enter, leave, shared, given, taken, keep, describe, .. } = self;
        let decide = |item: Option<&Item>| match item {
            Some(item) => Exited::With((*item.value::<R>()).clone()),
            None => Exited::Finished,
        };
        let exit = Some(ExitType::of::<R>());
        Lens { enter, leave, shared, given, taken, keep, describe, decide, exit, input: PhantomData }
    }
}

impl<P: State, S: State, T: Send + Sync + 'static, Out> Lens<P, S, Takes<T>, Out> {
    /// Works like [`keep`](Self::keep), with a key that depends on the item.
    #[must_use]
    pub fn keep_by_item(mut self, key: impl Fn(&T) -> String + Send + Sync + 'static) -> Self {
        self.keep = Some(Box::new(move |_, item| {
            let item = item.expect("a node that takes an item is led to by `each`");
            key(&item.value::<T>())
        }));
        self
    }
}

impl<P: State, S: State, In, Out> Lens<P, S, In, Out> {
    /// Gives the subgraph the value of a field. The subgraph's field must be secret if the outer one is;
    /// `compile()` checks this.
    #[must_use]
    pub fn give<T, V, W>(mut self, outer: Field<P, T, V>, inner: Field<S, T, W>) -> Self
    where
        T: Clone + 'static,
        V: 'static,
        W: 'static,
    {
        self.given.push((outer.id(), inner.id()));
        self.give_with(move |state| inner.set(outer.get(state).clone()))
    }

    /// Gives the subgraph the update that `begin` returns for the surrounding state. It is not checked for secrets.
    #[must_use]
    pub fn give_with(mut self, begin: impl Fn(&P) -> Update<S> + Send + Sync + 'static) -> Self {
        self.enter.push(Box::new(move |state, _| begin(state)));
        self
    }

    /// Takes the final value of a field of the subgraph, and writes it through the reducer of an outer field. The
    /// outer field must be secret if the subgraph's is; `compile()` checks this.
    #[must_use]
    pub fn take<T, V, U, W>(mut self, inner: Field<S, T, V>, outer: Field<P, U, W>) -> Self
    where
        T: Clone + IntoWrite<W> + 'static,
        V: 'static,
        U: 'static,
        W: 'static,
    {
        self.taken.push((inner.id(), outer.id()));
        self.take_with(move |state| outer.write(inner.get(state).clone().into_write()))
    }

    /// Takes the update that `end` returns for the subgraph's final state. It is not checked for secrets.
    #[must_use]
    pub fn take_with(mut self, end: impl Fn(&S) -> Update<P> + Send + Sync + 'static) -> Self {
        self.leave.push(Box::new(move |state, _| Ok(end(state))));
        self
    }

    /// Shares a field: the subgraph begins with its value, and writes of the subgraph's nodes are also writes to
    /// the outer field. Nothing is duplicated: if a list had three items and the subgraph added one, one item is
    /// returned.
    ///
    /// Both fields must have the same reducer, and either both or neither must be secret; `compile()` checks this.
    #[must_use]
    pub fn share<T, W>(mut self, outer: Field<P, T, W>, inner: Field<S, T, W>) -> Self
    where
        T: Clone + 'static,
        W: 'static,
    {
        let (to, from) = (outer.id(), inner.id());
        self.shared.push((from, to));
        self.taken.push((from, to));
        self.leave.push(Box::new(move |_, writes| {
            let own = writes.iter().filter(|write| write.field == from);
            let own = own.map(|write| P::Write::decode(&LoggedWrite { field: to, ..write.clone() }));
            own.collect::<Result<_, _>>().map(StateUpdate::from_writes)
        }));
        self.give(outer, inner)
    }

    /// Keeps the subgraph's state from one run of its node to the next, under this key. By default every run begins
    /// with a new state.
    ///
    /// The kept state belongs to the branch: a fork continues with the state as of its first checkpoint. Keeping a
    /// state requires a checkpointer. Several nodes may share one state, one at a time.
    #[must_use]
    pub fn keep(self, key: impl Into<String>) -> Self {
        let key = key.into();
        self.keep_by(move |_| key.clone())
    }

    /// Works like [`keep`](Self::keep), with a key that depends on the surrounding state, for example one
    /// conversation per customer.
    #[must_use]
    pub fn keep_by(mut self, key: impl Fn(&P) -> String + Send + Sync + 'static) -> Self {
        self.keep = Some(Box::new(move |state, _| key(state)));
        self
    }

    pub(super) fn key(&self, state: &P, item: Option<&Item>) -> Option<String> {
        self.keep.as_ref().map(|key| key(state, item))
    }

    pub(super) fn enter(&self, state: &P, item: Option<&Item>) -> Update<S> {
        let writes = self.enter.iter().flat_map(|enter| enter(state, item).into_writes());
        StateUpdate::from_writes(writes.collect())
    }

    pub(super) fn leave(&self, state: &S, writes: &[LoggedWrite]) -> Result<Update<P>, CodecError> {
        let mut all = Vec::new();
        for leave in &self.leave {
            all.extend(leave(state, writes)?.into_writes());
        }
        Ok(StateUpdate::from_writes(all))
    }
}

impl<P: State, S: State> Default for Lens<P, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: State, S: State, In, Out> fmt::Debug for Lens<P, S, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lens").field("shared", &self.shared).finish_non_exhaustive()
    }
}
