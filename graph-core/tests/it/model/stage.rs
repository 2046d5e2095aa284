//! The nodes of a play, which can yield, run effects, ask and fail.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use superstep::error::NodeError;
use superstep::id::TaskId;
use superstep::node::{Ask, Effects, FromRef, TaskInfo};
use superstep::run::CancellationToken;

/// The error of a node that fails on request.
pub(crate) const TOLD: &str = "it was told to";

/// The trouble in a run. Positions are counted from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// This execution of a node fails.
    Fail(usize),
    /// The run is cancelled when a node yields for this time.
    Cancel(usize),
    /// This execution of a node fails, and its policy retries it.
    Retry(usize),
    /// The task of this node and superstep asks a question before it finishes.
    Ask(String, i64),
    /// This call to the store fails, before or after the store has carried it out.
    Store(usize, Moment),
    /// The future of the run is dropped after this many polls.
    Drop(usize),
}

/// The moment at which a call to the store fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    Before,
    After,
}

/// The context of the nodes.
#[derive(Clone, Default, FromRef)]
pub(crate) struct Stage {
    pub(crate) shared: Shared,
}

#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Backstage>>);

#[derive(Default)]
pub(crate) struct Backstage {
    /// The seed from which the number of yields of each task is derived.
    pub(crate) pace: u64,
    pub(crate) trouble: Trouble,
    pub(crate) token: CancellationToken,
    executions: usize,
    yields: usize,
    /// The number of times that each task finished.
    finished: BTreeMap<TaskId, usize>,
    /// The number of times that each effect happened.
    effects: BTreeMap<(TaskId, usize), usize>,
    /// The number of calls to the store during the run.
    calls: usize,
    pub(crate) running: bool,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Backstage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the part that is common to all nodes, before a node returns.
    pub(crate) async fn perform(
        &self,
        task: &TaskInfo,
        item: Option<u32>,
        one: &str,
        ask: &Ask<String, u32>,
        fx: &Effects,
    ) -> Result<(), NodeError> {
        let (dawdle, fails, retries, asks) = {
            let mut stage = self.lock();
            let execution = stage.executions;
            stage.executions += 1;
            let asks = matches!(&stage.trouble, Trouble::Ask(node, step)
                if *step == task.step() && node == task.node().as_str());
            let dawdle = mix(stage.pace, &[task.node().as_str(), one], item) % 4;
            let (fails, retries) = (Trouble::Fail(execution), Trouble::Retry(execution));
            (dawdle, stage.trouble == fails, stage.trouble == retries, asks)
        };
        self.act(task, fx).await?;
        for _ in 0..dawdle {
            {
                let mut stage = self.lock();
                if stage.trouble == Trouble::Cancel(stage.yields) {
                    stage.token.cancel();
                }
                stage.yields += 1;
            }
            tokio::task::yield_now().await;
        }
        if asks {
            ask.ask("go on?".into()).await;
        }
        if fails {
            return Err(TOLD.into());
        }
        if retries {
            return Err(NodeError::retryable("not this time"));
        }
        if let Some(id) = task.task_id() {
            *self.lock().finished.entry(id).or_default() += 1;
        }
        Ok(())
    }

    /// Runs the effects of a task: none, one, or two at a time.
    async fn act(&self, task: &TaskInfo, fx: &Effects) -> Result<(), NodeError> {
        let effects = task.node().as_str().len() % 3;
        let effect = |number: usize| async move {
            tokio::task::yield_now().await;
            if let Some(id) = task.task_id() {
                *self.lock().effects.entry((id, number)).or_default() += 1;
            }
            Ok::<_, Infallible>(number)
        };
        let all = (0..effects).map(|number| fx.run_keyed("touch", number, move || effect(number)));
        let numbers = join_all(all).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        assert!(numbers.into_iter().eq(0..effects), "an effect got the value of another");
        Ok(())
    }

    /// Counts a call to the store, and returns the moment at which it must fail, if it must.
    pub(crate) fn store_call(&self) -> Option<Moment> {
        let mut stage = self.lock();
        if !stage.running {
            return None;
        }
        stage.calls += 1;
        match stage.trouble {
            Trouble::Store(call, moment) if call + 1 == stage.calls => Some(moment),
            _ => None,
        }
    }

    /// Returns `true` if an effect happened twice.
    pub(crate) fn doubled(&self) -> bool {
        self.lock().effects.values().any(|times| *times > 1)
    }

    /// Returns the number of effects that happened.
    pub(crate) fn effects(&self) -> usize {
        self.lock().effects.values().sum()
    }

    pub(crate) fn executions(&self) -> usize {
        self.lock().executions
    }

    /// Returns the number of calls to the store.
    pub(crate) fn calls(&self) -> usize {
        self.lock().calls
    }

    pub(crate) fn yields(&self) -> usize {
        self.lock().yields
    }

    /// Returns `true` if a task finished twice.
    pub(crate) fn repeated(&self) -> bool {
        self.lock().finished.values().any(|times| *times > 1)
    }
}

fn mix(pace: u64, names: &[&str], item: Option<u32>) -> u64 {
    let mut hash = pace ^ 0x9e37_79b9_7f4a_7c15;
    let item = u64::from(item.unwrap_or(99));
    for byte in names.iter().flat_map(|name| name.bytes()).map(u64::from).chain([item]) {
        hash = (hash ^ byte).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
    hash >> 7
}
