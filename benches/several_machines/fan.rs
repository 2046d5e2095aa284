//! A wide superstep in one process, and spread over four by Restate.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, json};
use superstep::checkpoint::PostgresSaver;

use crate::Place;
use crate::balancer::Balancer;
use crate::graphs::{AT_ONCE, Fan, TASK, fan, lines};
use crate::process::{Process, block_on, ms_since};
use crate::report::{Figure, median, round};
use crate::server::{Server, free_ports};

const ROUNDS: usize = 3;
const TASKS: u32 = 256;
const PROCESSES: usize = 4;

/// M2: 256 tasks of 200 ms on four processes, against one process.
pub(crate) fn spread(place: &Place) -> Figure {
    let url = place.cluster.url("superstep");
    let restate = place.restate.as_ref().expect("the workload is skipped without it");
    block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let saver = PostgresSaver::options().connections(AT_ONCE / 2).open(&url).await.expect("it opens");
        let one = fan(folder.path()).max_concurrency(AT_ONCE).checkpointer(saver);
        let (mut values, mut baselines, mut killed) = (Vec::new(), Vec::new(), Vec::new());
        let mut busy = Vec::new();
        for round in 0..ROUNDS {
            let begun = Instant::now();
            let run = one.thread(format!("one {round}")).run(Fan::update().items(TASKS)).await;
            assert_eq!(run.expect("it runs").state.done.len(), TASKS as usize);
            baselines.push(ms_since(begun));
            let (taken, processes) = through_restate(restate, &url, &format!("spread-{round}"), false).await;
            values.push(taken);
            busy.push(processes as f64);
            let (taken, _) = through_restate(restate, &url, &format!("killed-{round}"), true).await;
            killed.push(taken);
        }
        let costs: Vec<f64> = killed.iter().zip(&values).map(|(killed, value)| killed - value).collect();
        let extra = Map::from_iter([
            ("at_once_a_process".to_owned(), AT_ONCE.into()),
            ("processes_with_tasks".to_owned(), median(&busy).into()),
            ("a_kill_costs_ms".to_owned(), round(median(&costs)).into()),
        ]);
        let target =
            "one process with the same limit, ≤ 0.35; a killed process ≤ 2,000 ms more, no effect twice";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}

/// Runs a fan, and returns its time and the number of processes with tasks. Kills one of them if asked for.
async fn through_restate(restate: &Server, url: &str, thread: &str, kills: bool) -> (f64, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let ports = free_ports(PROCESSES);
    let balancer = Balancer::of_ports(0, &ports).await.address;
    let uri = format!("http://{balancer}");
    let start = |port| Process::worker(url, folder.path(), port, &restate.admin(), &uri);
    let mut workers: Vec<_> = ports.iter().map(|port| start(*port)).collect();
    // Connections are opened before, and Postgres has planned the statements on each: it makes the plan that it keeps at the
    // sixth call of a statement.
    for warm in ["warm", "warmer"] {
        restate.call(&format!("fan/{thread}-{warm}/run"), &json!({ "items": TASKS })).await;
    }
    let before = lines(folder.path(), "worked").len();
    let call = format!("fan/{thread}/run");
    let begun = Instant::now();
    let run = restate.send(&call, &json!({ "items": TASKS })).await;
    if kills {
        while lines(folder.path(), "worked").len() < before + TASKS as usize / 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The next tasks sleep, so none has an effect at this time.
        tokio::time::sleep(TASK / 2).await;
        let busiest = of_processes(folder.path(), before).into_iter().max_by_key(|(_, tasks)| *tasks);
        let (busiest, _) = busiest.expect("some have ended");
        workers.retain(|worker| worker.id() != busiest);
        assert_eq!(workers.len(), PROCESSES - 1, "one of the processes is killed");
    }
    let (status, finished) = restate.response(&run).await;
    let taken = ms_since(begun);
    assert_eq!((status, &finished["status"]), (200, &json!("finished")), "{finished}");
    assert_eq!(finished["values"]["done"].as_array().map(Vec::len), Some(TASKS as usize));
    let effects = lines(folder.path(), "worked").split_off(before);
    let keys: std::collections::HashSet<_> =
        effects.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(keys.len(), TASKS as usize, "each task has an effect");
    assert_eq!(effects.len(), TASKS as usize, "no effect is repeated");
    (taken, of_processes(folder.path(), before).len())
}

/// Returns the number of tasks that each process has ended.
fn of_processes(folder: &Path, before: usize) -> HashMap<u32, usize> {
    let mut all = HashMap::new();
    for line in lines(folder, "worked").into_iter().skip(before) {
        let (_, process) = line.split_once(' ').expect("a key and a process");
        *all.entry(process.parse().expect("a process id")).or_default() += 1;
    }
    all
}
