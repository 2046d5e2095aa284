//! The graphs of the drivers: one for each way in which work is stored. No execution of a node returns the same result
//! twice.

use serde::{Deserialize, Serialize};
use superstep::graph::NodeRef;
use superstep::id::IdempotencyKey;
use superstep::node::NoInput;
use superstep::prelude::*;

use crate::facts::Happening;
use crate::world::World;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    #[reducer(Append)]
    pub(crate) log: Vec<String>,
    #[reducer(Sum)]
    pub(crate) total: u64,
}

/// The context of a driver's nodes: the world, and the driver.
#[derive(Clone, FromRef)]
pub(crate) struct Stage {
    pub(crate) actor: Actor,
}

#[derive(Clone)]
pub(crate) struct Actor {
    pub(crate) world: World,
    pub(crate) driver: usize,
}

/// The kind of graph of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    Chain,
    FanOut,
    Interrupt,
    Effect,
    Subgraph,
}

impl Workload {
    pub(crate) const ALL: [Self; 5] =
        [Self::Chain, Self::FanOut, Self::Interrupt, Self::Effect, Self::Subgraph];

    /// Its graph, which still needs a [`Stage`].
    pub(crate) fn graph(self) -> Graph<Ledger, Stage> {
        let mut g = StateGraph::<Ledger, Stage>::new("simulated");
        match self {
            Self::Chain => chain(&mut g),
            Self::FanOut => fan_out(&mut g),
            Self::Interrupt => interrupt(&mut g),
            Self::Effect => effect(&mut g),
            Self::Subgraph => subgraph(&mut g),
        }
        g.compile().expect("sound")
    }
}

impl Actor {
    /// Pauses for a while, or not at all.
    async fn dawdle(&self) {
        while self.world.one_in(2) {
            self.world.pause(self.driver).await;
        }
    }

    /// Fails at random, while failures are enabled.
    fn stumble(&self) -> Result<(), NodeError> {
        if !self.world.is_calm() && self.world.one_in(30) {
            self.world.lock().facts.see("a node that failed");
            return Err(NodeError::terminal(STUMBLED));
        }
        Ok(())
    }

    /// A text that no other execution of any node writes.
    fn word(&self, what: &str) -> Update<Ledger> {
        let total = self.world.below(100);
        Ledger::update()
            .log([format!("{what}#{}", self.world.word())])
            .total(u64::try_from(total).unwrap_or(0))
    }

    /// Does something to the outside world.
    async fn happen(&self, token: IdempotencyKey, policy: OnUnknown) -> Result<usize, &'static str> {
        let token = token.to_string();
        let time = self.world.lock().facts.happens(&token, policy);
        let mut seen = Seen { world: &self.world, token: &token, time, how: Happening::Abandoned };
        self.dawdle().await;
        if !self.world.is_calm() && self.world.one_in(10) {
            seen.how = Happening::Failed;
            return Err(DECLINED);
        }
        seen.how = Happening::Succeeded;
        Ok(self.world.word())
    }

    /// Runs a random number of effects, or all of them when failures are disabled.
    async fn act(&self, fx: &Effects, name: &str, policy: OnUnknown) -> Result<Update<Ledger>, NodeError> {
        let many = self.world.is_calm() || self.world.one_in(2);
        let mut update = self.word(name);
        for key in 0..=usize::from(many) {
            let value = fx.effect(name).key(key).run(|token| self.happen(token, policy)).await?;
            update = update.log([effect_text(name, key, value)]);
        }
        Ok(update)
    }
}

/// Records the end of an effect; if it was dropped, its outcome is unknown.
struct Seen<'w> {
    world: &'w World,
    token: &'w str,
    time: usize,
    how: Happening,
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.world.lock().facts.happened(self.token, self.time, self.how);
    }
}

/// The error text of a random failure of a node.
pub(crate) const STUMBLED: &str = "the node stumbled";

/// The error text of a failing effect.
pub(crate) const DECLINED: &str = "declined";

/// The write of a node with the value of an effect.
fn effect_text(name: &str, key: usize, value: usize) -> String {
    format!("effect {name} {key} {value}")
}

/// The effect's name, its key and its value, if a text contains one.
pub(crate) fn of_effect(text: &str) -> Option<(&str, &str, &str)> {
    let mut words = text.strip_prefix("effect ")?.split(' ');
    Some((words.next()?, words.next()?, words.next()?))
}

async fn step(task: TaskInfo, actor: Dep<Actor>) -> Result<Update<Ledger>, NodeError> {
    actor.dawdle().await;
    actor.stumble()?;
    Ok(actor.word(task.node().as_str()))
}

/// Draws a value that the journal keeps.
async fn draw(fx: Effects, actor: Dep<Actor>) -> Result<Update<Ledger>, NodeError> {
    actor.dawdle().await;
    let value = fx.random().await;
    actor.dawdle().await;
    actor.stumble()?;
    Ok(actor.word("draw").log([format!("effect $random  {value}")]))
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

async fn choose(actor: Dep<Actor>) -> Result<(Update<Ledger>, Next), NodeError> {
    actor.dawdle().await;
    actor.stumble()?;
    let again = !actor.world.is_calm() && actor.world.one_in(4);
    Ok((actor.word("choose"), if again { Next::Again } else { Next::Done }))
}

fn chain(g: &mut StateGraph<Ledger, Stage>) {
    let first = g.node("first", step);
    let draw = g.node("draw", draw);
    let choose = g.node("choose", choose);
    g.edge(START, first);
    g.edge(first, draw);
    g.edge(draw, choose);
    g.route(choose, move |next| match next {
        Next::Again => to(first),
        Next::Done => END,
    });
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Split(Vec<u32>),
    Straight,
}

async fn plan(actor: Dep<Actor>) -> Result<(Update<Ledger>, Plan), NodeError> {
    actor.dawdle().await;
    actor.stumble()?;
    let parts = u32::try_from(actor.world.below(4)).unwrap_or(0);
    let plan = if parts == 0 { Plan::Straight } else { Plan::Split((0..parts).collect()) };
    Ok((actor.word("plan"), plan))
}

async fn work(part: Input<u32>, actor: Dep<Actor>) -> Result<Update<Ledger>, NodeError> {
    actor.dawdle().await;
    actor.stumble()?;
    Ok(actor.word(&format!("work {}", *part)))
}

fn fan_out(g: &mut StateGraph<Ledger, Stage>) {
    let plan = g.node("plan", plan);
    let work = g.node("work", work);
    let [beside, gather] = ["beside", "gather"].map(|name| g.node(name, step));
    g.edge(START, plan);
    g.edge(START, beside);
    g.route(plan, move |plan| match plan {
        Plan::Split(parts) => each(work, parts),
        Plan::Straight => to(gather),
    });
    g.edge(beside, gather);
    g.edge(work, gather);
    g.edge(gather, END);
}

/// Asks one of several questions, or none.
async fn ask(
    task: TaskInfo,
    ask: Ask<String, usize>,
    actor: Dep<Actor>,
) -> Result<Update<Ledger>, NodeError> {
    actor.dawdle().await;
    actor.stumble()?;
    let node = task.node().as_str();
    let asks = if actor.world.is_calm() { 2 } else { actor.world.below(4) };
    if asks == 0 {
        return Ok(actor.word(node));
    }
    let question = format!("{node} {}", asks == 1);
    let answer = ask.ask(question.clone()).await;
    actor.world.lock().facts.heard(task.thread(), task.task_id(), &question, answer);
    actor.dawdle().await;
    Ok(actor.word(&format!("{node} {answer}")))
}

fn interrupt(g: &mut StateGraph<Ledger, Stage>) {
    let [left, right] = ["left", "right"].map(|name| g.node(name, ask));
    let gather = g.node("gather", step);
    g.edge(START, left);
    g.edge(START, right);
    g.edge(left, gather);
    g.edge(right, gather);
    g.edge(gather, END);
}

/// A node whose effects have this policy.
fn acting(g: &mut StateGraph<Ledger, Stage>, name: &'static str, policy: OnUnknown) -> NodeRef<NoInput, ()> {
    let node = g.node(name, move |fx: Effects, actor: Dep<Actor>| async move {
        actor.dawdle().await;
        actor.stumble()?;
        actor.act(&fx, name, policy).await
    });
    g.policy(node).on_unknown(policy);
    node
}

fn effect(g: &mut StateGraph<Ledger, Stage>) {
    let pay = acting(g, "pay", OnUnknown::Ask);
    let fetch = acting(g, "fetch", OnUnknown::Retry);
    let give = acting(g, "give", OnUnknown::Fail);
    let gather = g.node("gather", step);
    for node in [pay, fetch, give] {
        g.edge(START, node);
        g.edge(node, gather);
    }
    g.edge(gather, END);
}

fn subgraph(g: &mut StateGraph<Ledger, Stage>) {
    let mut inner = StateGraph::<Ledger, Stage>::new("inner");
    let left = inner.node("left", ask);
    let pay = acting(&mut inner, "pay", OnUnknown::Ask);
    let last = inner.node("last", step);
    for node in [left, pay] {
        inner.edge(START, node);
        inner.edge(node, last);
    }
    inner.edge(last, END);
    let lens = Lens::new().share(Ledger::LOG, Ledger::LOG).share(Ledger::TOTAL, Ledger::TOTAL);
    let inner = g.subgraph("inner", inner.compile().expect("sound"), lens);
    let [beside, gather] = ["beside", "gather"].map(|name| g.node(name, step));
    g.edge(START, beside);
    g.edge(beside, gather);
    g.edge(START, inner);
    g.edge(inner, gather);
    g.edge(gather, END);
}
