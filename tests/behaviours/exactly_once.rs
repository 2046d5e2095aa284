//! Several runs on one thread, in random order: each message is in the state once, and a superseded run reports
//! correctly what became of its input.
//!
//! At every call to the saver, the schedule decides which client continues. So each schedule is one order of all calls,
//! the same with every saver, and a failure shrinks to the shortest one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread as SystemThread};

use async_trait::async_trait;
use proptest::prelude::*;
use superstep::checkpoint::{At, Checkpointer, StoreError};
use superstep::driver::checkpoint::{Around, Commit, Committed, Load, Page, Scan};
use superstep::id::{CheckpointId, ThreadId};
use superstep::prelude::*;
use superstep::run::{InputStatus, ThreadError};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Chat {
    #[reducer(Append)]
    said: Vec<String>,
}

/// A saver whose calls wait for the schedule, and then run at once.
struct Scheduled(Arc<dyn Checkpointer>);

#[async_trait]
impl Around for Scheduled {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.0
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        pause().await;
        wait_for(self.0.load(thread, at, known))
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        pause().await;
        wait_for(self.0.commit(commit))
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        wait_for(self.0.flush(thread))
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        pause().await;
        wait_for(self.0.scan(scan))
    }
}

/// Is pending once.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

struct Unpark(SystemThread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// The thread that all clients run, and its store, for the checks of a test.
struct World {
    thread: Thread<Chat>,
    store: Thread<Chat>,
}

impl World {
    fn new(saver: Arc<dyn Checkpointer>) -> Self {
        let mut g = StateGraph::<Chat>::new("g");
        let first = g.node("first", async || Chat::update().said(["first"]));
        let second = g.node("second", async || Chat::update().said(["second"]));
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let graph = g.compile().expect("sound");
        let store = graph.clone().shared_checkpointer(Arc::clone(&saver)).thread("t");
        drop(wait_for(store.run(Chat::update()).into_future()).expect("nothing fails"));
        Self { thread: graph.checkpointer(Scheduled(saver)).thread("t"), store }
    }

    fn times(&self, text: &str) -> usize {
        let state = wait_for(self.store.head()).expect("it ran").into_state();
        state.said.iter().filter(|said| *said == text).count()
    }

    /// Checks the report of a superseded run on its input, while no other client can act.
    fn check(&self, text: &str, input: InputStatus) {
        let times = usize::from(input == InputStatus::Merged);
        assert_eq!(self.times(text), times, "{text} is {input:?}");
        let head = wait_for(self.store.head()).expect("it ran");
        let waits = head.next().iter().any(|node| node.as_str() == "__start__");
        assert!(input != InputStatus::Waiting || waits, "{text} waits and START is not next");
    }
}

/// The strategy of a client until its request has finished.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Repeats its request with a key.
    Repeats,
    /// Follows the advice of the error.
    Listens,
    /// Resumes the thread, for any request.
    Resumes,
    /// Edits the thread once.
    Edits,
}

async fn client(world: Arc<World>, kind: Kind, text: String) {
    let input = || Chat::update().said([text.clone()]);
    let mut run = match kind {
        Kind::Repeats => world.thread.run_once(&text, input()),
        Kind::Listens => world.thread.run(input()),
        Kind::Resumes => world.thread.resume(),
        Kind::Edits => match world.thread.edit(Chat::update()).await {
            Ok(_) | Err(ThreadError::Superseded(_)) => return,
            Err(error) => panic!("{error}"),
        },
    };
    loop {
        let input_status = match run.await {
            Ok(_) => return,
            Err(RunError::Superseded { input, .. }) => input,
            Err(error) => panic!("{error}"),
        };
        run = match (kind, input_status) {
            (Kind::Repeats, status) => {
                world.check(&text, status);
                world.thread.run_once(&text, input())
            }
            (_, InputStatus::NotGiven) => world.thread.resume(),
            (_, status) => {
                world.check(&text, status);
                match status {
                    InputStatus::NotStored => world.thread.run(input()),
                    _ => world.thread.resume(),
                }
            }
        };
    }
}

/// The next event: a client takes a step, or it is dropped and begins again.
#[derive(Clone, Debug)]
enum Turn {
    Step(usize),
    Crash(usize),
}

fn play(saver: Arc<dyn Checkpointer>, kinds: &[Kind], turns: &[Turn]) {
    let world = Arc::new(World::new(saver));
    let text = |number: usize| format!("message {number}");
    let begin = |number: usize| -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(client(Arc::clone(&world), kinds[number], text(number)))
    };
    let mut clients: Vec<_> = (0..kinds.len()).map(|number| Some(begin(number))).collect();
    let step = |clients: &mut Vec<Option<_>>, number: usize| {
        let running: &mut Option<Pin<Box<dyn Future<Output = ()>>>> = &mut clients[number];
        if let Some(client) = running
            && client.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            *running = None;
        }
    };
    for turn in turns {
        match *turn {
            Turn::Step(number) => step(&mut clients, number % kinds.len()),
            // A client that does not know the outcome of its request may repeat it only with a key.
            Turn::Crash(number) if matches!(kinds[number % kinds.len()], Kind::Repeats) => {
                let number = number % kinds.len();
                clients[number] = None;
                clients[number] = Some(begin(number));
            }
            Turn::Crash(_) => {}
        }
    }
    // Then each client continues alone.
    for number in 0..kinds.len() {
        while clients[number].is_some() {
            step(&mut clients, number);
        }
    }
    for (number, kind) in kinds.iter().enumerate() {
        let expected = usize::from(matches!(kind, Kind::Repeats | Kind::Listens));
        assert_eq!(world.times(&text(number)), expected, "{}", text(number));
    }
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![12 => (0..4_usize).prop_map(Turn::Step), 1 => (0..4_usize).prop_map(Turn::Crash)];
    prop::collection::vec(turn, 0..120)
}

/// Clients whose requests have keys, beside others that resume and edit.
fn repeating() -> impl Strategy<Value = Vec<Kind>> {
    let other = prop_oneof![Just(Kind::Repeats), Just(Kind::Resumes), Just(Kind::Edits)];
    (Just(vec![Kind::Repeats; 2]), prop::collection::vec(other, 0..2))
        .prop_map(|(all, more)| [all, more].concat())
}

/// Clients without keys, which follow the advice of the error.
fn listening() -> impl Strategy<Value = Vec<Kind>> {
    let other = prop_oneof![Just(Kind::Listens), Just(Kind::Resumes), Just(Kind::Repeats)];
    (Just(vec![Kind::Listens; 2]), prop::collection::vec(other, 0..2))
        .prop_map(|(all, more)| [all, more].concat())
}

fn in_memory() -> Arc<dyn Checkpointer> {
    Arc::new(MemorySaver::new())
}

fn in_a_database() -> Arc<dyn Checkpointer> {
    Arc::new(wait_for(SqliteSaver::in_memory()).expect("there is memory"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repeated_requests_store_each_message_once(kinds in repeating(), turns in turns()) {
        play(in_memory(), &kinds, &turns);
    }

    /// A caller that ran its message again after `Superseded` doubled it: the error said that nothing was stored.
    #[test]
    fn what_superseded_says_of_the_input_is_true(kinds in listening(), turns in turns()) {
        play(in_memory(), &kinds, &turns);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_holds_with_sqlite(kinds in prop_oneof![repeating(), listening()], turns in turns()) {
        play(in_a_database(), &kinds, &turns);
    }
}
