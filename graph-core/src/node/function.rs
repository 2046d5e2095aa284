//! Functions as nodes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;

use super::describe::NodeDescription;
use super::done::Done;
use super::input::{NoInput, OrInput};
use super::outcome::IntoOutcome;
use super::task::{ErasedTask, Task};
use crate::error::NodeError;
use crate::state::State;

/// An argument of a node function: an extractor.
///
/// The built-in extractors are [`Snapshot`](super::Snapshot), [`Input`](super::Input), [`Dep`](super::Dep),
/// [`Configured`](super::Configured), [`Ask`](super::Ask), [`Effects`](super::Effects), [`Emit`](super::Emit), [`Store`](crate::store::Store),
/// [`TaskInfo`](super::TaskInfo) and, for error handlers, [`Failed`](super::Failed).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a node function",
    label = "not an extractor of a graph over `{S}` with context `{C}`",
    note = "use `Snapshot<{S}>`, `Input<T>`, `Dep<T>`, `Configured<T>`, `Ask<Q, A>`, `Effects`, `Emit`, `Store` or `TaskInfo`",
    note = "values and payloads that are stored must be `Serialize + DeserializeOwned + Send + Sync`"
)]
pub trait FromTask<S: State, C>: Sized + Send {
    /// `Takes<T>` for an extractor of the task's item, and [`NoInput`] for all others.
    type Input;

    /// Takes the value from the task. `position` counts the function's arguments from 0.
    fn from_task(task: &Task<S, C>, position: usize) -> Self;

    /// Describes the argument for storage and checks.
    fn describe(_node: &mut NodeDescription, _position: usize) {}
}

/// A function that can be called for each task, or a type that implements [`Node`].
///
/// The trait only determines the signature. The other requirements of [`IntoNode`] are checked once the signature
/// is known, so that a compiler error names the requirement that does not hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}` with context `{C}`",
    label = "not a function that can be called for each task",
    note = "a node is an `async fn` of at most 12 extractors; a closure is written `move |..| async move {{ .. }}`",
    note = "it runs once for each task, so a closure must not give away what it captures: clone it inside, `move |..| {{ let llm = llm.clone(); async move {{ .. }} }}`"
)]
pub trait CalledAs<S: State, C, Signature> {}

/// A type that can be a node: an `async fn` of extractors, or a type that implements [`Node`].
///
/// `Signature` is inferred; it lets one trait be implemented for functions with any number of arguments and for
/// types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}` with context `{C}`",
    note = "a node is an `async fn` whose arguments are extractors and which returns `()`, an `Update<{S}>`, a route, `(Update<{S}>, route)`, or a `Result` of those",
    note = "put `#[node]` on the function to see which argument is wrong",
    note = "a closure is written `move |..| async move {{ .. }}`"
)]
pub trait IntoNode<S: State, C, Signature>: CalledAs<S, C, Signature> + Send + Sync + 'static {
    /// The type of the item that the node takes from `each`.
    type Input;
    /// The type of the node's decision.
    type Route: Send + 'static;

    /// Returns the node's description and its code.
    #[doc(hidden)]
    fn into_code(self) -> (NodeDescription, Code);
}

/// A node as a type, for nodes with configuration, such as `Ranker::new(model).candidates(Essay::DRAFTS)`.
pub trait Node<S: State, C>: Send + Sync + 'static {
    /// The type of its result.
    type Output: IntoOutcome<S>;

    /// Runs the node. Extractors are taken with [`Task::extract`].
    fn call(&self, task: Task<S, C>) -> impl Future<Output = Self::Output> + Send;

    /// Describes the fields that the node writes, and its questions.
    fn describe(&self, _node: &mut NodeDescription) {}
}

impl<S: State, C> Task<S, C> {
    /// Takes the value of an extractor, as a function's argument would. Extractors count as arguments, in the order
    /// in which they are taken.
    pub fn extract<A: FromTask<S, C>>(&self) -> A {
        A::from_task(self, self.next_position())
    }
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Done, NodeError>> + Send>>;

/// A node's code without its types.
#[derive(Clone)]
#[doc(hidden)]
pub struct Code(Arc<dyn Fn(ErasedTask) -> Running + Send + Sync>);

impl Code {
    pub(crate) fn new(start: impl Fn(ErasedTask) -> Running + Send + Sync + 'static) -> Self {
        Self(Arc::new(start))
    }

    pub(crate) fn start(&self, task: ErasedTask) -> Running {
        (self.0)(task)
    }
}

impl core::fmt::Debug for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Code(..)")
    }
}

/// Returns the description of a function whose arguments have these `describe` functions.
pub(super) fn described(arguments: &[fn(&mut NodeDescription, usize)]) -> NodeDescription {
    let mut node = NodeDescription::default();
    for (position, describe) in arguments.iter().enumerate() {
        describe(&mut node, position);
    }
    node
}

macro_rules! implement {
    ($($argument:ident $position:literal),*) => {
        #[diagnostic::do_not_recommend]
        impl<S, C, F, Fut, $($argument),*> CalledAs<S, C, fn($($argument),*)> for F
        where
            S: State,
            F: Fn($($argument),*) -> Fut,
            Fut: Future,
        {
        }

        impl<S, C, F, Fut, O, In, $($argument),*> IntoNode<S, C, fn($($argument),*)> for F
        where
            S: State,
            C: Send + Sync + 'static,
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = O> + Send + 'static,
            O: IntoOutcome<S>,
            $($argument: FromTask<S, C> + 'static,)*
            ($($argument,)*): OneInput<S, C, Input = In>,
            In: 'static,
        {
            type Input = In;
            type Route = O::Route;

            fn into_code(self) -> (NodeDescription, Code) {
                let node = described(&[$(<$argument as FromTask<S, C>>::describe),*]);
                let code = Code(Arc::new(move |task| {
                    let task = Task::<S, C>::typed(task);
                    let running = self($($argument::from_task(&task, $position)),*);
                    drop(task);
                    Box::pin(async move { running.await.into_outcome().map(Done::from) })
                }));
                (node, code)
            }
        }

        impl<S: State, C, $($argument: FromTask<S, C>),*> OneInput<S, C> for ($($argument,)*)
        where
            ($($argument::Input,)*): Fold,
        {
            type Input = <($($argument::Input,)*) as Fold>::Input;
        }
    };
}

/// The single input among a function's arguments.
pub trait OneInput<S: State, C> {
    /// `Takes<T>` or [`NoInput`].
    type Input;
}

/// The single input among the input types of arguments.
pub trait Fold {
    /// `Takes<T>` or [`NoInput`].
    type Input;
}

impl Fold for () {
    type Input = NoInput;
}

macro_rules! fold {
    ($first:ident $($rest:ident)*) => {
        impl<$first, $($rest),*> Fold for ($first, $($rest,)*)
        where
            ($($rest,)*): Fold,
            $first: OrInput<<($($rest,)*) as Fold>::Input>,
        {
            type Input = <$first as OrInput<<($($rest,)*) as Fold>::Input>>::Either;
        }
    };
}

fold!(A);
fold!(A B);
fold!(A B D);
fold!(A B D E);
fold!(A B D E G);
fold!(A B D E G H);
fold!(A B D E G H I);
fold!(A B D E G H I J);
fold!(A B D E G H I J K);
fold!(A B D E G H I J K L);
fold!(A B D E G H I J K L M);
fold!(A B D E G H I J K L M N);

implement!();
implement!(A0 0);
implement!(A0 0, A1 1);
implement!(A0 0, A1 1, A2 2);
implement!(A0 0, A1 1, A2 2, A3 3);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7, A8 8);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7, A8 8, A9 9);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7, A8 8, A9 9, A10 10);
implement!(A0 0, A1 1, A2 2, A3 3, A4 4, A5 5, A6 6, A7 7, A8 8, A9 9, A10 10, A11 11);

/// The signature of a node that is a type.
#[derive(Debug)]
pub enum ByType {}

#[diagnostic::do_not_recommend]
impl<S: State, C, N: Node<S, C>> CalledAs<S, C, ByType> for N {}

#[diagnostic::do_not_recommend]
impl<S, C, N> IntoNode<S, C, ByType> for N
where
    S: State,
    C: Send + Sync + 'static,
    N: Node<S, C>,
{
    type Input = NoInput;
    type Route = <N::Output as IntoOutcome<S>>::Route;

    fn into_code(self) -> (NodeDescription, Code) {
        let mut node = NodeDescription::default();
        self.describe(&mut node);
        let this = Arc::new(self);
        let code = Code(Arc::new(move |task| {
            let this = Arc::clone(&this);
            Box::pin(async move { this.call(Task::typed(task)).await.into_outcome().map(Done::from) })
        }));
        (node, code)
    }
}
