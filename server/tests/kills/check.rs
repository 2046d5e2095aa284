//! The checks after a round: what the clients were told, compared with the server and with the effects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use std::sync::Arc;
use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::Checkpointer;
use superstep_core::records::RunRow;

use crate::dice::Dice;
use crate::http::Event;
use crate::load::{Asked, World};
use crate::server::effects;

/// The time in which the runs end that no client follows.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of runs in all rounds, by their ends.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) suspended: u64,
    /// Runs with more than one attempt in their streams.
    pub(crate) resumed: u64,
    /// Streams to which a client came back.
    pub(crate) back: u64,
    pub(crate) success: u64,
    pub(crate) interrupted: u64,
    pub(crate) error: u64,
    pub(crate) rolled_back: u64,
    pub(crate) refused: u64,
    pub(crate) unanswered: u64,
}

/// Waits until all runs have ended, and checks them.
pub(crate) async fn check(world: &Arc<World>, file: &Path, asked: &[Asked], totals: &mut Totals) {
    let mut threads = BTreeMap::<&str, Vec<&Asked>>::new();
    for one in asked {
        threads.entry(&one.thread).or_default().push(one);
    }
    let deadline = Instant::now() + PATIENCE;
    let mut states = Vec::new();
    for (thread, asked) in threads {
        let runs = loop {
            let runs =
                world.read(&format!("/threads/{thread}/runs?limit=1000")).await.expect("the thread exists");
            let runs = runs.as_array().expect("a list").clone();
            let open =
                runs.iter().find(|run| ["pending", "running"].iter().any(|open| run["status"] == *open));
            let Some(open) = open else { break runs };
            if Instant::now() >= deadline {
                let rows = stored(file, open["run_id"].as_str().expect("an id")).await;
                panic!("a run does not end: {rows:#?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let state = world.read(&format!("/threads/{thread}/state")).await.expect("the thread exists");
        let row = world.read(&format!("/threads/{thread}")).await.expect("the thread exists");
        states.push((thread, asked, runs, state, row));
    }
    // An effect of a run that has ended may not happen later.
    let effects = std::fs::read_to_string(effects(file)).unwrap_or_default();
    let mut happened = BTreeMap::<&str, Vec<&str>>::new();
    for line in effects.lines() {
        happened.entry(line.split(' ').next().expect("a token")).or_default().push(line);
    }
    for (token, lines) in &happened {
        assert_eq!(lines.len(), 1, "the effect of {token} happened more than once");
    }
    for (thread, asked, runs, state, row) in states {
        let thread = Thread { name: thread, asked, runs, state, row, happened: &happened };
        thread.check(totals);
        thread.check_streams(world, totals).await;
    }
}

/// Returns the stored row of a run, now and a second later.
async fn stored(file: &Path, run: &str) -> Vec<Option<RunRow>> {
    let saver: Arc<dyn Checkpointer> = Arc::new(SqliteSaver::open(file).await.expect("the file opens"));
    let records = Arc::clone(&saver).records().expect("the saver has rows");
    let first = records.run(run).await.expect("the row");
    tokio::time::sleep(Duration::from_secs(1)).await;
    vec![first, records.run(run).await.expect("the row")]
}

struct Thread<'a> {
    name: &'a str,
    asked: Vec<&'a Asked>,
    /// The runs, newest first.
    runs: Vec<Value>,
    state: Value,
    row: Value,
    happened: &'a BTreeMap<&'a str, Vec<&'a str>>,
}

impl Thread<'_> {
    /// Returns the status of the run of a request; `None` if there is no run.
    fn status(&self, asked: &Asked) -> Option<&str> {
        let mut runs = self.runs.iter().filter(|run| run["metadata"]["token"] == asked.token);
        let run = runs.next()?;
        assert!(runs.next().is_none(), "two runs for one request: {asked:?}");
        if let Some(id) = &asked.run {
            assert_eq!(run["run_id"], *id, "the run has another id than the answer");
        }
        run["status"].as_str()
    }

    /// Returns `true` if a request to roll the run back was sent.
    fn may_be_rolled_back(&self, position: usize) -> bool {
        let later = &self.asked[position + 1..];
        self.asked[position].cancelled == Some("rollback")
            || later.iter().any(|later| later.multitask == "rollback" && !later.refused)
    }

    fn check(&self, totals: &mut Totals) {
        let name = self.name;
        assert_ne!(self.row["status"], "busy", "thread {name} has no run that could end");
        let lines: Vec<&str> = self.state["values"]["lines"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut groups: Vec<&[&str]> = lines.chunk_by(|one, next| token(one) == token(next)).collect();
        for (position, asked) in self.asked.iter().enumerate() {
            let status = self.status(asked);
            let own = groups.iter().position(|group| token(group[0]) == asked.token);
            let own = own.map(|at| groups.remove(at)).unwrap_or_default();
            let effect = self.happened.get(&*asked.token).map(|lines| lines[0]);
            let whole = [
                format!("{} first", asked.token),
                effect.unwrap_or_default().into(),
                format!("{} last", asked.token),
            ];
            assert!(
                own.len() <= 3 && own.iter().zip(&whole).all(|(line, whole)| line == whole),
                "{asked:?}: {own:?}"
            );
            match status {
                Some("success") => {
                    totals.success += 1;
                    assert_eq!(own, whole, "{asked:?}");
                }
                Some("interrupted") => totals.interrupted += 1,
                Some("error") => totals.error += 1,
                Some(other) => panic!("{asked:?}: {other}"),
                None => {
                    assert!(own.is_empty(), "a run that is gone left {own:?}: {asked:?}");
                    match (asked.refused, &asked.run) {
                        (true, _) => totals.refused += 1,
                        (false, None) => totals.unanswered += 1,
                        (false, Some(_)) => {
                            assert!(self.may_be_rolled_back(position), "an accepted run is lost: {asked:?}");
                            totals.rolled_back += 1;
                        }
                    }
                }
            }
            if asked.refused {
                assert_eq!(status, None, "a refused run exists: {asked:?}");
            }
            if let (Some(values), Some("success")) = (&asked.values, status) {
                let told = values["lines"].as_array().expect("a list");
                assert_eq!(told[told.len() - 3..], whole, "{asked:?}");
            }
        }
        assert!(groups.is_empty(), "the work of runs is mixed: {lines:?}");
        // The newest run is the last one that was driven.
        match self.runs.first().map(|run| &run["status"]) {
            Some(status) if status == "success" => assert_eq!(self.row["status"], "idle", "thread {name}"),
            Some(status) if status == "error" => assert_eq!(self.row["status"], "error", "thread {name}"),
            _ => {}
        }
    }

    /// Checks the streams that clients followed, and the ids of the thread's events.
    async fn check_streams(&self, world: &World, totals: &mut Totals) {
        let mut told = BTreeMap::<u64, &Event>::new();
        for asked in &self.asked {
            for event in &asked.seen {
                let before = told.insert(event.number(), event);
                assert!(before.is_none(), "an id was given twice: {before:?}, {} {event:?}", asked.token);
            }
        }
        for asked in self.asked.iter().filter(|asked| !asked.seen.is_empty()) {
            let Some(status) = self.status(asked) else { continue };
            assert!(asked.has_ended, "the stream did not end: {asked:?}");
            let path = format!("/threads/{}/runs/{}", self.name, asked.run.as_deref().expect("a run"));
            let mut whole = Vec::new();
            assert!(world.follow(&path, &mut whole, &mut Dice::new()).await, "{path}");
            let numbers: Vec<u64> = whole.iter().map(Event::number).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{path}: {numbers:?}");
            let attempts = whole.iter().filter(|event| event.name == "metadata").count();
            totals.resumed += u64::from(attempts > 1);
            let errors = asked.seen.iter().filter(|event| event.name == "error").count();
            assert_eq!(errors, usize::from(status == "error"), "{status}: {asked:?}");
            totals.back += u64::from(asked.came_back);
            assert_eq!(asked.seen, whole, "{path}");
            if status == "success" {
                self.check_told(asked);
            }
        }
    }

    /// Checks that the events of a successful run tell its whole work.
    fn check_told(&self, asked: &Asked) {
        let updates: BTreeSet<&str> = asked
            .seen
            .iter()
            .filter(|event| event.name == "updates")
            .flat_map(|event| event.data.as_object().into_iter().flat_map(|nodes| nodes.keys()))
            .map(String::as_str)
            .collect();
        assert_eq!(updates, BTreeSet::from(["act", "first", "last"]), "{asked:?}");
        let values = asked.seen.iter().rfind(|event| event.name == "values").expect("values");
        let last = values.data["lines"].as_array().and_then(|lines| lines.last());
        assert_eq!(last, Some(&format!("{} last", asked.token).into()), "{asked:?}");
    }
}

/// Returns the token at the begin of a line.
fn token(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}
