//! Time travel: look back at a run, fork it before a step, edit the state there, and compare both ends.
//!
//! ```text
//! cargo run --bin time_travel
//! cargo run --bin time_travel -- debug log poor --graph
//! cargo run --bin time_travel -- debug compare rich poor
//! ```

use std::error::Error;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep_examples::{ended, print, usage};

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    budget: u32,
    #[reducer(Append)]
    legs: Vec<String>,
    hotel: String,
}

async fn travel(trip: Snapshot<Trip>) -> Update<Trip> {
    let by = if trip.budget >= 500 { "plane" } else { "train" };
    Trip::update().legs([format!("to Lisbon by {by}")])
}

async fn book(trip: Snapshot<Trip>) -> Update<Trip> {
    let hotel = if trip.budget >= 300 { "Palace" } else { "Hostel" };
    Trip::update().hotel(hotel).legs(["to the hotel"])
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| !["debug", "serve"].contains(&first.as_str())) {
        return usage(&arguments, "time_travel [debug VERB .. | serve [OPTION ..]]");
    }
    let mut g = StateGraph::<Trip>::new("trip");
    let travel = g.node("travel", travel);
    let book = g.node("book", book);
    g.edge(START, travel);
    g.edge(travel, book);
    g.edge(book, END);
    let db = std::env::temp_dir().join("superstep-time-travel.db");
    let trips = g.compile()?.checkpointer(SqliteSaver::open(&db).await?);
    if let Some(exit) = superstep::debugger(&[&trips]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&trips]).subcommand("serve").await {
        return Ok(exit);
    }

    let rich = trips.thread("rich");
    // The threads of an earlier run.
    rich.delete().await?;
    trips.thread("poor").delete().await?;
    rich.run(Trip { budget: 900, ..Trip::default() }).await?.finished()?;
    print("the thread's checkpoints, newest first:")?;
    let mut history = rich.history()?;
    while let Some(checkpoint) = history.next().await? {
        let (step, ran, next) = (checkpoint.step, &checkpoint.ran, &checkpoint.next);
        print(format_args!("  step {step:>2}  ran {ran:?}  next {next:?}"))?;
    }

    // A fork before the hotel was booked. It shares the past and copies nothing.
    let poor = rich.before(book).await?.fork("poor").await?;
    poor.edit(Trip::update().budget(100)).await?;
    poor.resume().await?.finished()?;

    for thread in [&rich, &poor] {
        let head = thread.head().await?;
        print(format_args!("{}: {:?}", thread.id(), head.state()))?;
    }
    let (rich, poor) = (rich.head().await?.into_state(), poor.head().await?.into_state());
    assert_eq!(rich.legs, poor.legs, "the flight was booked before the fork");
    assert_ne!(rich.hotel, poor.hotel, "the hotel after it");
    Ok(ExitCode::SUCCESS)
}
