//! Error handlers, which continue a task after its node has failed and no retry is left.

use alloc::vec::Vec;

use super::builder::StateGraph;
use super::check::Problem;
use super::handle::IntoTargets;
use super::policy::PolicyOf;
use super::program::{Handler, Router};
use super::topology::{CaseTargets, Decision};
use crate::node::{CalledAs, IntoNode, NoInput, NodeDescription, Takes};
use crate::route::Route;
use crate::state::State;

/// The item of `each` that an error handler may take: none, or the item of its node.
#[diagnostic::on_unimplemented(
    message = "the error handler takes another input than its node",
    note = "a handler takes the `Input` of its node, or none"
)]
pub trait FitsInput<Node> {}

impl<Node> FitsInput<Node> for NoInput {}

impl<T> FitsInput<Takes<T>> for Takes<T> {}

impl<S: State, C: Send + Sync + 'static, In, Out> PolicyOf<'_, S, C, In, Out> {
    /// Sets the node's error handler: an ordinary node function that continues the task after the node has failed
    /// and no retry is left.
    ///
    /// The handler runs in the same superstep and sees the same snapshot. It may take
    /// [`Failed`](crate::node::Failed) for the error, and the node's `Input`. Its writes and its decision replace
    /// those of the node. After that the error is handled, and the run continues. If the handler fails, the run
    /// fails with the handler's error, and a resume runs the handler again instead of the node.
    ///
    /// A handler may ask questions and run effects, which are separate from the node's. It has no retries and no
    /// timeout. It is not called for a failed route: the node itself has finished, and a resume only repeats the
    /// route.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::node::Failed;
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default)] struct Page { text: String }
    /// async fn fetch() -> Result<Update<Page>, std::io::Error> {
    ///     Err(std::io::Error::other("no connection"))
    /// }
    ///
    /// async fn apologise(failed: Failed) -> Update<Page> {
    ///     Page::update().text(format!("{} failed: {}", failed.node(), failed.error()))
    /// }
    ///
    /// let mut g = StateGraph::<Page>::new("page");
    /// let fetch = g.node("fetch", fetch);
    /// g.policy(fetch).on_error(apologise);
    /// # g.edge(START, fetch);
    /// # g.edge(fetch, END);
    /// ```
    pub fn on_error<Signature, H>(self, handler: H) -> Self
    where
        H: CalledAs<S, C, Signature> + IntoNode<S, C, Signature, Route = Out>,
        H::Input: FitsInput<In>,
    {
        let (description, code) = handler.into_code();
        self.handler(Handler { code, description, router: None })
    }

    /// Works like [`on_error`](Self::on_error), with a handler that decides where to go with its own route. The
    /// route replaces all of the node's targets for this task: its edges, joins, route and branches.
    pub fn on_error_route<Signature, H, R, T>(
        self,
        handler: H,
        map: impl Fn(R) -> T + Send + Sync + 'static,
    ) -> Self
    where
        H: CalledAs<S, C, Signature> + IntoNode<S, C, Signature, Route = R>,
        H::Input: FitsInput<In>,
        R: Route,
        T: IntoTargets,
    {
        let (description, code) = handler.into_code();
        let router = Router::new(map);
        let node = self.node;
        let cases = self.graph.router_cases::<R>(node, &router);
        self.graph.decide_on_error(node, cases);
        self.handler(Handler { code, description, router: Some(router) })
    }

    fn handler(self, handler: Handler) -> Self {
        self.graph.program(self.node).handler = Some(handler);
        self
    }
}

/// The handler of all nodes without one of their own.
pub(super) struct DefaultHandler {
    handler: Handler,
    /// The targets of its own route.
    cases: Option<Vec<CaseTargets>>,
}

impl<S: State, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Sets the error handler of all nodes without one of their own: see [`PolicyOf::on_error`].
    ///
    /// The handler makes no decision, so nodes that do need a handler of their own, or
    /// [`on_error_route`](Self::on_error_route). `compile()` names such nodes.
    pub fn on_error<Signature, H>(&mut self, handler: H)
    where
        H: CalledAs<S, C, Signature> + IntoNode<S, C, Signature, Input = NoInput, Route = ()>,
    {
        let (description, code) = handler.into_code();
        let handler = Handler { code, description, router: None };
        self.default_handler = Some(DefaultHandler { handler, cases: None });
    }

    /// Sets an error handler that decides where to go, for all nodes without a handler of their own: see
    /// [`PolicyOf::on_error_route`].
    pub fn on_error_route<Signature, H, R, T>(
        &mut self,
        handler: H,
        map: impl Fn(R) -> T + Send + Sync + 'static,
    ) where
        H: CalledAs<S, C, Signature> + IntoNode<S, C, Signature, Input = NoInput, Route = R>,
        R: Route,
        T: IntoTargets,
    {
        let (description, code) = handler.into_code();
        let router = Router::new(map);
        let cases = self.router_cases::<R>(super::handle::START_INDEX, &router);
        let handler = Handler { code, description, router: Some(router) };
        self.default_handler = Some(DefaultHandler { handler, cases: Some(cases) });
    }

    pub(super) fn decide_on_error(&mut self, node: u32, cases: Vec<CaseTargets>) {
        let decisions = self.decisions(node);
        decisions.retain(|decision| !decision.on_error);
        decisions.push(Decision { cases, may_reach: Vec::new(), on_error: true });
    }

    /// Assigns the default handler to the nodes without one, and checks the inputs of handlers.
    pub(super) fn settle_handlers(&mut self) {
        let default = self.default_handler.take();
        for node in self.user_nodes() {
            let name = self.name_of(node);
            let decides = self.decides(node);
            if self.program(node).description.takes_failure {
                self.problem(Problem::FailedOutsideHandler { node: name.clone() });
            }
            if let (None, Some(default)) = (&self.program(node).handler, &default) {
                match &default.cases {
                    Some(cases) => self.decide_on_error(node, cases.clone()),
                    None if decides => self.problem(Problem::UnroutedError { node: name }),
                    None => {}
                }
                self.program(node).handler = Some(default.handler.clone());
            }
            let program = self.program(node);
            let handler = program.handler.as_ref().map(|handler| &handler.description);
            if handler.into_iter().chain([&program.description]).any(NodeDescription::blocks_for_ever) {
                let node = self.name_of(node);
                self.problem(Problem::BlockingWaits { node });
            }
        }
    }
}
