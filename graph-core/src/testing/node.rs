//! A test of a single node.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::string::String;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use alloc::boxed::Box;
use alloc::string::ToString;

use serde::Serialize;

use super::cassette::Cassette;
use super::node_run::NodeRun;
use crate::checkpoint::{Cause, EffectOutcome, Frontier, NextTask, Positions};
use crate::graph::{SelectNodes, Selected};
use crate::id::NodeName;
use crate::node::{Deck, Level, Recording, What};
use crate::run::{EventKind, Graph, Observer, PartialRun, RunError, RunEvent, Runtime, Status, named_write};
use crate::state::{ErasedState, Json, State, StateForm};

/// Runs a single node of a graph, on a state that the test provides: see [`NodeTest`].
pub fn node<S: State, C: 'static>(graph: &Graph<S, C>, node: impl SelectNodes) -> NodeTest<S> {
    let mut selected = Vec::new();
    node.select(&mut selected);
    let runtime = graph.runtime().clone();
    let given = (*runtime.context).type_id();
    let context = if given == TypeId::of::<()>() { TypeId::of::<C>() } else { given };
    NodeTest {
        runtime,
        selected,
        context,
        state: None,
        item: None,
        recordings: Vec::new(),
        answers: Vec::new(),
        cassette: None,
        wrong: None,
        types: PhantomData,
    }
}

/// A test of a single node. Await it to run the node.
///
/// The node runs as in its graph, with its retries, timeouts and error handler, and then its decision is mapped to
/// targets. No other node runs, nothing is stored, and no checkpointer is needed.
///
/// ```
/// # extern crate superstep_core as superstep;
/// # use serde::{Deserialize, Serialize};
/// # use superstep::graph::{END, START, StateGraph, to};
/// # use superstep::node::{Effects, Snapshot};
/// # use superstep::route::Route;
/// # use superstep::state::{State, Update};
/// use superstep::testing;
///
/// # #[derive(State, Clone, Default, Serialize, Deserialize)]
/// # struct Essay { topic: String, draft: String }
/// # #[derive(Route, Serialize, Deserialize)]
/// # enum Next { Review, Stop }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let write = g.node("write", |essay: Snapshot<Essay>, fx: Effects| async move {
/// #     let draft: String = fx.run_keyed("draft", &essay.topic, || async { Err("a live call") }).await?;
/// #     Ok::<_, &'static str>((Essay::update().draft(draft), Next::Review))
/// # });
/// # let review = g.node("review", || async {});
/// # g.edge(START, write);
/// # g.route(write, move |next| match next { Next::Review => to(review), Next::Stop => END });
/// # g.edge(review, END);
/// # let essays = g.compile()?;
/// let ran = testing::node(&essays, write)
///     .state(Essay { topic: "Rust".into(), ..Essay::default() })
///     .effect_keyed("draft", "Rust", &"All about Rust.")
///     .await?;
/// assert_eq!(ran.state.draft, "All about Rust.");
/// assert_eq!(ran.case.as_deref(), Some("Review"));
/// assert_eq!(ran.next_nodes(), ["review"]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a node runs when it is awaited"]
pub struct NodeTest<S> {
    runtime: Runtime,
    selected: Vec<Selected>,
    /// The type of the graph's context.
    context: TypeId,
    state: Option<Arc<dyn ErasedState>>,
    item: Option<Json>,
    recordings: Vec<Given>,
    answers: Vec<Json>,
    cassette: Option<Cassette>,
    /// The first value from the test that cannot be used.
    wrong: Option<RunError>,
    types: PhantomData<fn() -> S>,
}

/// A recording that the test provides.
struct Given {
    name: String,
    key: String,
    outcome: EffectOutcome,
}

impl<S: State> NodeTest<S> {
    /// Sets the state that the node sees. The default is the state of a new thread.
    pub fn state(mut self, state: S) -> Self {
        self.state = Some(Arc::new(state));
        self
    }

    /// Sets the node's item of `each`.
    pub fn input<T: Serialize + ?Sized>(mut self, item: &T) -> Self {
        self.item = self.json("the item", item);
        self
    }

    /// Sets the context, instead of the graph's.
    ///
    /// # Panics
    /// Panics if the context is not of the graph's context type.
    #[track_caller]
    pub fn context<C: Send + Sync + 'static>(mut self, context: C) -> Self {
        let is_right = TypeId::of::<C>() == self.context;
        assert!(is_right, "the graph takes another type of context than {}", type_name::<C>());
        self.runtime.context = Arc::new(context) as Arc<dyn Any + Send + Sync>;
        self
    }

    /// Replaces the outside world with a cassette: with the recordings of this node, from the first time that it
    /// ran. The cassette itself is not changed.
    pub fn cassette(mut self, cassette: &Cassette) -> Self {
        self.cassette = Some(cassette.clone());
        self
    }

    /// Sets the value of an effect without a key. Several calls set the values of successive effects.
    ///
    /// Once the test sets the result of any effect, or a cassette, no effect runs live. Each result that the test
    /// sets must be used.
    pub fn effect<T: Serialize + ?Sized>(self, name: impl Into<String>, value: &T) -> Self {
        self.effect_keyed(name, "", value)
    }

    /// Sets the value of the effect with this key.
    pub fn effect_keyed<T: Serialize + ?Sized>(
        mut self,
        name: impl Into<String>,
        key: impl ToString,
        value: &T,
    ) -> Self {
        if let Some(value) = self.json("the value of an effect", value) {
            let (name, key, outcome) = (name.into(), key.to_string(), EffectOutcome::Ok(value));
            self.recordings.push(Given { name, key, outcome });
        }
        self
    }

    /// Makes an effect fail with this error text. For an effect without a key, `key` is empty.
    pub fn effect_fails(
        mut self,
        name: impl Into<String>,
        key: impl ToString,
        error: impl Into<String>,
    ) -> Self {
        let (name, key, outcome) = (name.into(), key.to_string(), EffectOutcome::Err(error.into()));
        self.recordings.push(Given { name, key, outcome });
        self
    }

    /// Sets the answer to a question of the node. Several calls answer successive questions. [`NodeRun::asked`]
    /// contains the unanswered ones.
    pub fn answer(mut self, answer: impl Serialize) -> Self {
        let answer = self.json("the answer", &answer);
        self.answers.extend(answer);
        self
    }

    fn json<T: Serialize + ?Sized>(&mut self, what: &str, value: &T) -> Option<Json> {
        match Json::encode(value) {
            Ok(json) => Some(json),
            Err(reason) => {
                self.wrong.get_or_insert(RunError::Encode { what: what.into(), reason });
                None
            }
        }
    }

    /// Returns the recordings and answers for the node; `None` if the test provides none.
    fn deck(&mut self, name: &NodeName, each: Option<(u32, u32)>) -> Option<Deck> {
        let says_something =
            !self.recordings.is_empty() || !self.answers.is_empty() || self.cassette.is_some();
        if !says_something {
            return None;
        }
        let mut recordings: Vec<Recording> = Vec::new();
        for Given { name: effect, key, outcome } in std::mem::take(&mut self.recordings) {
            let place = std::vec![Level { node: name.clone(), step: 0, each }];
            let what = What::Effect { name: effect.clone(), key: key.clone(), outcome };
            let same = |one: &&Recording| matches!(&one.what, What::Effect { name, key: other, .. } if *name == effect && *other == key);
            let earlier = recordings.iter().filter(same).count();
            let occurrence = u32::try_from(earlier).unwrap_or(u32::MAX);
            recordings.push(Recording { place, what, occurrence });
        }
        let nothing = Deck::default();
        let cassette = self.cassette.as_ref().map_or(&nothing, |cassette| &*cassette.deck);
        let has_effects = !recordings.is_empty() || self.cassette.is_some();
        let deck = cassette.with(recordings, std::mem::take(&mut self.answers));
        Some(if has_effects { deck } else { deck.of_answers() })
    }

    async fn run(mut self) -> Result<NodeRun<S>, RunError> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let program = Arc::clone(&self.runtime.program);
        let selected = self.selected.first().expect("one node is selected");
        let node = self.runtime.selected(selected)?.expect("a test names its node");
        let name = program.topology.node_name(node).clone();
        if let (Some(takes), None) = (&program.node(node).description.input, &self.item) {
            return Err(RunError::NoItem { node: name, takes: takes.type_name.into() });
        }
        let cause = match &self.item {
            Some(_) => Cause::Each { by: 0, index: 0 },
            None => Cause::Tasks(Positions::new()),
        };
        let given = self.recordings.len();
        let deck = self.deck(&name, cause.each()).map(Arc::new);
        self.runtime.deck.clone_from(&deck);
        let told = Arc::new(Told::default());
        let task = NextTask { node: name.clone(), cause, input: self.item };
        let partial = PartialRun {
            state: self.state.unwrap_or_else(|| Arc::clone(&program.initial)),
            frontier: Frontier { tasks: std::vec![task], ..Frontier::default() },
            step: 0,
            observers: std::vec![Arc::clone(&told) as Arc<dyn Observer>],
            runtime: self.runtime,
        };
        let ended = partial.run(1).await?;
        let (asked, failure) = match ended.status {
            Ok(Status::Interrupted { interrupts }) => (interrupts, None),
            Ok(_) => (Vec::new(), None),
            Err(RunError::Node(failure)) => (Vec::new(), Some(failure)),
            Err(error) => return Err(error),
        };
        let unused = deck.iter().flat_map(|deck| deck.unused_of_first(given));
        let effects: Vec<String> = unused.map(|recording| recording.name()).collect();
        if !effects.is_empty() {
            return Err(RunError::UnusedEffects { node: name, effects, failure: failure.map(Box::new) });
        }
        let checkpoint = ended.head.checkpoint;
        let record = checkpoint.tasks.into_iter().next();
        let writes = record.iter().flat_map(|record| &record.writes);
        let Emitted { custom, messages } =
            std::mem::take(&mut *told.0.lock().unwrap_or_else(PoisonError::into_inner));
        let next = match &record {
            Some(_) => checkpoint.frontier.tasks,
            None => Vec::new(),
        };
        Ok(NodeRun {
            node: name,
            state: Arc::unwrap_or_clone(S::read(ended.state, &program.schema)),
            writes: writes.map(|write| named_write(write, &program.schema)).collect(),
            case: record.as_ref().and_then(|record| record.route.as_ref()).map(|route| route.case.clone()),
            route: record.as_ref().and_then(|record| record.route.as_ref()).map(|route| route.value.clone()),
            next: next
                .into_iter()
                .filter(|task| !task.node.is_end())
                .map(|task| (task.node, task.input))
                .collect(),
            handled: record.and_then(|record| record.handled).map(|handled| handled.error),
            failure,
            asked,
            custom,
            messages,
            effects: ended.begun.effects.into_iter().filter(|effect| effect.id.is_users()).collect(),
        })
    }
}

impl<S: State> IntoFuture for NodeTest<S> {
    type Output = Result<NodeRun<S>, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    /// # Errors
    /// Returns an error if the graph has no such node, if a value from the test does not fit the node or was not
    /// used, or if the node's writes cannot be merged. A failure of the node itself is in [`NodeRun::failure`].
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The events that the node emits while it runs.
#[derive(Default)]
struct Told(Mutex<Emitted>);

#[derive(Default)]
struct Emitted {
    custom: Vec<(String, Json)>,
    messages: Vec<Json>,
}

impl Observer for Told {
    fn on_event(&self, event: &RunEvent) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::Custom { name, data, .. } => told.custom.push((name.clone(), data.clone())),
            EventKind::MessageChunk { chunk, .. } => told.messages.push(chunk.clone()),
            _ => {}
        }
    }
}

impl<S> fmt::Debug for NodeTest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeTest").field("node", &self.selected).finish_non_exhaustive()
    }
}
