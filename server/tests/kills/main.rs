//! Servers on one file, killed at random moments under the load of clients: every accepted run ends once, in a status
//! on which all readers agree, and no recorded effect runs again.
//!
//! The servers are this test's own program, started again: see [`server`]. `SUPERSTEP_KILLS=1000` sets the number of
//! kills, `SUPERSTEP_KILLS_SEED` another seed.
#![cfg(target_os = "linux")]

// The derives name the facade, which depends on this package.
extern crate superstep_core as superstep;

mod cancelling;
mod check;
mod dice;
mod http;
mod load;
mod paused;
mod server;
mod stopping;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use superstep_checkpoint::maintenance;
use tokio::task::JoinSet;

use check::Totals;
use dice::Dice;
use load::World;
use server::Started;

/// The number of kills, unless `SUPERSTEP_KILLS` says otherwise.
const KILLS: u64 = 50;

/// The number of kills after which the clients stop and everything is checked.
const ROUND: u64 = 10;

/// The number of clients.
const CLIENTS: u64 = 32;

/// The time in which the clients of a round must finish after its last kill.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "takes a second for each kill; `just kills` runs it"]
fn accepted_runs_end_once_although_servers_are_killed() {
    let kills = dice::number("SUPERSTEP_KILLS").unwrap_or(KILLS);
    let mut dice = Dice::new();
    let folder = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (begun, mut totals, mut done) = (Instant::now(), Totals::default(), 0);
    for number in 0.. {
        if done >= kills {
            break;
        }
        let of_round = ROUND.min(kills - done);
        let file = folder.path().join("runs.db");
        let servers = if number % 2 == 0 { 1 } else { 2 };
        runtime.block_on(round(&file, servers, of_round, number, &mut dice, &mut totals));
        done += of_round;
        let verified = maintenance::verify(file.as_path()).expect("the file can be read");
        assert!(verified.is_sound(), "round {number}: {:#?}", verified.findings);
    }
    println!("{done} kills in {:?}: {totals:?}", begun.elapsed());
    assert!(totals.resumed > 0 && totals.success > 0, "the moments are not what they should be: {totals:?}");
}

/// Kills servers under load, waits for the clients, and checks everything that they were told.
async fn round(file: &Path, servers: usize, kills: u64, number: u64, dice: &mut Dice, totals: &mut Totals) {
    let world = Arc::new(World::default());
    let mut running: Vec<Started> = (0..servers).map(|_| Started::new(file)).collect();
    world.set(&running);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(load::client(Arc::clone(&world), format!("{number}-{client}"), dice.split()));
    }
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(50 + dice.below(500))).await;
        let victim = dice.below(servers as u64) as usize;
        if servers > 1 && dice.below(4) == 0 {
            // A suspended server continues with work that has become another one's.
            running[victim].suspend();
            tokio::time::sleep(server::LEASE * 2).await;
            running[victim].resume();
            totals.suspended += 1;
        }
        running[victim].kill();
        world.set(&running);
        running[victim] = Started::new(file);
        world.set(&running);
    }
    world.stop();
    let mut asked = Vec::new();
    let all = async {
        while let Some(of_client) = clients.join_next().await {
            asked.extend(of_client.expect("the client has ended"));
        }
    };
    if tokio::time::timeout(PATIENCE, all).await.is_err() {
        let mut runs = Vec::new();
        for path in world.followed() {
            runs.push((world.read(&path).await, path));
        }
        panic!("round {number}: the streams of these runs do not end: {runs:#?}");
    }
    check::check(&world, file, &asked, totals).await;
    running.iter_mut().for_each(Started::kill);
}
