//! One graph in one process, in several processes, and on several machines. Three lines differ: those with `SqliteSaver`,
//! `PostgresSaver` and `restate`.
//!
//! ```text
//! STORE=trips.db         several_machines serve                   # one machine: a file
//! STORE=postgres://..    several_machines serve                   # several servers, on one database
//! STORE=postgres://..    several_machines work --register ..      # several processes that Restate calls
//! STORE=postgres://..    several_machines serve --restate ..      # a server that hands its runs to them
//! STORE=..               several_machines history THREAD          # the steps of a thread, without ids and times
//! ```
//!
//! `run.sh` in this folder starts all of them, kills a process in the middle of its runs, and compares the histories.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::PostgresSaver;
use superstep::id::IdempotencyKey;
use superstep::prelude::*;
use superstep_examples::{ended, print, usage};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Trip {
    name: String,
    stops: u32,
    #[reducer(Append)]
    booked: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Another,
    Home,
}

/// The other side of an effect: a file for each booking, named by its key. A booking that is sent again replaces the first.
#[derive(Clone)]
struct Desk {
    folder: PathBuf,
}

#[derive(FromRef, Clone)]
struct World {
    desk: Desk,
}

impl Desk {
    async fn book(&self, key: IdempotencyKey, trip: &str, stop: u32) -> std::io::Result<String> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // The file gets its name when it is whole, so a process that is killed here leaves no empty booking.
        let unfinished = self.folder.join(format!(".{key}.{}", std::process::id()));
        fs::write(&unfinished, format!("{trip} {stop} {}\n", std::process::id()))?;
        fs::rename(unfinished, self.folder.join(key.to_string()))?;
        Ok(format!("{trip}, stop {stop}"))
    }
}

async fn book(
    trip: Snapshot<Trip>,
    desk: Dep<Desk>,
    fx: Effects,
) -> Result<(Update<Trip>, Next), std::io::Error> {
    let stop = u32::try_from(trip.booked.len()).unwrap_or(u32::MAX) + 1;
    let (desk, name) = (&*desk, trip.name.as_str());
    let booking = fx.effect("book").idempotent().run(|key| desk.book(key, name, stop)).await?;
    let next = if stop < trip.stops { Next::Another } else { Next::Home };
    Ok((Trip::update().booked([booking]), next))
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut g = StateGraph::<Trip, World>::new("trips");
    let book = g.node("book", book);
    g.edge(START, book);
    g.route(book, move |next| match next {
        Next::Another => to(book),
        Next::Home => END,
    });
    let folder = std::env::var_os("BOOKINGS").map_or_else(std::env::temp_dir, PathBuf::from);
    fs::create_dir_all(&folder)?;
    let trips = g.compile()?.with_context(World { desk: Desk { folder } });

    let store = std::env::var("STORE").unwrap_or_else(|_| "trips.db".into());
    let trips = match store.starts_with("postgres://") {
        false => trips.checkpointer(SqliteSaver::open(&store).await?),
        true => trips.checkpointer(PostgresSaver::open(&store).await?),
    };
    if let Some(exit) = superstep::serve(&[&trips]).subcommand("serve").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::restate(&[&trips]).subcommand("work").await {
        return Ok(exit);
    }

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [word, name] = &arguments[..] else { return usage(&arguments, USAGE) };
    if word != "history" {
        return usage(&arguments, USAGE);
    }
    let thread = trips.thread(name.as_str());
    for past in thread.history()?.collect().await?.iter().rev() {
        print(format_args!("{} {:?} {:?} -> {:?}", past.step, past.source, past.ran, past.next))?;
    }
    print(format_args!("{:?}", thread.head().await?.state()))?;
    Ok(ExitCode::SUCCESS)
}

const USAGE: &str = "several_machines [serve [OPTION ..] | work [OPTION ..] | history THREAD]";
