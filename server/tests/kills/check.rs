//! The checks after a round: what the clients were told, compared with the server and with the effects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use superstep_core::records::{Records, RunRow};

use crate::checked::{Checked, holds};
use crate::dice::Dice;
use crate::http::Event;
use crate::load::{Asked, World};
use crate::place::Place;

/// The time in which the runs end that no client follows.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of kills, and of the runs of all rounds by their ends.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) kills: u64,
    pub(crate) suspended: u64,
    /// Runs with more than one attempt in their streams.
    pub(crate) resumed: u64,
    /// Streams to which a client came back.
    pub(crate) back: u64,
    pub(crate) success: u64,
    pub(crate) interrupted: u64,
    pub(crate) error: u64,
    /// Those with an error that were given up because of lost workers.
    pub(crate) given_up: u64,
    pub(crate) rolled_back: u64,
    pub(crate) refused: u64,
    pub(crate) unanswered: u64,
}

/// Waits until all runs have ended, and checks them. So many servers were lost meanwhile.
pub(crate) async fn check(
    world: &World,
    place: &Place,
    asked: &[Asked],
    lost: u64,
    totals: &mut Totals,
) -> Checked<()> {
    let rows = place.open().await.records().expect("the saver has rows");
    let mut threads = BTreeMap::<&str, Vec<&Asked>>::new();
    for one in asked {
        threads.entry(&one.thread).or_default().push(one);
    }
    let deadline = Instant::now() + PATIENCE;
    let read = async |path: String| world.read(&path).await?.ok_or(format!("{path} is gone"));
    let mut states = Vec::new();
    for (thread, asked) in threads {
        let path = format!("/threads/{thread}");
        let runs = loop {
            let runs = read(format!("{path}/runs?limit=1000")).await?;
            let runs = runs.as_array().expect("a list").clone();
            let open = runs.iter().find(|run| is_open(&run["status"]));
            let Some(open) = open else { break runs };
            if Instant::now() >= deadline {
                let open = stored(&*rows, open["run_id"].as_str().expect("an id")).await;
                return Err(format!("a run does not end: {open:#?}"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let (state, row) = (read(format!("{path}/state")).await?, read(path).await?);
        states.push((thread, asked, runs, state, row));
    }
    // An effect of a run that has ended may not happen later.
    let effects = std::fs::read_to_string(place.effects()).unwrap_or_default();
    let mut happened = BTreeMap::<&str, Vec<&str>>::new();
    for line in effects.lines() {
        happened.entry(line.split(' ').next().expect("a token")).or_default().push(line);
    }
    for (token, lines) in &happened {
        holds!(lines.len() == 1, "the effect of {token} happened more than once");
    }
    for (thread, asked, runs, state, row) in states {
        let thread = Thread { name: thread, asked, runs, state, row, happened: &happened };
        thread.check(totals)?;
        thread.check_rows(&*rows, lost, totals).await?;
        thread.check_log(&*rows).await?;
        thread.check_streams(world, totals).await?;
    }
    Ok(())
}

fn is_open(status: &Value) -> bool {
    ["pending", "running"].iter().any(|open| status == open)
}

/// Returns the stored row of a run, now and a second later.
async fn stored(rows: &dyn Records, run: &str) -> Vec<Option<RunRow>> {
    let first = rows.run(run).await.expect("the row");
    tokio::time::sleep(Duration::from_secs(1)).await;
    vec![first, rows.run(run).await.expect("the row")]
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
    fn status(&self, asked: &Asked) -> Checked<Option<&str>> {
        let mut runs = self.runs.iter().filter(|run| run["metadata"]["token"] == asked.token);
        let Some(run) = runs.next() else { return Ok(None) };
        holds!(runs.next().is_none(), "two runs for one request: {asked:?}");
        if let Some(id) = &asked.run {
            holds!(run["run_id"] == *id, "the run has another id than the answer: {asked:?}");
        }
        Ok(run["status"].as_str())
    }

    /// Returns `true` if a request to roll the run back was sent.
    fn may_be_rolled_back(&self, position: usize) -> bool {
        let later = &self.asked[position + 1..];
        self.asked[position].cancelled == Some("rollback")
            || later.iter().any(|later| later.multitask == "rollback" && !later.refused)
    }

    fn check(&self, totals: &mut Totals) -> Checked<()> {
        let name = self.name;
        holds!(self.row["status"] != "busy", "thread {name} has no run that could end, and is busy");
        let lines: Vec<&str> = self.state["values"]["lines"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut groups: Vec<&[&str]> = lines.chunk_by(|one, next| token(one) == token(next)).collect();
        for (position, asked) in self.asked.iter().enumerate() {
            let status = self.status(asked)?;
            let own = groups.iter().position(|group| token(group[0]) == asked.token);
            let own = own.map(|at| groups.remove(at)).unwrap_or_default();
            let effect = self.happened.get(&*asked.token).map(|lines| lines[0]);
            let whole = [
                format!("{} first", asked.token),
                effect.unwrap_or_default().into(),
                format!("{} last", asked.token),
            ];
            let begins = own.len() <= 3 && own.iter().zip(&whole).all(|(line, whole)| line == whole);
            holds!(begins, "{asked:?}: {own:?}");
            match status {
                Some("success") => {
                    totals.success += 1;
                    holds!(own == whole, "a successful run left {own:?}: {asked:?}");
                }
                Some("interrupted") => totals.interrupted += 1,
                Some("error") => totals.error += 1,
                Some(other) => return Err(format!("a run ended as {other}: {asked:?}")),
                None => {
                    holds!(own.is_empty(), "a run that is gone left {own:?}: {asked:?}");
                    match (asked.refused, &asked.run) {
                        (true, _) => totals.refused += 1,
                        (false, None) => totals.unanswered += 1,
                        (false, Some(_)) => {
                            holds!(self.may_be_rolled_back(position), "an accepted run is lost: {asked:?}");
                            totals.rolled_back += 1;
                        }
                    }
                }
            }
            holds!(!asked.refused || status.is_none(), "a refused run exists: {asked:?}");
            if let Some(ended_as) = &asked.ended_as {
                let ended_as = ended_as.as_deref();
                holds!(ended_as == status, "a run was {ended_as:?} at its end, now {status:?}: {asked:?}");
            }
            if let (Some(values), Some("success")) = (&asked.values, status) {
                let told = values["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
                holds!(told.ends_with(&whole.map(Value::from)), "{told:?} of {asked:?}");
            }
        }
        holds!(groups.is_empty(), "the work of runs is mixed: {lines:?}");
        // The newest run is the last one that was driven.
        let newest = self.runs.first().and_then(|run| run["status"].as_str());
        let resting = match newest {
            Some("success") => "idle",
            Some("error") => "error",
            _ => return Ok(()),
        };
        let row = &self.row["status"];
        holds!(row == resting, "thread {name} is {row} after a run with status {newest:?}");
        Ok(())
    }

    /// Checks that no run began again without a reason, and counts those that were given up because of lost workers.
    async fn check_rows(&self, rows: &dyn Records, lost: u64, totals: &mut Totals) -> Checked<()> {
        for run in &self.runs {
            let row = rows.run(run["run_id"].as_str().expect("an id")).await.expect("the row");
            let row = row.expect("an ended run");
            holds!(
                u64::from(row.attempt) <= 1 + lost,
                "{lost} servers were lost, attempt {} of {row:?}",
                row.attempt
            );
            let error = row.error.and_then(|error| error.decode::<Value>().ok()).unwrap_or_default();
            totals.given_up += u64::from(error["error"] == "RunAbandoned");
        }
        Ok(())
    }

    /// Checks that the log of the thread has one end at most of each run, as its last entry, with the run's status.
    /// Runs that end without a worker have none.
    async fn check_log(&self, rows: &dyn Records) -> Checked<()> {
        let log = rows.events(&self.name.into(), None, None, usize::MAX).await.expect("the log is read");
        let mut runs = BTreeMap::<&str, Vec<Value>>::new();
        for event in &log {
            runs.entry(&event.run).or_default().push(event.text.decode().expect("an entry"));
        }
        let is_end = |entry: &Value| entry["what"]["kind"] == "ended";
        for (run, entries) in &runs {
            let early = entries[..entries.len() - 1].iter().any(is_end);
            holds!(!early, "run {run} has events after its end: {entries:#?}");
        }
        for run in &self.runs {
            let entries = run["run_id"].as_str().and_then(|id| runs.get(id));
            let end = entries.and_then(|entries| entries.last()).filter(|entry| is_end(entry));
            let status = end.map(|end| &end["what"]["status"]);
            holds!(status.is_none_or(|status| *status == run["status"]), "the log has {end:?} for {run}");
        }
        Ok(())
    }

    /// Checks the streams that clients followed, and the ids of the thread's events.
    async fn check_streams(&self, world: &World, totals: &mut Totals) -> Checked<()> {
        let mut told = BTreeMap::<u64, &Event>::new();
        for asked in &self.asked {
            for event in &asked.seen {
                let before = told.insert(event.number()?, event);
                holds!(before.is_none(), "an id was given twice: {before:?}, {} {event:?}", asked.token);
            }
        }
        for asked in self.asked.iter().filter(|asked| !asked.seen.is_empty()) {
            let Some(status) = self.status(asked)? else { continue };
            holds!(asked.has_ended, "the stream did not end: {asked:?}");
            let path = format!("/threads/{}/runs/{}", self.name, asked.run.as_deref().expect("a run"));
            let mut whole = Vec::new();
            holds!(world.follow(&path, &mut whole, &mut Dice::new()).await?, "{path} is gone");
            let numbers = whole.iter().map(Event::number).collect::<Checked<Vec<u64>>>()?;
            holds!(numbers.is_sorted_by(|one, next| one < next), "{path}: {numbers:?}");
            let attempts = whole.iter().filter(|event| event.name == "metadata").count();
            totals.resumed += u64::from(attempts > 1);
            let errors = asked.seen.iter().filter(|event| event.name == "error").count();
            holds!(errors == usize::from(status == "error"), "{errors} errors, {status}: {asked:?}");
            totals.back += u64::from(asked.came_back);
            holds!(asked.seen == whole, "{path}: a client got {:#?} of {whole:#?}", asked.seen);
            if status == "success" {
                check_told(asked)?;
            }
        }
        Ok(())
    }
}

/// Checks that the events of a successful run tell its whole work.
fn check_told(asked: &Asked) -> Checked<()> {
    let updates: BTreeSet<&str> = asked
        .seen
        .iter()
        .filter(|event| event.name == "updates")
        .flat_map(|event| event.data.as_object().into_iter().flat_map(|nodes| nodes.keys()))
        .map(String::as_str)
        .collect();
    holds!(updates == BTreeSet::from(["act", "first", "last"]), "updates of {updates:?}: {asked:?}");
    let values = asked.seen.iter().rfind(|event| event.name == "values");
    let last = values.and_then(|values| values.data["lines"].as_array()).and_then(|lines| lines.last());
    holds!(last == Some(&format!("{} last", asked.token).into()), "the last line is {last:?}: {asked:?}");
    Ok(())
}

/// Returns the token at the begin of a line.
fn token(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}
