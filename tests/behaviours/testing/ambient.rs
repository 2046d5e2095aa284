//! Waits that take no real time, and runs that store the same bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use superstep::checkpoint::{At, CheckpointerExt};
use superstep::driver::checkpoint::Loaded;
use superstep::prelude::*;
use superstep::run::Ambient;
use superstep::testing::TestAmbient;

use crate::testing::program::Essay;

const DAY: Duration = Duration::from_secs(86_400);

fn slow(ambient: &TestAmbient, saver: Arc<MemorySaver>) -> Graph<Essay> {
    let mut g = StateGraph::<Essay>::new("slow");
    let work = g.node("work", async |info: TaskInfo, fx: Effects| {
        let (now, id, chance) = (fx.now().await, fx.uuid().await, fx.random().await);
        tokio::time::sleep(Duration::from_secs(60)).await;
        if info.attempt() < 3 {
            return Err(NodeError::retryable("not yet"));
        }
        Ok(Essay::update().draft(format!("{now:?} {id} {chance}")))
    });
    let review = g.node("review", async |editor: Ask<String, String>| {
        let verdict = editor.within(DAY, "fine".into()).ask("well?".into()).await;
        Essay::update().topic(verdict)
    });
    g.policy(work).retry(Retry::exponential(3));
    g.edge(START, work);
    g.edge(work, review);
    g.edge(review, END);
    g.compile().unwrap().shared_checkpointer(saver).ambient(ambient.clone())
}

/// Every checkpoint of a run whose question was not answered in time.
async fn checkpoints() -> Vec<Loaded> {
    let (ambient, saver) = (TestAmbient::seeded(7).on_paused_time(), Arc::new(MemorySaver::new()));
    let graph = slow(&ambient, Arc::clone(&saver));
    let thread = graph.thread("t");
    let began = ambient.now();
    let _asked = thread.run(Essay::update()).await.unwrap().interrupted().unwrap();
    let took = ambient.now() - began;
    assert!(took >= Duration::from_secs(180) && took < DAY, "{took:?}");

    assert!(graph.tick().await.unwrap().is_empty(), "nothing is due yet");
    ambient.advance(DAY);
    assert_eq!(graph.tick().await.unwrap().len(), 1);
    let essay = thread.resume().await.unwrap().finished().unwrap();
    assert_eq!(essay.topic, "fine");

    let mut all = Vec::new();
    for line in thread.history().unwrap().collect().await.unwrap() {
        all.extend(saver.read(thread.id(), At::Id(line.id)).await.unwrap());
    }
    all
}

#[tokio::test(start_paused = true)]
async fn days_pass_at_once_and_two_runs_come_to_the_same_bytes() {
    let began = Instant::now();
    let (one, other) = (checkpoints().await, checkpoints().await);
    assert_eq!(one.len(), 4);
    assert_eq!(one, other);
    assert!(began.elapsed() < DAY);
}
