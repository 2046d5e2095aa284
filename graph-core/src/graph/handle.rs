//! Handles to nodes, and the targets that routes lead to.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;

use super::topology::NodeId;
use crate::error::BoxError;
use crate::node::{Item, NoInput, Takes};

/// A handle to a node of a graph under construction. It is `Copy`, and its type contains the node's input and
/// decision.
pub struct NodeRef<In, Out> {
    pub(crate) graph: u32,
    pub(crate) node: u32,
    marker: PhantomData<fn(In) -> Out>,
}

impl<In, Out> NodeRef<In, Out> {
    pub(crate) const fn new(graph: u32, node: u32) -> Self {
        Self { graph, node, marker: PhantomData }
    }
}

impl<In, Out> Clone for NodeRef<In, Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<In, Out> Copy for NodeRef<In, Out> {}

impl<In, Out> fmt::Debug for NodeRef<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({})", self.node)
    }
}

/// The input type of [`START`], to which nothing leads.
#[derive(Clone, Copy, Debug)]
pub enum Nothing {}

/// The start of a run, and the source of the first edges.
pub const START: NodeRef<Nothing, ()> = NodeRef::new(ANY_GRAPH, START_INDEX);

/// The end of a run, a target of edges and routes.
pub const END: Targets = Targets(List::None);

/// The graph number of handles that belong to every graph.
pub(crate) const ANY_GRAPH: u32 = 0;
pub(crate) const START_INDEX: u32 = 0;
pub(crate) const END_INDEX: u32 = 1;

/// A node that makes no decision, and may therefore have plain edges and joins.
#[diagnostic::on_unimplemented(
    message = "this node decides where to go by returning `{Self}`, so a plain edge may not leave it",
    label = "this node returns a route",
    note = "wire it with `graph.route(node, |route| match route {{ .. }})`"
)]
pub trait Unrouted {}

impl Unrouted for () {}

/// A node without an input, to which edges, joins and `to` may lead.
#[diagnostic::on_unimplemented(
    message = "this node takes an `Input`, so it cannot be reached without one",
    label = "this node `{Self}`",
    note = "start one task per item with `each(node, items)` inside `graph.route(..)`"
)]
pub trait TakesNothing {}

impl TakesNothing for NoInput {}

/// The targets of a route: [`END`], [`to`] a node, [`each`] of some items, or several of these with
/// [`and`](Self::and).
#[must_use = "targets do nothing until a route returns them"]
pub struct Targets(pub(crate) List);

pub(crate) enum List {
    None,
    One(Target),
    Many(Vec<Target>),
    /// These targets instead of the node's edges and joins.
    Instead(Vec<Target>),
}

#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) graph: u32,
    pub(crate) node: u32,
    /// The items of `each`; `None` for `to`.
    pub(crate) items: Option<Vec<Item>>,
}

/// Leads to `node`.
pub const fn to<In: TakesNothing, Out>(node: NodeRef<In, Out>) -> Targets {
    Targets(List::One(Target { graph: node.graph, node: node.node, items: None }))
}

/// Leads to one task of `node` per item; they run in parallel, and their writes merge in item order.
pub fn each<T, Out>(node: NodeRef<Takes<T>, Out>, items: impl IntoIterator<Item = T>) -> Targets
where
    T: Serialize + Send + Sync + 'static,
{
    let items = items.into_iter().map(Item::new).collect();
    Targets(List::One(Target { graph: node.graph, node: node.node, items: Some(items) }))
}

/// Leads to a node that was looked up by its stored name.
pub(crate) fn to_node(graph: u32, node: NodeId) -> Targets {
    Targets(List::One(Target { graph, node: node.0, items: None }))
}

/// Leads to one task of a node, with an item that was decoded from storage.
pub(crate) fn each_item(graph: u32, node: NodeId, item: Item) -> Targets {
    Targets(List::One(Target { graph, node: node.0, items: Some(vec![item]) }))
}

impl Targets {
    /// Adds the targets of `other`.
    pub fn and(self, other: Self) -> Self {
        let mut all = self.into_vec();
        all.extend(other.into_vec());
        Self(List::Many(all))
    }

    pub(crate) fn as_slice(&self) -> &[Target] {
        match &self.0 {
            List::None => &[],
            List::One(target) => core::slice::from_ref(target),
            List::Many(targets) | List::Instead(targets) => targets,
        }
    }

    /// Replaces the node's own edges and joins.
    pub(crate) fn instead(self) -> Self {
        Self(List::Instead(self.into_vec()))
    }

    /// Returns `true` if the node's own edges and joins are replaced.
    pub(crate) fn is_instead(&self) -> bool {
        matches!(self.0, List::Instead(_))
    }

    pub(crate) fn for_each(self, mut visit: impl FnMut(Target)) {
        match self.0 {
            List::None => {}
            List::One(target) => visit(target),
            List::Many(targets) | List::Instead(targets) => targets.into_iter().for_each(visit),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Target> {
        match self.0 {
            List::None => Vec::new(),
            List::One(target) => vec![target],
            List::Many(targets) | List::Instead(targets) => targets,
        }
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |target: &Target| (target.node, target.items.as_ref().map(Vec::len));
        match &self.0 {
            List::None => f.write_str("END"),
            List::One(target) => f.debug_tuple("Targets").field(&one(target)).finish(),
            List::Many(targets) | List::Instead(targets) => {
                f.debug_list().entries(targets.iter().map(one)).finish()
            }
        }
    }
}

/// The return type of a route's map: [`Targets`], or a `Result` of them.
#[diagnostic::on_unimplemented(
    message = "a route leads to `Targets`, not to `{Self}`",
    note = "return `to(node)`, `each(node, items)`, `END`, or a `Result` of those"
)]
pub trait IntoTargets {
    /// Returns the targets.
    ///
    /// # Errors
    /// Returns the error of the map.
    fn into_targets(self) -> Result<Targets, BoxError>;
}

impl IntoTargets for Targets {
    fn into_targets(self) -> Result<Targets, BoxError> {
        Ok(self)
    }
}

impl<E: Into<BoxError>> IntoTargets for Result<Targets, E> {
    fn into_targets(self) -> Result<Targets, BoxError> {
        self.map_err(Into::into)
    }
}

/// The target of a plain edge: a node without an input, or [`END`].
#[diagnostic::on_unimplemented(
    message = "a plain edge cannot lead to `{Self}`",
    label = "not a node without input, nor `END`",
    note = "a node that takes `Input<T>` is reached with `each(node, items)` inside `graph.route(..)`"
)]
pub trait EdgeTarget {
    /// Returns the targets.
    #[doc(hidden)]
    fn edge_targets(self) -> Targets;
}

impl<In: TakesNothing, Out> EdgeTarget for NodeRef<In, Out> {
    fn edge_targets(self) -> Targets {
        to(self)
    }
}

impl EdgeTarget for Targets {
    fn edge_targets(self) -> Targets {
        self
    }
}

/// The sources of a join: an array or a tuple of at least two nodes that make no decision.
#[diagnostic::on_unimplemented(
    message = "a join waits for an array or a tuple of nodes, not for `{Self}`",
    note = "write `graph.join([a, b], c)`, or `graph.join((a, b), c)` when their handles differ in type"
)]
pub trait JoinSources {
    /// Returns the graph and index of each source.
    #[doc(hidden)]
    fn into_sources(self) -> Vec<(u32, u32)>;
}

impl<In, Out: Unrouted, const N: usize> JoinSources for [NodeRef<In, Out>; N] {
    fn into_sources(self) -> Vec<(u32, u32)> {
        self.iter().map(|node| (node.graph, node.node)).collect()
    }
}

impl<In, Out: Unrouted> JoinSources for Vec<NodeRef<In, Out>> {
    fn into_sources(self) -> Vec<(u32, u32)> {
        self.iter().map(|node| (node.graph, node.node)).collect()
    }
}

macro_rules! join_sources {
    ($($input:ident $output:ident $index:tt),*) => {
        impl<$($input, $output: Unrouted),*> JoinSources for ($(NodeRef<$input, $output>,)*) {
            fn into_sources(self) -> Vec<(u32, u32)> {
                vec![$((self.$index.graph, self.$index.node)),*]
            }
        }
    };
}

join_sources!(A B 0, D E 1);
join_sources!(A B 0, D E 1, F G 2);
join_sources!(A B 0, D E 1, F G 2, H I 3);
join_sources!(A B 0, D E 1, F G 2, H I 3, J K 4);
join_sources!(A B 0, D E 1, F G 2, H I 3, J K 4, L M 5);
join_sources!(A B 0, D E 1, F G 2, H I 3, J K 4, L M 5, N O 6);
join_sources!(A B 0, D E 1, F G 2, H I 3, J K 4, L M 5, N O 6, P Q 7);
