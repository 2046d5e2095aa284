//! A program whose thread is long: each turn draws a value, has parallel tasks with effects, of which one fails at its
//! first attempt, and asks a question.
//!
//! It is this test's own program, started again with [`DB`] in its environment. What happens is noted in a file beside
//! the database.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;

use super::fan_out::Notes;
use super::itself;

/// The test that is the program.
const TEST: &str = "journal::the_journal_of_a_long_thread_is_bounded_and_enough";

/// The number of turns of the thread, and of supersteps in each: `plan`, the siblings, `close`.
pub(crate) const TURNS: usize = 100;
pub(crate) const STEPS: usize = 3;
/// The effects of a turn in the journal: a drawn value, and two of each sibling but the one that asks.
pub(crate) const EFFECTS: usize = 1 + 2 * SIBLINGS;
const SIBLINGS: usize = 3;
/// The sibling whose second effect fails at first.
const UNLUCKY: usize = 2;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shop {
    turn: usize,
    #[reducer(Append)]
    log: Vec<String>,
    #[reducer(Sum)]
    paid: u64,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Buy(Vec<usize>),
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

#[derive(Clone, FromRef)]
struct Deps {
    notes: Notes,
}

/// The value is of no use: it differs from run to run, and what the thread comes to must not.
async fn plan(fx: Effects) -> (Update<Shop>, Plan) {
    let drawn = u64::from(fx.random().await < 1.0);
    (Shop::update().paid(drawn), Plan::Buy((1..=SIBLINGS).collect()))
}

async fn buy(
    item: Input<usize>,
    shop: Snapshot<Shop>,
    task: TaskInfo,
    notes: Dep<Notes>,
    fx: Effects,
) -> Result<Update<Shop>, NodeError> {
    let key = format!("{} of {}", *item, shop.turn);
    let paid =
        fx.run_keyed("pay", &key, || async { notes.note("pay", &task).map(|()| *item as u64) }).await?;
    let ship = || async {
        if *item == UNLUCKY && task.attempt() == 1 {
            return Err(io::Error::other("the road is closed"));
        }
        notes.note("ship", &task).map(|()| format!("parcel {key}"))
    };
    let shipped = fx.run_keyed("ship", &key, ship).await?;
    Ok(Shop::update().paid(paid).log([shipped]))
}

async fn inquire(shop: Snapshot<Shop>, ask: Ask<String, u64>) -> Update<Shop> {
    Shop::update().paid(ask.ask(format!("what is turn {} worth?", shop.turn)).await)
}

async fn close(shop: Snapshot<Shop>) -> (Update<Shop>, Next) {
    let turn = shop.turn + 1;
    (Shop::update().turn(turn), if turn < TURNS { Next::Again } else { Next::Done })
}

/// The graph over a saver, noting what happens.
pub(crate) fn graph(notes: Notes, saver: Arc<dyn Checkpointer>) -> Graph<Shop> {
    let mut g = StateGraph::<Shop, Deps>::new("shop");
    let plan = g.node("plan", plan);
    let buy = g.node("buy", buy);
    let inquire = g.node("inquire", inquire);
    let close = g.node("close", close);
    // Whoever buys twice does no harm: a kill leaves effects of which nobody knows whether they happened.
    g.policy(buy).retry(Retry::fixed(2, Duration::ZERO)).on_unknown(OnUnknown::Retry);
    g.edge(START, plan);
    g.route(plan, move |Plan::Buy(items)| each(buy, items).and(to(inquire)));
    g.join((buy, inquire), close);
    g.route(close, move |next| match next {
        Next::Again => to(plan),
        Next::Done => END,
    });
    g.compile().expect("a sound graph").with_context(Deps { notes }).shared_checkpointer(saver)
}

/// Runs the thread, or what is left of it, and answers what it asks.
pub(crate) async fn to_the_end(thread: &Thread<Shop>) -> Shop {
    let mut run = match thread.resume().await {
        Err(RunError::NothingToResume { .. }) => thread.run(Shop::update()).await,
        resumed => resumed,
    };
    loop {
        let told = run.expect("the run does not fail");
        let Status::Interrupted { interrupts } = &told.status else {
            return told.finished().expect("nothing else stops it");
        };
        let question: String = interrupts[0].question().expect("questions are texts");
        run = thread.answer(&(question.len() as u64)).await;
    }
}

pub(crate) fn command(db: PathBuf, mark: &str) -> Command {
    itself::command(TEST, db, mark)
}

/// Runs the thread, or what is left of it, in the program under test.
pub(crate) fn run() {
    itself::run(async |db, saver, halt| {
        let shop = graph(Notes::beside(db), Arc::new(saver)).observe(halt.at_nodes());
        to_the_end(&shop.thread("t")).await
    });
}

/// The thread in a file that nobody else has open.
pub(crate) async fn thread_in(db: &Path) -> Thread<Shop> {
    let saver = SqliteSaver::open(db).await.expect("the file opens");
    graph(Notes::beside(db), Arc::new(saver)).thread("t")
}
