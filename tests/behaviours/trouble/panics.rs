//! User code that panics, at each place where a run calls it.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::future::Ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use superstep::prelude::*;
use superstep::run::{Ambient, RunEvent, System};
use tokio::task::yield_now;
use uuid::Uuid;

thread_local! {
    /// The place where user code panics at the moment. Each test runs on one thread.
    static ARMED: Cell<Option<Place>> = const { Cell::new(None) };
}

fn panic_at(place: Place) {
    assert!(ARMED.get() != Some(place), "boom at {place:?}");
}

/// A text of a node's write.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Written(String);

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        panic_at(Place::Write);
        serializer.serialize_str(&self.0)
    }
}

/// A text that is in the state and in no write.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Held(String);

impl Serialize for Held {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        panic_at(Place::State);
        serializer.serialize_str(&self.0)
    }
}

struct Fragile;

impl Reducer<Held> for Fragile {
    type Write = String;

    fn reduce(current: &mut Held, write: String) {
        panic_at(Place::Reducer);
        current.0 = write;
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Notes {
    #[reducer(Append)]
    ran: Vec<String>,
    written: Written,
    #[reducer(Fragile)]
    held: Held,
}

/// The place of a panic in user code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    NodeAtOnce,
    NodeLater,
    Extractor,
    Effect,
    /// The text of the error that a node returns.
    ErrorText,
    /// The text of the error of an effect.
    EffectErrorText,
    /// The error itself, when it is dropped.
    ErrorDrop,
    /// The payload of a node's panic, when it is dropped.
    PayloadDrop,
    /// The value that a node writes.
    Write,
    Reducer,
    /// The state that contains the write.
    State,
    Route,
    Branch,
    /// An observer of the run.
    Observer,
}

const PLACES: [Place; 14] = [
    Place::NodeAtOnce,
    Place::NodeLater,
    Place::Extractor,
    Place::Effect,
    Place::ErrorText,
    Place::EffectErrorText,
    Place::ErrorDrop,
    Place::PayloadDrop,
    Place::Write,
    Place::Reducer,
    Place::State,
    Place::Route,
    Place::Branch,
    Place::Observer,
];

/// The number of panics in the gate, at all places together.
const PANICS: usize = 1_000;

/// The number of runs of the sibling of the panicking task.
#[derive(Clone, Default, FromRef)]
struct Stage {
    beside: Arc<AtomicUsize>,
}

/// A part of the context that may panic when it is cloned.
struct Part;

impl FromRef<Stage> for Part {
    fn from_ref(_stage: &Stage) -> Self {
        panic_at(Place::Extractor);
        Self
    }
}

#[derive(Route, Serialize, Deserialize)]
enum Way {
    On,
}

/// An error whose code panics.
#[derive(Debug)]
struct Rotten(Place);

impl Display for Rotten {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        panic_at(self.0);
        f.write_str("rotten")
    }
}

impl Error for Rotten {}

impl Drop for Rotten {
    fn drop(&mut self) {
        if matches!(self.0, Place::ErrorDrop | Place::PayloadDrop) {
            panic_at(self.0);
        }
    }
}

async fn troubled(
    _part: Dep<Part>,
    fx: Effects,
    beside: Dep<Arc<AtomicUsize>>,
) -> Result<(Update<Notes>, Way), Rotten> {
    // Its sibling has finished by then, and must not run again.
    while beside.load(Ordering::Relaxed) == 0 {
        yield_now().await;
    }
    for _ in 0..5 {
        yield_now().await;
    }
    panic_at(Place::NodeLater);
    match ARMED.get() {
        Some(place @ (Place::ErrorText | Place::ErrorDrop)) => return Err(Rotten(place)),
        Some(place @ Place::PayloadDrop) => std::panic::panic_any(Rotten(place)),
        _ => {}
    }
    let effect = async || {
        panic_at(Place::Effect);
        if ARMED.get() == Some(Place::EffectErrorText) { Err(Rotten(Place::EffectErrorText)) } else { Ok(()) }
    };
    fx.run("effect", effect).await?;
    Ok((Notes::update().ran(["troubled"]).written(Written("fine".into())).held("fine"), Way::On))
}

fn at_once() -> Ready<Update<Notes>> {
    panic_at(Place::NodeAtOnce);
    std::future::ready(Notes::update().ran(["at once"]))
}

async fn beside(beside: Dep<Arc<AtomicUsize>>) -> Update<Notes> {
    beside.fetch_add(1, Ordering::Relaxed);
    Notes::update().ran(["beside"])
}

fn graph() -> Graph<Notes, Stage> {
    let mut g = StateGraph::<Notes, Stage>::new("g");
    let beside = g.node("beside", beside);
    let troubled = g.node("troubled", troubled);
    let at_once = g.node("at once", at_once);
    let last = g.node("last", async || Notes::update().ran(["last"]));
    g.policy(troubled).on_unknown(OnUnknown::Retry);
    g.edge(START, beside);
    g.edge(START, troubled);
    g.edge(beside, at_once);
    g.edge(at_once, last);
    g.edge(last, END);
    g.route(troubled, |Way::On| {
        panic_at(Place::Route);
        END
    });
    let decide = |_: &Notes| {
        panic_at(Place::Branch);
        Way::On
    };
    g.branch(at_once, decide, |Way::On| END);
    g.compile().expect("sound")
}

/// Runs in a tokio task of its own, as servers do; `Err` with the message if the panic escaped from the run.
async fn contained(
    run: impl IntoFuture<IntoFuture: Send + 'static, Output = Result<Run<Notes>, RunError>>,
) -> Result<Result<Run<Notes>, RunError>, String> {
    tokio::spawn(run.into_future()).await.map_err(|error| error.to_string())
}

fn is_told(place: Place, result: &Result<Run<Notes>, RunError>) -> bool {
    match (place, result) {
        (Place::Observer, Ok(run)) => run.status == Status::Finished,
        (Place::Reducer, Err(RunError::Reducer { node, .. })) => node.as_str() == "troubled",
        (Place::State, Err(RunError::Encode { reason, .. })) => reason.to_string().contains("panicked"),
        (Place::NodeAtOnce | Place::Branch, Err(RunError::Node(failure))) => {
            failure.node.as_str() == "at once"
        }
        (Place::ErrorText | Place::EffectErrorText, Err(error @ RunError::Node(failure))) => {
            let text = "an error whose text cannot be shown: formatting it panicked: boom";
            failure.node.as_str() == "troubled" && error.to_string().contains(text)
        }
        (_, Err(RunError::Node(failure))) => failure.node.as_str() == "troubled",
        _ => false,
    }
}

#[test]
fn a_panic_of_user_code_is_reported_and_harms_nothing_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime of one thread");
    runtime.block_on(async {
        let graph = graph();
        let saver: Arc<dyn superstep::checkpoint::Checkpointer> = Arc::new(MemorySaver::new());
        for number in 0..PANICS * crate::trouble::torture() {
            let place = PLACES[number % PLACES.len()];
            let stage = Stage::default();
            let graph = graph.clone().with_context(stage.clone()).shared_checkpointer(Arc::clone(&saver));
            let thread = graph.thread(number.to_string());
            let seen = Arc::new(AtomicUsize::new(0));
            let after = Arc::clone(&seen);
            let mut request =
                thread.run(Notes::update()).observe(|_: &RunEvent| panic_at(Place::Observer)).observe(
                    move |_: &RunEvent| after.store(after.load(Ordering::Relaxed) + 1, Ordering::Relaxed),
                );
            let feed = request.feed(100);
            ARMED.set(Some(place));
            let result =
                contained(request).await.unwrap_or_else(|out| panic!("{place:?}: it got out: {out}"));
            assert!(is_told(place, &result), "{place:?}: {result:?}");
            assert!(seen.load(Ordering::Relaxed) > 5, "{place:?}: the other observer sees everything");
            assert!(feed.subscribe_from(0).next().await.is_some(), "{place:?}: the feed can be read");

            ARMED.set(None);
            let state = thread.state().await.expect("it ran");
            assert!(state.values.ran.contains(&"beside".to_owned()), "{place:?}: {:?}", state.values);
            let notes =
                thread.resume().await.expect("nothing panics any more").finished().expect("to the end");
            assert_eq!(notes.ran, ["beside", "troubled", "at once", "last"], "{place:?}");
            assert_eq!(stage.beside.load(Ordering::Relaxed), 1, "{place:?}: what had finished ran again");
        }
    });
}

/// A panic in the drop of a timed-out node's future used to end the caller.
#[tokio::test(start_paused = true)]
async fn a_drop_that_panics_does_not_end_the_run_of_an_attempt_that_is_given_up() {
    let mut g = StateGraph::<Notes>::new("g");
    let stuck = g.node("stuck", async || {
        let _held = Rotten(Place::ErrorDrop);
        std::future::pending::<()>().await;
    });
    g.policy(stuck).timeout(Duration::from_secs(1));
    g.edge(START, stuck);
    g.edge(stuck, END);
    ARMED.set(Some(Place::ErrorDrop));
    let error = g.compile().expect("sound").run(Notes::update()).await.expect_err("its time is over");
    ARMED.set(None);
    assert_eq!(error.to_string(), "node \"stuck\" failed at step 1: the attempt took longer than 1s");
}

/// An ambient that panics: the driver itself calls it.
struct Cracked;

impl Ambient for Cracked {
    fn id(&self) -> Uuid {
        panic!("no id")
    }

    fn now(&self) -> Duration {
        System.now()
    }

    fn roll(&self) -> f64 {
        0.0
    }
}

/// The mutant: a panic without a boundary escapes from the run, and the test detects it.
#[test]
fn a_panic_outside_of_all_boundaries_is_noticed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime of one thread");
    let graph = graph().with_context(Stage::default()).ambient(Cracked);
    let out = runtime.block_on(contained(graph.thread("t").run(Notes::update()))).expect_err("it gets out");
    assert!(out.contains("panicked"), "{out}");
}
