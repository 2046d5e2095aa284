//! An attempt of a task: polls the node's future together with everything that may end it.

use std::boxed::Box;
use std::mem::replace;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec::Vec;

use tokio::time::Sleep;

use super::basis::Basis;
use super::cached;
use super::timers::Timers;
use crate::caught::{caught, dropped};
use crate::checkpoint::{AskRecord, FailureRecord, Handled};
use crate::error::{EffectError, NodeError, NodeErrorKind, Timeout};
use crate::graph::{END, NodeId, NodeProgram, Program, Target, Targets};
use crate::node::{Done, ErasedTask, Running, TaskCell};
use crate::run::runtime::current_state::CurrentState;
use crate::state::{CodecError, ErasedState};

/// An attempt of a task. It works like a future, but borrows shared data at each poll.
pub(crate) struct Attempt {
    node: NodeId,
    /// `true` if the task's writes are stored or observed.
    logged: bool,
    /// The state that the node's branches decide on.
    basis: Basis,
    /// The node's failure, if its error handler runs the task.
    failure: Option<Arc<FailureRecord>>,
    wait: Option<Pin<Box<Sleep>>>,
    timers: Option<Box<Timers>>,
    phase: Phase,
}

enum Phase {
    /// The attempt has not begun, for example while a retry waits.
    Ready(Option<ErasedTask>),
    Running(Running),
    /// A subgraph whose time is over collects the results of its tasks.
    Stopping(Running, Option<Timeout>),
    /// The node finished in an earlier attempt, and only the routing is left.
    Routing(Option<Box<Done>>),
}

/// The result of an attempt.
pub(crate) enum End {
    /// The node finished, with its targets or the error of the routing.
    Finished { done: Done, targets: Result<Targets, Box<NodeError>> },
    /// The node waits for answers.
    Paused(Vec<AskRecord>),
    /// The attempt failed.
    Failed(NodeError),
}

impl Attempt {
    /// Creates an attempt that runs the node, or its error handler.
    pub(crate) fn run(
        program: &Program,
        node: NodeId,
        task: ErasedTask,
        basis: Basis,
        logged: bool,
        after: Duration,
    ) -> Self {
        Self {
            node,
            logged,
            basis,
            wait: (!after.is_zero()).then(|| Box::pin(tokio::time::sleep(after))),
            failure: program.node(node).handler.as_ref().and_then(|_| task.cell.failure()),
            timers: None,
            phase: Phase::Ready(Some(task)),
        }
    }

    /// Creates an attempt that only routes the decision of a finished node.
    pub(crate) fn route(node: NodeId, basis: Basis, done: Done) -> Self {
        let phase = Phase::Routing(Some(Box::new(done)));
        Self { node, logged: true, basis, failure: None, wait: None, timers: None, phase }
    }

    /// Prepares the attempt to be polled without the driver's state.
    pub(crate) fn leave_driver(&mut self, current: &CurrentState) {
        if matches!(self.basis, Basis::Current) {
            self.basis = Basis::snapshot(current.share());
        }
    }

    /// Polls the attempt, like [`Future::poll`](std::future::Future::poll). It must get the same program and the
    /// task's own cell each time, and the driver's state if it runs inline.
    pub(crate) fn poll(
        &mut self,
        program: &Program,
        cell: &TaskCell,
        context: &mut Context<'_>,
        current: Option<&mut CurrentState>,
    ) -> Poll<End> {
        if cell.run.is_revoked() && !self.stops_by_itself(program) {
            // A revoked attempt is never polled again; its owner drops it.
            return Poll::Pending;
        }
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        if let Some(sink) = cell.run.sink.as_ref().filter(|_| !cell.run.is_revoked()) {
            ready!(sink.poll_room(context));
        }
        match &mut self.phase {
            Phase::Ready(_) | Phase::Running(_) => {}
            Phase::Routing(done) => {
                let done = done.take().expect("a future is not polled after it ended");
                return Poll::Ready(self.map(program, *done, current));
            }
            Phase::Stopping(running, timeout) => {
                let polled = caught(|| running.as_mut().poll(context));
                if matches!(polled, Ok(Poll::Pending)) && cell.take_open().is_none() {
                    return Poll::Pending;
                }
                return Poll::Ready(timed_out(timeout.take().expect("its time was over")));
            }
        }
        if let Some(timers) = &self.timers {
            timers.before_poll(cell);
        }
        let polled = match caught(|| self.poll_node(program, cell, context)) {
            Err(panic) => return Poll::Ready(End::Failed(NodeError::new(NodeErrorKind::Panicked, panic))),
            Ok(polled) => polled,
        };
        if let Some(fault) = cell.take_fault() {
            return Poll::Ready(End::Failed(fault));
        }
        match polled {
            Poll::Ready(Ok(done)) => {
                if let Some(effect) = cell.gone_effect() {
                    let gone = NodeError::new(NodeErrorKind::Effect, EffectError::Gone { effect });
                    return Poll::Ready(End::Failed(gone));
                }
                // The future is dropped before its result is used, because it may still hold data such as a
                // snapshot.
                dropped(replace(&mut self.phase, Phase::Ready(None)));
                return Poll::Ready(self.finish(program, done, current));
            }
            Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(error)),
            Poll::Pending => {}
        }
        if let Some(asks) = cell.take_open() {
            return Poll::Ready(End::Paused(asks));
        }
        let Some(timers) = &mut self.timers else {
            return Poll::Pending;
        };
        let timeout = ready!(timers.poll(cell, context));
        if !self.stops_by_itself(program) {
            return Poll::Ready(timed_out(timeout));
        }
        cell.retire();
        if let Phase::Running(running) = replace(&mut self.phase, Phase::Ready(None)) {
            self.phase = Phase::Stopping(running, Some(timeout));
        }
        self.poll(program, cell, context, current)
    }

    /// Polls the node's code, or that of its error handler, which it starts at the first poll.
    fn poll_node(
        &mut self,
        program: &Program,
        cell: &TaskCell,
        context: &mut Context<'_>,
    ) -> Poll<Result<Done, NodeError>> {
        if let Phase::Ready(task) = &mut self.phase {
            let task = task.take().expect("a task is started once");
            let code = program.node(self.node);
            let start = match &self.failure {
                None => code.code.as_ref(),
                Some(_) => code.handler.as_ref().map(|handler| &handler.code),
            };
            let start = start.expect("only nodes with code are run");
            let running = match (&code.policy.cache, &cell.run.cache, &self.failure) {
                (Some(policy), Some(store), None) => cached::start(policy, store, program, self.node, task),
                _ => start.start(task),
            };
            // The time limit of an attempt begins with the attempt, not with its planning.
            if self.failure.is_none() {
                self.timers = Timers::of(&code.policy, cell);
            }
            self.phase = Phase::Running(running);
        }
        match &mut self.phase {
            Phase::Running(running) => running.as_mut().poll(context),
            _ => unreachable!("started above"),
        }
    }

    /// Returns `true` if the attempt is a running subgraph. A subgraph is notified when its attempt is over, and
    /// then ends with the results of its own tasks; any other attempt is dropped.
    pub(crate) fn stops_by_itself(&self, program: &Program) -> bool {
        matches!(self.phase, Phase::Running(_) | Phase::Stopping(..)) && self.is_subgraph(program)
    }

    pub(crate) fn is_subgraph(&self, program: &Program) -> bool {
        program.node(self.node).subgraph.is_some() && self.failure.is_none()
    }

    /// Returns the end of an attempt whose node returned `done`, without running the node.
    pub(crate) fn given(program: &Program, node: NodeId, state: Arc<dyn ErasedState>, done: Done) -> End {
        Self::route(node, Basis::snapshot(state), Done::default()).finish(program, done, None)
    }

    /// Returns the result of routing a finished node.
    pub(crate) fn routed(program: &Program, node: NodeId, state: Arc<dyn ErasedState>, done: Done) -> End {
        Self::route(node, Basis::snapshot(state), Done::default()).map(program, done, None)
    }

    fn finish(&self, program: &Program, mut done: Done, current: Option<&mut CurrentState>) -> End {
        if self.logged || self.failure.is_some() {
            match caught(|| self.log(program.node(self.node), &mut done)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return End::Failed(NodeError::new(NodeErrorKind::Codec, error)),
                Err(panic) => return End::Failed(NodeError::new(NodeErrorKind::Panicked, panic)),
            }
        }
        self.map(program, done, current)
    }

    /// Adds the forms in which a result is stored.
    fn log(&self, code: &NodeProgram, done: &mut Done) -> Result<(), CodecError> {
        if let Some(failure) = &self.failure {
            let handled =
                Handled { error: failure.error.clone(), attempts: failure.attempts, instead: false };
            done.record_mut().handled = Some(Box::new(handled));
        }
        if self.logged {
            if let Some(update) = &done.update {
                done.writes = update.encode()?;
            }
            let router = code.router(self.failure.is_some());
            if let (Some(router), Some(decision)) = (router, &done.decision) {
                let route = (router.encode)(&**decision)?;
                done.record_mut().route = Some(route);
            }
        }
        Ok(())
    }

    /// Maps the decision and the branches to targets.
    fn map(&self, program: &Program, mut done: Done, current: Option<&mut CurrentState>) -> End {
        // Most nodes make no decision.
        if !program.node(self.node).decides() && done.record().handled.is_none() {
            return End::Finished { done, targets: Ok(END) };
        }
        let targets =
            caught(|| self.targets(program, &mut done, current)).unwrap_or_else(|panic| Err(panic.into()));
        let targets =
            targets.map_err(|error| Box::new(NodeError::new(NodeErrorKind::Routing, error.into_source())));
        End::Finished { done, targets }
    }

    fn targets(
        &self,
        program: &Program,
        done: &mut Done,
        current: Option<&mut CurrentState>,
    ) -> Result<Targets, NodeError> {
        let code = program.node(self.node);
        let mut all: Option<Targets> = None;
        if let Some(router) = code.router(done.record().handled.is_some()) {
            let decision = match (done.decision.take(), &done.record().route) {
                (Some(decision), _) => decision,
                (None, Some(route)) => (router.decode)(&route.value)?,
                (None, None) => return Err("the node returned no route".into()),
            };
            all = Some((router.map)(decision)?);
        }
        let handled = done.record.as_mut().and_then(|record| record.handled.as_mut());
        if let Some(handled) = handled.filter(|_| code.handler_leads_elsewhere()) {
            handled.instead = true;
            let targets = all.unwrap_or(END).instead();
            program.own(&targets)?;
            return Ok(targets);
        }
        if !code.branches.is_empty() {
            all = self.basis.decide(done, current, &program.schema, |seen| {
                code.branches.iter().try_fold(all, |all, branch| {
                    let targets = (branch.decide)(seen)?;
                    Ok(Some(match all {
                        Some(before) => before.and(targets),
                        None => targets,
                    }))
                })
            })?;
        }
        let targets = all.unwrap_or(END);
        program.own(&targets)?;
        Ok(targets)
    }
}

impl Drop for Attempt {
    /// Drops the node's future, also that of an abandoned attempt, and catches its panic.
    fn drop(&mut self) {
        if !matches!(self.phase, Phase::Ready(None)) {
            dropped(replace(&mut self.phase, Phase::Ready(None)));
        }
    }
}

fn timed_out(timeout: Timeout) -> End {
    End::Failed(NodeError::new(NodeErrorKind::TimedOut, timeout))
}

impl Program {
    pub(crate) fn node(&self, node: NodeId) -> &NodeProgram {
        &self.nodes[node.index()]
    }

    /// Checks that a map returned handles of this graph only.
    fn own(&self, targets: &Targets) -> Result<(), NodeError> {
        let foreign = |target: &Target| target.graph != self.graph;
        if targets.as_slice().iter().any(foreign) {
            return Err("the route leads to a node of another graph".into());
        }
        Ok(())
    }
}
