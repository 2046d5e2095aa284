//! The types that a node may return.

use core::convert::Infallible;

use crate::error::NodeError;
use crate::route::Route;
use crate::state::State;

/// A node's result, split into its writes and its decision.
pub struct Output<S: State, R> {
    /// The writes; `None` when there are none.
    pub update: Option<S::Update>,
    /// The decision; `()` for a node that makes none.
    pub route: R,
}

impl<S: State> Output<S, ()> {
    /// Creates the result of a node that only writes.
    pub fn updated(update: S::Update) -> Self {
        Self { update: Some(update), route: () }
    }
}

impl<S: State, R> Output<S, R> {
    /// Creates the result of a node that only decides.
    pub fn routed(route: R) -> Self {
        Self { update: None, route }
    }
}

/// A type that a node over `S` may return: `()`, `Update<S>`, a route, `(Update<S>, route)`, or a `Result` of one
/// of these.
#[diagnostic::on_unimplemented(
    message = "a node over `{S}` cannot return `{Self}`",
    label = "not something a node returns",
    note = "return `()`, `Update<{S}>`, a `#[derive(Route)]` enum, `(Update<{S}>, Route)`, or a `Result` of those"
)]
pub trait IntoOutcome<S: State>: Send + 'static {
    /// The node's decision: a [`Route`], or `()` when it makes none.
    type Route: Send + 'static;

    /// Splits the result into its parts.
    ///
    /// # Errors
    /// Returns the error of the node.
    fn into_outcome(self) -> Result<Output<S, Self::Route>, NodeError>;
}

/// The result of a prebuilt node, which does not know the state's own update type.
impl<S: State, R: Send + 'static> IntoOutcome<S> for Output<S, R> {
    type Route = R;

    fn into_outcome(self) -> Result<Self, NodeError> {
        Ok(self)
    }
}

impl<S: State> IntoOutcome<S> for () {
    type Route = ();

    fn into_outcome(self) -> Result<Output<S, ()>, NodeError> {
        Ok(Output::routed(()))
    }
}

impl<S: State> IntoOutcome<S> for Infallible {
    type Route = ();

    fn into_outcome(self) -> Result<Output<S, ()>, NodeError> {
        match self {}
    }
}

/// An error that a node may return: any type that `?` converts into a [`NodeError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a node",
    label = "not an error that is `Send + Sync + 'static`",
    note = "return your own error type, a `NodeError`, or a `Box<dyn Error + Send + Sync>`"
)]
pub trait FailsWith: Into<NodeError> + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<E: Into<NodeError> + Send + 'static> FailsWith for E {}

impl<S, T, E> IntoOutcome<S> for Result<T, E>
where
    S: State,
    T: IntoOutcome<S>,
    E: FailsWith,
{
    type Route = T::Route;

    fn into_outcome(self) -> Result<Output<S, T::Route>, NodeError> {
        self.map_err(Into::into)?.into_outcome()
    }
}

impl<S, U, R> IntoOutcome<S> for (U, R)
where
    S: State<Update = U>,
    U: IntoOutcome<S, Route = ()>,
    R: Route,
{
    type Route = R;

    fn into_outcome(self) -> Result<Output<S, R>, NodeError> {
        Ok(Output { update: Some(self.0), route: self.1 })
    }
}
