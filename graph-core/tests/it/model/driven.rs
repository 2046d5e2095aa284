//! The graphs on the real driver, with any kind of trouble.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use superstep::checkpoint::{Checkpoint, Checkpointer};
use superstep::run::{Ambient, CancellationToken, Graph, Interrupt, Run, RunError, RunEvent, Status, Thread};
use superstep::state::Json;
use uuid::Uuid;

use super::failing::{FAILURE, Failing};
use super::reference::{Ending, Told};
use super::replayed::Replayed;
use super::retold::Logs;
use super::spec::World;
use super::stage::{Shared, Stage, TOLD, Trouble};
use superstep::id::{CheckpointId, NodeName, ThreadId};

/// A source of ids and times that count up.
#[derive(Default)]
struct Counting(Mutex<u64>);

impl Ambient for Counting {
    fn id(&self) -> Uuid {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 1;
        Uuid::from_u64_pair(0x0194_3d4e_7c00_7000 + (*next << 16), 0x8000_0000_0000_0000 | *next)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn roll(&self) -> f64 {
        0.0
    }
}

/// The thread of the graph at the top.
const TOP: &str = "t";

/// The settings of a play, which is a run of a graph.
pub(crate) struct Play {
    pub(crate) pace: u64,
    pub(crate) trouble: Trouble,
    pub(crate) at_once: usize,
    pub(crate) limit: u64,
}

/// The result of a play.
pub(crate) struct Played {
    /// The checkpoints in the form of the reference.
    pub(crate) told: Vec<Told>,
    /// The checkpoints as stored text.
    pub(crate) texts: Vec<String>,
    pub(crate) ending: Ending,
    pub(crate) stage: Shared,
    /// `true` if the trouble came before the end.
    pub(crate) troubled: bool,
    pub(crate) logs: Logs,
    pub(crate) replayed: Replayed,
}

impl Play {
    /// Runs a graph to its end, continuing after all trouble.
    pub(crate) fn run(self, graph: &Graph<World, Stage>) -> Played {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime of one thread").block_on(self.through_all_trouble(graph))
    }

    async fn through_all_trouble(self, graph: &Graph<World, Stage>) -> Played {
        let stage = Stage::default();
        {
            let mut backstage = stage.shared.lock();
            backstage.pace = self.pace;
            backstage.trouble = self.trouble.clone();
        }
        let saver: Arc<dyn Checkpointer> = Arc::new(Failing::new(stage.shared.clone()));
        let (plain, store) = (graph, Arc::clone(&saver));
        let graph = graph.clone().with_context(stage.clone()).shared_checkpointer(saver);
        let graph = graph.ambient(Counting::default()).max_concurrency(self.at_once);
        let live: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
        let log = Arc::clone(&live);
        let graph = graph.observe(move |event: &RunEvent| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        });
        let thread = graph.thread(TOP);
        let mut troubled = false;
        let mut polls = match self.trouble {
            Trouble::Drop(polls) => polls,
            _ => usize::MAX,
        };
        let mut asked = Vec::new();
        let ending = loop {
            let result = self.once(&thread, &stage, polls, std::mem::take(&mut asked)).await;
            polls = usize::MAX;
            match result {
                Some(Ok(run)) => match run.status {
                    Status::Finished => break Ending::Finished,
                    Status::LimitReached { .. } => break Ending::LimitReached,
                    Status::Interrupted { interrupts } => asked = interrupts,
                    Status::Cancelled => {}
                    other => panic!("unexpected request {other:?}"),
                },
                Some(Err(RunError::Conflict { field, first, second, .. })) => {
                    break Ending::Conflict { field, first: first.to_string(), second: second.to_string() };
                }
                Some(Err(RunError::KeptTwice { key, .. })) => break Ending::KeptTwice(key),
                Some(Err(RunError::Node(failure))) => {
                    let why = whole(failure.error.source());
                    let errors = ["supersteps and is not finished", "in one superstep", "two tasks use"];
                    if errors.iter().any(|error| why.contains(error)) {
                        break Ending::Broken;
                    }
                    assert!(why.contains(TOLD) || why.contains(FAILURE), "{why}");
                }
                Some(Err(error)) if matches!(self.trouble, Trouble::Store(..)) => {
                    assert!(error.to_string().contains(FAILURE), "{error}");
                }
                Some(Err(error)) => panic!("{error}"),
                None => {}
            }
            assert!(!troubled || matches!(self.trouble, Trouble::Ask(..)), "trouble comes once");
            troubled = true;
        };
        let mut texts = Vec::new();
        let told = checkpoints(&graph, thread.id().clone(), &mut texts).await.expect("it ran");
        let rebuilt = thread.events().expect("there is a saver").collect().await.expect("it ran");
        let rebuilt = rebuilt.into_iter().map(|past| past.event).collect();
        let live = std::mem::take(&mut *live.lock().unwrap_or_else(PoisonError::into_inner));
        let replayed = Replayed::of(plain, store, TOP, &self.trouble).await;
        Played { told, texts, ending, stage: stage.shared, troubled, logs: Logs { live, rebuilt }, replayed }
    }

    /// Continues the thread with one run; returns `None` if the run was dropped.
    async fn once(
        &self,
        thread: &Thread<World>,
        stage: &Stage,
        mut polls: usize,
        asked: Vec<Interrupt>,
    ) -> Option<Result<Run<World>, RunError>> {
        let token = CancellationToken::new();
        stage.shared.lock().token = token.clone();
        let (request, step) = match thread.head().await {
            Ok(head) if asked.is_empty() => (thread.resume(), head.step()),
            Ok(head) => {
                let one = Json::encode(&1).expect("a number has a JSON form");
                let answers = asked.iter().map(|ask| (ask.id, one.clone()));
                (thread.answers(answers), head.step())
            }
            Err(_) => (thread.run(World::update().log(["in"])), 0),
        };
        let left = self.limit - u64::try_from(step).unwrap_or(0);
        let mut run = request.cancel_on(token).recursion_limit(left).into_future();
        stage.shared.lock().running = true;
        let ended = poll_fn(|context| {
            if polls == 0 {
                return Poll::Ready(None);
            }
            polls -= 1;
            run.as_mut().poll(context).map(Some)
        })
        .await;
        stage.shared.lock().running = false;
        ended
    }
}

/// Collects the checkpoints of a thread and of the threads below it; `None` if the thread does not exist.
fn checkpoints<'a>(
    graph: &'a Graph<World>,
    thread: ThreadId,
    texts: &'a mut Vec<String>,
) -> BoxFuture<'a, Option<Vec<Told>>> {
    Box::pin(async move {
        let on = graph.thread(thread.clone());
        let history = on.history().expect("there is a saver").collect().await.ok()?;
        if history.is_empty() {
            return None;
        }
        let (mut told, mut next) = (Vec::new(), Vec::new());
        for summary in history.iter().rev() {
            let past = on.at(summary.id).await.expect("it is in the history");
            let names = |names: &[NodeName]| names.iter().map(ToString::to_string).collect();
            let mut inside = Vec::new();
            for task in std::mem::take(&mut next) {
                inside.extend(checkpoints(graph, thread.below(task), texts).await);
            }
            let checkpoint = &past.loaded().checkpoint;
            next = checkpoint
                .frontier
                .tasks
                .iter()
                .map(|task| task.id(checkpoint.id, checkpoint.step))
                .collect();
            texts.push(text_of(checkpoint, thread.as_str() == TOP));
            told.push(Told {
                step: summary.step,
                ran: names(&summary.ran),
                next: names(&summary.next),
                world: past.into_state(),
                inside,
            });
        }
        Some(told)
    })
}

/// Returns a checkpoint as stored. Below the top, ids depend on the order in which subgraphs run, so they are left
/// out.
fn text_of(checkpoint: &Checkpoint, with_ids: bool) -> String {
    let mut checkpoint = checkpoint.clone();
    for kept in &mut checkpoint.frontier.kept {
        (kept.thread, kept.checkpoint) = ("#".into(), CheckpointId(Uuid::nil()));
    }
    let text = serde_json::to_string(&checkpoint).expect("it is stored as JSON");
    if with_ids {
        return text;
    }
    let ids = [Some(checkpoint.id), checkpoint.parent];
    ids.iter().flatten().fold(text, |text, id| text.replace(&id.to_string(), "#"))
}

/// Formats an error with its causes.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
