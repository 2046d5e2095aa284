//! What the nodes of a play do: dawdle, act, ask, fail.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use superstep::error::NodeError;
use superstep::id::TaskId;
use superstep::node::{Ask, Effects, FromRef, TaskInfo};
use superstep::run::CancellationToken;

/// What a node that fails says.
pub(crate) const TOLD: &str = "it was told to";

/// What goes wrong in a run, counted from its beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// This execution of a node fails.
    Fail(usize),
    /// The run is cancelled while a node gives way for this time.
    Cancel(usize),
    /// This execution of a node fails, and its policy tries again.
    Retry(usize),
    /// A task of this node and superstep asks before it finishes.
    Ask(String, i64),
    /// This call to the store fails, before or after it did what it was asked.
    Store(usize, Moment),
    /// The run's future is dropped after so many polls.
    Drop(usize),
}

/// When a call to the store fails.
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
    /// From it follows how often each task gives way before it ends.
    pub(crate) pace: u64,
    pub(crate) trouble: Trouble,
    pub(crate) token: CancellationToken,
    executions: usize,
    yields: usize,
    /// How often each task came to its end.
    finished: BTreeMap<TaskId, usize>,
    /// How often each effect happened.
    effects: BTreeMap<(TaskId, usize), usize>,
    /// Calls to the store so far, while a run is under way.
    calls: usize,
    pub(crate) running: bool,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Backstage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every node does before it returns.
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

    /// The effects of a task: none, one, or two at a time.
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

    /// Counts a call to the store: when it is to fail, if it is.
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

    /// Whether an effect happened twice.
    pub(crate) fn doubled(&self) -> bool {
        self.lock().effects.values().any(|times| *times > 1)
    }

    /// How many effects happened.
    pub(crate) fn effects(&self) -> usize {
        self.lock().effects.values().sum()
    }

    pub(crate) fn executions(&self) -> usize {
        self.lock().executions
    }

    /// How often the store was called.
    pub(crate) fn calls(&self) -> usize {
        self.lock().calls
    }

    pub(crate) fn yields(&self) -> usize {
        self.lock().yields
    }

    /// Whether a task came to its end twice.
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
