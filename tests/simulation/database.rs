//! The same in a Postgres database: with the functions of the saver, and with functions that have a defect each.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::{Checkpointer, PostgresSaver};
use tokio::runtime::Runtime;

use crate::cluster::{Cluster, Defect};
use crate::driver::THREAD;
use crate::play::{Graphs, Played, Seed};
use crate::{SEEDS_OF_A_FLAW, seeds};

/// The number of seeds in the gate.
const SEEDS: u64 = 150;

/// A schema of a database.
struct Database {
    cluster: Arc<Cluster>,
    schema: &'static str,
}

impl Database {
    /// Creates the schema; `None` where Postgres is not installed.
    fn new(schema: &'static str) -> Option<Self> {
        let database = Self { cluster: Cluster::shared()?, schema };
        runtime().block_on(database.saver());
        Some(database)
    }

    /// Creates the schema, and puts a defect into a function.
    fn with(schema: &'static str, defect: Defect) -> Option<Self> {
        let database = Self::new(schema)?;
        database.cluster.replace_in(schema, defect);
        Some(database)
    }

    async fn saver(&self) -> PostgresSaver {
        let options = PostgresSaver::options().schema(self.schema).connections(1);
        options
            .busy_limit(Duration::from_secs(60))
            .open(self.cluster.url("superstep"))
            .await
            .expect("it opens")
    }

    /// Runs a seed. Each driver has a saver of its own, with its own knowledge of the thread.
    fn play(&self, graphs: &Graphs, number: u64, place: u16) -> (Seed, Played) {
        let seed = Seed { number, place, flaw: None, defers: false };
        let played = runtime().block_on(async {
            let mut savers: Vec<Arc<dyn Checkpointer>> = Vec::new();
            for _ in 0..3 {
                savers.push(Arc::new(self.saver().await));
            }
            let played = seed.play(graphs, &savers).await;
            savers[0].delete(&"simulated".into(), &THREAD.into()).await.expect("it is deleted");
            played
        });
        (seed, played)
    }
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime of one thread")
}

#[test]
fn the_same_holds_in_a_database() {
    let Some(database) = Database::new("simulation") else { return };
    let graphs = Graphs::new();
    for number in seeds(SEEDS) {
        let (seed, played) = database.play(&graphs, number, 9);
        if let Some(complaint) = played.complaint(seed) {
            panic!("{complaint}");
        }
    }
}

/// Runs seeds until a defect shows.
#[expect(clippy::print_stdout, reason = "the violation that a test with a defect finds")]
fn shows(schema: &'static str, place: u16, defect: Defect) {
    let Some(database) = Database::with(schema, defect) else { return };
    let graphs = Graphs::new();
    let first = (0..SEEDS_OF_A_FLAW).find_map(|number| {
        let (_, played) = database.play(&graphs, number, place);
        played.verdict.err().map(|wrong| (number, wrong))
    });
    let (number, wrong) = first.expect("the defect does not show");
    println!("seed {number}: {wrong}");
}

#[test]
fn a_database_that_does_not_compare_the_head_is_noticed() {
    shows("no_compare", 10, ("commit", "IF _head_id IS DISTINCT FROM _expected THEN", "IF false THEN"));
}

#[test]
fn a_database_that_overlooks_what_is_recorded_is_noticed() {
    shows("no_recorded", 11, ("commit", "IF _recorded IS NOT NULL AND", "IF false AND"));
}

#[test]
fn a_database_in_which_a_later_result_counts_is_noticed() {
    let guard = "IF _held.recorded IS NULL OR _held.text = _without THEN";
    shows("no_first", 12, ("record", guard, "IF true THEN"));
}

#[test]
fn a_database_in_which_two_begin_an_effect_is_noticed() {
    shows("no_intent", 13, ("begin_effect", "k := 5;", "k := NULL;"));
}

#[test]
fn a_database_that_takes_work_of_a_superseded_driver_is_noticed() {
    shows("no_place", 14, ("place", "IF seq <> _head THEN", "IF false THEN"));
}
