//! Servers on one file or one Postgres database, killed at random moments under the load of clients: every accepted run ends once, in a status
//! on which all readers agree, and no recorded effect runs again. Servers that wake each other are in [`signals`], and those
//! of two versions of a program in [`versions`].
//!
//! The servers are this test's own program, started again: see [`server`]. `SUPERSTEP_KILLS=1000` sets the number of
//! kills, `SUPERSTEP_KILLS_SEED` another seed.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a long run of the tests says how far it is")]

// The derives name the facade, which depends on this package.
extern crate superstep_core as superstep;

mod cancelling;
mod check;
mod checked;
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
mod dice;
mod http;
mod load;
mod mutant;
mod paused;
mod place;
mod recording;
mod server;
mod signals;
mod stopping;
mod versions;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinSet;

use check::Totals;
use checked::Checked;
use cluster::Cluster;
use dice::Dice;
use load::World;
use mutant::Mutant;
use place::Place;
use server::Started;

/// The number of kills, unless `SUPERSTEP_KILLS` says otherwise.
const KILLS: u64 = 50;

/// The number of kills of servers on Postgres, unless `SUPERSTEP_KILLS` says otherwise.
const ON_POSTGRES: u64 = 20;

/// The number of kills within which a mutant must fail.
const OF_MUTANT: u64 = 200;

/// The number of clients.
const CLIENTS: u64 = 32;

/// The time in which the clients of a round must finish after its last kill.
const PATIENCE: Duration = Duration::from_secs(180);

/// Held by each test of this program, because some measure times and others take all of the machine.
pub(crate) static ALONE: Mutex<()> = Mutex::const_new(());

/// The kills of a test.
struct Moments {
    /// The number of kills after which the clients stop and everything is checked.
    round: u64,
    /// The numbers of servers, by turns from round to round.
    servers: &'static [usize],
    /// Of two servers, one in so many is suspended before it is killed.
    suspended: u64,
    /// The defect of the servers.
    mutant: Option<Mutant>,
}

#[test]
fn accepted_runs_end_once_although_servers_are_killed() {
    nothing_is_lost(dice::number("SUPERSTEP_KILLS").unwrap_or(KILLS), Place::file);
}

#[test]
fn accepted_runs_on_postgres_end_once_although_servers_are_killed() {
    let Some(cluster) = Cluster::shared() else { return };
    let kills = dice::number("SUPERSTEP_KILLS").unwrap_or(ON_POSTGRES);
    nothing_is_lost(kills, |folder| Place::postgres(folder, &cluster));
}

fn nothing_is_lost(kills: u64, place: impl Fn(&Path) -> Place) {
    let moments = Moments { round: 10, servers: &[1, 2], suspended: 4, mutant: None };
    let (totals, checked) = moments.run(kills, place);
    checked.unwrap_or_else(|violation| panic!("after {} kills: {violation}", totals.kills));
    assert!(
        totals.resumed > 0 && totals.back > 0 && totals.success > 0,
        "the moments are not what they should be: {totals:?}"
    );
}

#[test]
fn a_run_that_is_answered_before_it_is_durable_is_noticed() {
    notices(
        Moments { round: 5, servers: &[1], suspended: 1, mutant: Some(Mutant::AnsweredBeforeDurable) },
        Place::file,
    );
}

#[test]
fn a_run_that_ends_after_its_stream_is_noticed() {
    notices(
        Moments { round: 5, servers: &[1], suspended: 1, mutant: Some(Mutant::EndedAfterStream) },
        Place::file,
    );
}

#[test]
fn a_missing_fence_is_noticed() {
    notices(
        Moments { round: 5, servers: &[2], suspended: 1, mutant: Some(Mutant::WithoutFence) },
        Place::file,
    );
}

#[test]
#[ignore = "it takes a minute; `just kills`"]
fn a_claim_of_a_run_that_another_server_has_is_noticed() {
    let Some(cluster) = Cluster::shared() else { return };
    let defect = ("claimable", "q.status = 'running' AND q.until <= _now", "q.status = 'running'");
    let moments = Moments { round: 1, servers: &[2], suspended: 1, mutant: None };
    notices(moments, |folder| Place::with(defect, folder, &cluster));
}

/// Checks that servers with a defect are noticed.
fn notices(moments: Moments, place: impl Fn(&Path) -> Place) {
    let (totals, checked) = moments.run(OF_MUTANT, place);
    let violation = checked.expect_err("the checks notice nothing");
    let violation: String = violation.chars().take(200).collect();
    println!("after {} kills, {violation}", totals.kills);
}

impl Moments {
    /// Kills servers until so many were killed, or a violation is found.
    fn run(&self, kills: u64, place: impl Fn(&Path) -> Place) -> (Totals, Checked<()>) {
        let _alone = ALONE.blocking_lock();
        let mut dice = Dice::new();
        let folder = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        let folder = tempfile::tempdir_in(folder).expect("a folder");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (begun, mut totals, mut checked) = (Instant::now(), Totals::default(), Ok(()));
        let place = place(folder.path());
        for number in 0.. {
            if checked.is_err() || totals.kills >= kills {
                break;
            }
            let of_round = self.round.min(kills - totals.kills);
            checked = runtime.block_on(self.round(&place, of_round, number, &mut dice, &mut totals));
        }
        println!("{totals:?} in {:?}", begun.elapsed());
        (totals, checked)
    }

    /// Kills servers under load, waits for the clients, and checks everything that they were told.
    async fn round(
        &self,
        place: &Place,
        kills: u64,
        number: usize,
        dice: &mut Dice,
        totals: &mut Totals,
    ) -> Checked<()> {
        let start = || Started::with_defect(place, self.mutant);
        let servers = self.servers[number % self.servers.len()];
        let world = Arc::new(World::default());
        let mut running: Vec<Started> = (0..servers).map(|_| start()).collect();
        world.set(&running);
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            clients.spawn(load::client(Arc::clone(&world), format!("{number}-{client}"), dice.split()));
        }
        let mut lost = kills;
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_millis(50 + dice.below(500))).await;
            let victim = dice.below(servers as u64) as usize;
            if servers > 1 && dice.below(self.suspended) == 0 {
                // A suspended server continues with work that has become another one's.
                running[victim].suspend();
                tokio::time::sleep(server::LEASE * 2).await;
                running[victim].resume();
                tokio::time::sleep(Duration::from_millis(dice.below(200))).await;
                totals.suspended += 1;
                lost += 1;
            }
            running[victim].kill();
            totals.kills += 1;
            world.set(&running);
            running[victim] = start();
            world.set(&running);
        }
        world.stop();
        let mut asked = Vec::new();
        let all = async {
            while let Some(of_client) = clients.join_next().await {
                asked.extend(of_client.expect("the client has ended")?);
            }
            Ok::<(), String>(())
        };
        match tokio::time::timeout(PATIENCE, all).await {
            Ok(ended) => ended?,
            Err(_) => {
                let mut runs = Vec::new();
                for path in world.followed() {
                    runs.push((world.read(&path).await?, path));
                }
                return Err(format!("the streams of these runs do not end: {runs:#?}"));
            }
        }
        check::check(&world, place, &asked, lost, totals).await?;
        running.iter_mut().for_each(Started::kill);
        place.verify()
    }
}
