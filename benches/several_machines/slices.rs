//! The cost of Restate for a run, and the time until it continues a run whose process was killed.

use std::time::{Duration, Instant};

use serde_json::{Map, json};
use superstep::checkpoint::PostgresSaver;

use crate::Place;
use crate::balancer::Balancer;
use crate::graphs::{Count, count, lines};
use crate::process::{Process, block_on, ms_since};
use crate::report::{Figure, median, round};
use crate::server::free_ports;

const ROUNDS: usize = 30;
const KILLS: usize = 5;
/// The supersteps of a slice.
const SLICE: u64 = 64;

/// M3: a run of one superstep through Restate, against the same run in this process; `extra` has what a superstep costs more
/// in slices of 64.
pub(crate) fn overhead(place: &Place) -> Figure {
    let url = place.cluster.url("superstep");
    let restate = place.restate.as_ref().expect("the workload is skipped without it");
    block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_ports(1)[0];
        let uri = format!("http://127.0.0.1:{port}");
        let _worker = Process::worker(&url, folder.path(), port, &restate.admin(), &uri);
        let here = count(folder.path()).checkpointer(PostgresSaver::open(&url).await.expect("it opens"));
        let timed = async |thread: String, to: u64, through: bool| {
            let begun = Instant::now();
            if through {
                let (status, ended) =
                    restate.call(&format!("count/{thread}/run"), &json!({ "to": to })).await;
                assert_eq!((status, &ended["values"]["count"]), (200, &json!(to)), "{ended}");
            } else {
                let run = here.thread(format!("here {thread}")).run(Count::update().to(to)).await;
                assert_eq!(run.expect("it runs").state.count, to);
            }
            ms_since(begun)
        };
        let (mut values, mut baselines, mut of_64) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let through = timed(format!("one-{round}"), 1, true).await;
            let direct = timed(format!("one-{round}"), 1, false).await;
            let few = timed(format!("few-{round}"), SLICE, true).await;
            let many = timed(format!("many-{round}"), SLICE * 5, true).await;
            let few_here = timed(format!("few-{round}"), SLICE, false).await;
            let many_here = timed(format!("many-{round}"), SLICE * 5, false).await;
            // The first run opens the connections.
            if round > 0 {
                values.push(through);
                baselines.push(direct);
                of_64.push((many - few - (many_here - few_here)) / (SLICE * 4) as f64);
            }
        }
        let more: Vec<f64> =
            values.iter().zip(&baselines).map(|(value, baseline)| value - baseline).collect();
        let extra = Map::from_iter([
            ("a_run_costs_ms_more".to_owned(), round(median(&more)).into()),
            ("a_superstep_in_slices_of_64_costs_ms_more".to_owned(), round(median(&of_64)).into()),
        ]);
        let target = "the run in this process, ≤ 2 ms more; a superstep in slices of 64 ≤ 0.1 ms more";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}

/// M4: from the kill of a process to the next effect of its run, in another process.
pub(crate) fn resumed(place: &Place) -> Figure {
    let url = place.cluster.url("superstep");
    let restate = place.restate.as_ref().expect("the workload is skipped without it");
    block_on(async {
        let mut values = Vec::new();
        for number in 0..KILLS {
            let folder = tempfile::tempdir().expect("a folder");
            let ports = free_ports(2);
            let balancer = Balancer::of_ports(0, &ports).await;
            let uri = format!("http://{}", balancer.address);
            let start = |port| Process::worker(&url, folder.path(), port, &restate.admin(), &uri);
            // The second process begins when the first one has the run.
            let first = start(ports[0]);
            let call = format!("count/resumed-{number}/run");
            let run = restate.send(&call, &json!({ "to": 60, "ms": 20 })).await;
            let counted = async |at_least: usize| {
                while lines(folder.path(), "counted").len() < at_least {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            counted(10).await;
            let _second = start(ports[1]);
            counted(20).await;
            // At a sleep, so that no effect has an unknown outcome.
            tokio::time::sleep(Duration::from_millis(10)).await;
            drop(first);
            let killed = Instant::now();
            let before = lines(folder.path(), "counted").len();
            counted(before + 1).await;
            values.push(ms_since(killed));
            let (status, finished) = restate.response(&run).await;
            assert_eq!((status, &finished["values"]["count"]), (200, &json!(60)), "{finished}");
            let all: Vec<String> = (1..=60).map(|count| count.to_string()).collect();
            assert_eq!(lines(folder.path(), "counted"), all, "no effect is repeated");
        }
        let baselines = vec![20.0; values.len()];
        let extra = Map::from_iter([(
            "most_ms".to_owned(),
            round(values.iter().copied().fold(0.0, f64::max)).into(),
        )]);
        Figure { unit: "ms", values, baselines, extra, target: "a superstep of 20 ms; ≤ 1,500 ms" }
    })
}
