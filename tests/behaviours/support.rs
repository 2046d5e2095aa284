//! Shared by the behaviour tests: nodes that note their actions, and both savers.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::driver::graph::PolicyOf;
use superstep::node::{IntoNode, NoInput};
use superstep::prelude::*;
use superstep::run::NodeFailure;

/// Runs a test on every saver that ships.
pub(crate) async fn on_both_savers<F, Fut>(test: F)
where
    F: Fn(Arc<dyn Checkpointer>) -> Fut,
    Fut: Future<Output = ()>,
{
    let name = NameOnPanic("MemorySaver");
    test(Arc::new(MemorySaver::new())).await;
    drop(name);
    let name = NameOnPanic("SqliteSaver");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saver = SqliteSaver::open(folder.path().join("test.db")).await;
    test(Arc::new(saver.expect("a new file opens"))).await;
    drop(name);
}

/// A graph with only the given node; `policy` sets its policies.
pub(crate) fn only<S, Signature, N>(
    node: N,
    stage: &Stage,
    policy: impl FnOnce(PolicyOf<'_, S, Stage>) -> PolicyOf<'_, S, Stage>,
) -> Graph<S>
where
    S: State,
    N: IntoNode<S, Stage, Signature, Input = NoInput, Route = ()>,
{
    let mut g = StateGraph::<S, Stage>::new("g");
    let node = g.node("node", node);
    policy(g.policy(node));
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("sound").with_context(stage.clone())
}

/// The failure of the node with which a run ended.
pub(crate) fn failure<S: State + Debug>(result: Result<Run<S>, RunError>) -> NodeFailure {
    match result {
        Err(RunError::Node(failure)) => failure,
        other => panic!("a node was to fail: {other:?}"),
    }
}

/// Runs a new thread, and resumes an old one.
pub(crate) async fn run_or_resume<S: State>(thread: &Thread<S>) -> Result<Run<S>, RunError> {
    match thread.head().await {
        Ok(_) => thread.resume().await,
        Err(_) => thread.run(Update::<S>::default()).await,
    }
}

/// A time limit for tests of something that takes too long: work beside it must finish within it, which takes longer on
/// a busy machine.
pub(crate) const TOO_LONG: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(5), Duration::from_secs(50)];

/// Prints the saver of a failed test.
struct NameOnPanic(&'static str);

impl Drop for NameOnPanic {
    #[expect(clippy::print_stderr, reason = "shown with the failure of a test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was with {}", self.0);
        }
    }
}

/// The notes of nodes, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.lock().push(what.into());
    }

    /// The number of notes with this text.
    pub(crate) fn of(&self, what: &str) -> usize {
        self.lock().iter().filter(|noted| *noted == what).count()
    }

    /// Returns all notes and clears them.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    /// Returns all notes, sorted, and clears them. For notes of concurrent tasks.
    pub(crate) fn take_sorted(&self) -> Vec<String> {
        let mut all = self.take();
        all.sort();
        all
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The nodes that are broken at the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Broken(Arc<Mutex<BTreeSet<String>>>);

impl Broken {
    pub(crate) fn smash(&self, node: &str) {
        self.lock().insert(node.to_owned());
    }

    pub(crate) fn mend(&self, node: &str) {
        self.lock().remove(node);
    }

    /// Fails while the node is broken.
    pub(crate) fn check(&self, node: &str) -> Result<(), Smashed> {
        if self.lock().contains(node) {
            return Err(Smashed(node.to_owned()));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a broken node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Smashed(pub(crate) String);

impl std::fmt::Display for Smashed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is broken", self.0)
    }
}

impl std::error::Error for Smashed {}

/// The context of the tests' graphs.
#[derive(Clone, Debug, Default, FromRef)]
pub(crate) struct Stage {
    pub(crate) calls: Calls,
    pub(crate) broken: Broken,
}
