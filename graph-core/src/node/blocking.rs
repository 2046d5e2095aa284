//! Nodes that block their thread: plain functions that run on their own threads.

use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::describe::NodeDescription;
use super::done::Done;
use super::function::{CalledAs, Code, FromTask, IntoNode, OneInput, described};
use super::outcome::IntoOutcome;
use super::task::Task;
use super::threads::Threads;
use crate::error::NodeError;
use crate::state::State;

/// A node that blocks its thread: see [`blocking`].
#[derive(Clone, Copy, Debug)]
pub struct Blocking<F>(F);

/// Turns a plain function of extractors into a node, for long computations and blocking calls. The function runs on
/// its own thread, so other tasks continue at the same time.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::{Snapshot, blocking};
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default)] struct Page { text: String, words: u64 }
/// fn count(page: Snapshot<Page>) -> Update<Page> {
///     Page::update().words(page.text.split_whitespace().count() as u64)
/// }
///
/// let mut g = StateGraph::<Page>::new("page");
/// let count = g.node("count", blocking(count));
/// g.edge(START, count);
/// g.edge(count, END);
/// ```
///
/// Every running node has its own thread, even if it waits for other nodes. So a function that runs another graph
/// with `Handle::current().block_on(..)` cannot exhaust a pool of threads. `max_concurrency` limits the number of
/// threads.
///
/// A running function cannot be stopped. If its attempt is abandoned because of a timeout, a cancellation or a
/// failed sibling, the run does not wait for the function; it runs to its end, and its result is discarded. A retry
/// may therefore start while the previous attempt still runs. `TaskInfo::is_cancelled` returns `true` in an
/// abandoned attempt.
///
/// The function may take neither [`Ask`](super::Ask) nor [`Effects`](super::Effects), because they could block its
/// thread forever. For blocking work in an `async` node, use tokio's `spawn_blocking` in an effect.
pub fn blocking<F>(function: F) -> Blocking<F> {
    Blocking(function)
}

/// The signature of a blocking node whose function has the signature `F`.
#[derive(Debug)]
pub struct ByThread<F>(core::marker::PhantomData<F>);

macro_rules! implement {
    ($($argument:ident $name:ident $position:literal),*) => {
        #[diagnostic::do_not_recommend]
        impl<S, C, F, O, $($argument),*> CalledAs<S, C, ByThread<fn($($argument),*)>> for Blocking<F>
        where
            S: State,
            F: Fn($($argument),*) -> O,
        {
        }

        #[diagnostic::do_not_recommend]
        impl<S, C, F, O, In, $($argument),*> IntoNode<S, C, ByThread<fn($($argument),*)>> for Blocking<F>
        where
            S: State,
            C: Send + Sync + 'static,
            F: Fn($($argument),*) -> O + Send + Sync + 'static,
            O: IntoOutcome<S>,
            $($argument: FromTask<S, C> + 'static,)*
            ($($argument,)*): OneInput<S, C, Input = In>,
            In: 'static,
        {
            type Input = In;
            type Route = O::Route;

            fn into_code(self) -> (NodeDescription, Code) {
                let mut node = described(&[$(<$argument as FromTask<S, C>>::describe),*]);
                node.blocks();
                let (function, threads) = (Arc::new(self.0), Arc::new(Threads::default()));
                let code = Code::new(move |task| {
                    let task = Task::<S, C>::typed(task);
                    $(let $name = $argument::from_task(&task, $position);)*
                    drop(task);
                    let (function, threads) = (Arc::clone(&function), Arc::clone(&threads));
                    let work = move || function($($name),*).into_outcome().map(Done::from);
                    Box::pin(async move { on(&threads, work).await? })
                });
                (node, code)
            }
        }
    };
}

/// Runs `work` on a thread, in the context of the runtime that awaits it.
async fn on<T: Send + 'static>(
    threads: &Arc<Threads>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NodeError> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::try_current();
    threads
        .run(Box::new(move || {
            let _context = runtime.as_ref().map(Handle::enter);
            let result = catch_unwind(AssertUnwindSafe(work));
            // The receiver is gone if the attempt was abandoned; the result is then discarded.
            drop(tell.send(result));
        }))
        .map_err(|error| NodeError::retryable(std::format!("no thread for the node: {error}")))?;
    match told.await.expect("the work says how it ended") {
        Ok(value) => Ok(value),
        // The attempt catches the panic, like a panic in a node that does not block.
        Err(panic) => resume_unwind(panic),
    }
}

implement!();
implement!(A0 a0 0);
implement!(A0 a0 0, A1 a1 1);
implement!(A0 a0 0, A1 a1 1, A2 a2 2);
implement!(A0 a0 0, A1 a1 1, A2 a2 2, A3 a3 3);
implement!(A0 a0 0, A1 a1 1, A2 a2 2, A3 a3 3, A4 a4 4);
implement!(A0 a0 0, A1 a1 1, A2 a2 2, A3 a3 3, A4 a4 4, A5 a5 5);
implement!(A0 a0 0, A1 a1 1, A2 a2 2, A3 a3 3, A4 a4 4, A5 a5 5, A6 a6 6);
implement!(A0 a0 0, A1 a1 1, A2 a2 2, A3 a3 3, A4 a4 4, A5 a5 5, A6 a6 6, A7 a7 7);
