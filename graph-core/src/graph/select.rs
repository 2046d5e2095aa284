//! The selection of nodes in a compiled graph: by handle, by stored name, or all of them.

use alloc::string::String;
use alloc::vec::Vec;

use super::handle::NodeRef;
use crate::id::NodeName;

/// Every node of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EveryNode;

/// Some nodes of a compiled graph: a handle, a stored name, an array, a vector or a tuple of those, or
/// [`EveryNode`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no nodes",
    note = "give a node's handle, its stored name, an array or a tuple of those, or `EveryNode`"
)]
pub trait SelectNodes {
    /// Adds the selected nodes.
    #[doc(hidden)]
    fn select(self, into: &mut Vec<Selected>);
}

/// A node as selected by the user.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// By its handle.
    Handle {
        /// The graph's number.
        graph: u32,
        /// The node's position.
        node: u32,
    },
    /// By its stored name.
    Named(NodeName),
    /// All of them.
    Every,
}

impl SelectNodes for EveryNode {
    fn select(self, into: &mut Vec<Selected>) {
        into.push(Selected::Every);
    }
}

impl<In, Out> SelectNodes for NodeRef<In, Out> {
    fn select(self, into: &mut Vec<Selected>) {
        into.push(Selected::Handle { graph: self.graph, node: self.node });
    }
}

impl SelectNodes for NodeName {
    fn select(self, into: &mut Vec<Selected>) {
        into.push(Selected::Named(self));
    }
}

impl SelectNodes for &str {
    fn select(self, into: &mut Vec<Selected>) {
        into.push(Selected::Named(self.into()));
    }
}

impl SelectNodes for String {
    fn select(self, into: &mut Vec<Selected>) {
        into.push(Selected::Named(self.into()));
    }
}

impl<T: SelectNodes, const N: usize> SelectNodes for [T; N] {
    fn select(self, into: &mut Vec<Selected>) {
        self.into_iter().for_each(|node| node.select(into));
    }
}

impl<T: SelectNodes> SelectNodes for Vec<T> {
    fn select(self, into: &mut Vec<Selected>) {
        self.into_iter().for_each(|node| node.select(into));
    }
}

macro_rules! select_tuple {
    ($($name:ident $index:tt),*) => {
        impl<$($name: SelectNodes),*> SelectNodes for ($($name,)*) {
            fn select(self, into: &mut Vec<Selected>) {
                $(self.$index.select(into);)*
            }
        }
    };
}

select_tuple!(A 0, B 1);
select_tuple!(A 0, B 1, C 2);
select_tuple!(A 0, B 1, C 2, D 3);
