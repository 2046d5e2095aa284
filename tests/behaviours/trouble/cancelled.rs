//! Runs that are cancelled or dropped, at each poll and at each millisecond.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// The effects on the outside world.
#[derive(Clone, Default)]
struct Outside(Arc<Mutex<Happened>>);

#[derive(Default)]
struct Happened {
    /// `true` when the run has returned, so that no effect may begin.
    returned: bool,
    /// Effects that began after the run had returned.
    late: usize,
    effects: BTreeMap<String, usize>,
}

impl Outside {
    fn lock(&self) -> MutexGuard<'_, Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begins(&self, what: &str) {
        let mut happened = self.lock();
        happened.late += usize::from(happened.returned);
        *happened.effects.entry(what.to_owned()).or_default() += 1;
    }
}

#[derive(Clone, FromRef)]
struct Stage {
    outside: Outside,
    /// The way in which nodes spend time.
    rest: Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// They yield a few times.
    Yields,
    /// They sleep, on a clock that the test moves.
    Sleeps,
}

impl Rest {
    async fn some(self, long: u64) {
        match self {
            Self::Yields => {
                for _ in 0..long {
                    yield_now().await;
                }
            }
            Self::Sleeps => sleep(Duration::from_millis(long)).await,
        }
    }
}

/// Two effects, with time before, in, between and after them.
async fn act(task: TaskInfo, fx: Effects, outside: Dep<Outside>, rest: Dep<Rest>) -> Update<Log> {
    let node = task.node().as_str();
    let long = node.len() as u64;
    rest.some(long).await;
    for number in 0..2 {
        let effect = async || {
            outside.begins(&format!("{node} {number}"));
            rest.some(long).await;
            Ok::<_, Infallible>(())
        };
        let Ok(()) = fx.run_keyed("act", number, effect).await;
    }
    rest.some(long).await;
    Log::update().ran([node])
}

/// A node that leaves work behind: it continues after the run, without an effect.
async fn leave_behind(task: TaskInfo, outside: Dep<Outside>, rest: Dep<Rest>) -> Update<Log> {
    let (outside, rest, node) = (outside.0.clone(), *rest, task.node().to_string());
    tokio::spawn({
        let node = node.clone();
        async move {
            for number in 0..5 {
                rest.some(3).await;
                outside.begins(&format!("{node} {number}"));
            }
        }
    });
    rest.some(5).await;
    Log::update().ran([node])
}

/// `first`, then `left` beside a subgraph of two, then `last`.
fn graph(detaches: bool) -> Graph<Log, Stage> {
    let mut inner = StateGraph::<Log, Stage>::new("inner");
    let [up, down] = ["up", "down"].map(|name| inner.node(name, act));
    for node in [up, down] {
        // A run that is stopped inside an effect does not know its outcome.
        inner.policy(node).on_unknown(OnUnknown::Retry);
        inner.edge(START, node);
        inner.edge(node, END);
    }
    let mut g = StateGraph::<Log, Stage>::new("g");
    let first = if detaches { g.node("first", leave_behind) } else { g.node("first", act) };
    let [left, last] = ["left", "last"].map(|name| g.node(name, act));
    let inner = g.subgraph("inner", inner.compile().expect("sound"), Lens::new().share(Log::RAN, Log::RAN));
    g.edge(START, first);
    g.edge(first, left);
    g.edge(first, inner);
    g.edge(left, last);
    g.edge(inner, last);
    g.edge(last, END);
    for node in [first, left, last] {
        g.policy(node).on_unknown(OnUnknown::Retry);
    }
    g.compile().expect("sound")
}

/// The way and the time of stopping a run.
#[derive(Clone, Copy, Debug)]
enum Stop {
    DropAtPoll(usize),
    CancelAtPoll(usize),
    DropAfter(Duration),
    CancelAfter(Duration),
}

/// The result of a run that was stopped and resumed.
struct Ended {
    /// `true` if it was stopped before it had ended by itself.
    stopped: bool,
    late: usize,
    ran: Vec<String>,
    most_often: usize,
}

/// Runs until it is stopped, waits until nothing moves any more, and resumes.
async fn stop_and_resume(
    graph: &Graph<Log, Stage>,
    rest: Rest,
    stop: Stop,
    saver: Arc<dyn Checkpointer>,
) -> Ended {
    let outside = Outside::default();
    let graph =
        graph.clone().with_context(Stage { outside: outside.clone(), rest }).shared_checkpointer(saver);
    let thread = graph.thread("t");
    let token = CancellationToken::new();
    let mut run = thread.run(Log::update().ran(["in"])).cancel_on(token.clone()).into_future();
    let mut polls = 0;
    let ended = match stop {
        Stop::DropAtPoll(_) | Stop::CancelAtPoll(_) => {
            poll_fn(|context| {
                match stop {
                    Stop::DropAtPoll(last) if polls == last => return Poll::Ready(None),
                    Stop::CancelAtPoll(last) if polls == last => token.cancel(),
                    _ => {}
                }
                polls += 1;
                run.as_mut().poll(context).map(Some)
            })
            .await
        }
        Stop::DropAfter(time) => timeout(time, &mut run).await.ok(),
        Stop::CancelAfter(time) => {
            let cancel = async {
                sleep(time).await;
                token.cancel();
            };
            Some(tokio::join!(&mut run, cancel).0)
        }
    };
    drop(run);
    let finished = ended.map(|ended| ended.expect("to be stopped is no error").status == Status::Finished);
    outside.lock().returned = true;
    // Work that was left behind has time to act.
    for _ in 0..50 {
        rest.some(1).await;
    }
    outside.lock().returned = false;
    let run = match thread.head().await {
        Ok(_) => thread.resume().await,
        Err(_) => thread.run(Log::update().ran(["in"])).await,
    };
    let ran = run.expect("no node fails").finished().expect("nothing pauses").ran;
    let happened = outside.lock();
    let most_often = happened.effects.values().copied().max().unwrap_or(0);
    Ended { stopped: finished != Some(true), late: happened.late, ran, most_often }
}

/// The final state of every run, however it was stopped.
const WHOLE: [&str; 6] = ["in", "first", "down", "up", "left", "last"];

/// Stops runs at one point after the other until one ends before. Returns the number of points, and of effects that
/// began too late.
fn stop_everywhere(
    graph: &Graph<Log, Stage>,
    rest: Rest,
    stop: fn(usize) -> Stop,
    in_a_file: bool,
) -> (usize, usize) {
    let mut late = 0;
    for point in 0.. {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(!in_a_file).build();
        let stop = stop(point);
        let ended = runtime.expect("a runtime of one thread").block_on(async {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let saver: Arc<dyn Checkpointer> = if in_a_file {
                let options = SqliteSaver::options().durability(Durability::Process);
                Arc::new(options.open(folder.path().join("t.db")).await.expect("a new file opens"))
            } else {
                Arc::new(MemorySaver::new())
            };
            stop_and_resume(graph, rest, stop, saver).await
        });
        assert_eq!(ended.ran, WHOLE, "{stop:?}");
        assert!(ended.most_often <= 2, "{stop:?}: what was unknown was tried once more, and then again");
        late += ended.late;
        if !ended.stopped {
            return (point, late);
        }
    }
    unreachable!("every run ends")
}

fn at_each_poll(stop: fn(usize) -> Stop) {
    let (points, late) = stop_everywhere(&graph(false), Rest::Yields, stop, false);
    assert!(points > 30, "there were {points} polls");
    assert_eq!(late, 0, "effects began after the run had returned");
}

#[test]
fn a_run_that_is_dropped_at_any_poll_starts_nothing_more_and_is_resumed() {
    at_each_poll(Stop::DropAtPoll);
}

#[test]
fn a_run_that_is_cancelled_at_any_poll_starts_nothing_more_and_is_resumed() {
    at_each_poll(Stop::CancelAtPoll);
}

#[test]
fn a_run_in_a_file_that_is_dropped_at_any_poll_starts_nothing_more_and_is_resumed() {
    let (_, late) = stop_everywhere(&graph(false), Rest::Yields, Stop::DropAtPoll, true);
    assert_eq!(late, 0, "effects began after the run had returned");
}

fn milliseconds(point: usize) -> Duration {
    Duration::from_millis(u64::try_from(point).expect("a short time"))
}

fn at_each_millisecond(stop: fn(usize) -> Stop) {
    let (points, late) = stop_everywhere(&graph(false), Rest::Sleeps, stop, false);
    assert!(points > 30, "it took {points} ms");
    assert_eq!(late, 0, "effects began after the run had returned");
}

#[test]
fn a_run_that_is_dropped_at_any_time_starts_nothing_more_and_is_resumed() {
    at_each_millisecond(|point| Stop::DropAfter(milliseconds(point)));
}

#[test]
fn a_run_that_is_cancelled_at_any_time_starts_nothing_more_and_is_resumed() {
    at_each_millisecond(|point| Stop::CancelAfter(milliseconds(point)));
}

/// The mutant: spawned work that is not an effect continues, and the test detects it.
#[test]
fn work_that_a_node_leaves_behind_is_noticed() {
    let (_, late) = stop_everywhere(&graph(true), Rest::Yields, Stop::CancelAtPoll, false);
    assert!(late > 0, "nothing began after a run had returned, though a node sees to that");
}
