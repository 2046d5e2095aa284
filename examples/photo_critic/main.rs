//! Critiques the composition of a photograph, with what a folder of texts advises.
//!
//! ```text
//! cargo run --features images --bin photo_critic
//! cargo run --features images,providers --bin photo_critic -- lake.jpg --model openai:gpt-4.1 --detail high
//! cargo run --features images --bin photo_critic -- ingest transcripts --knowledge advice.db
//! ```
//!
//! Without a model it runs offline: the picture is part of this example, and the critique is scripted. The searches are
//! real.

mod arguments;
mod counted;
mod ingest;

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use superstep::nodes::ModelName;
use superstep::nodes::model::{Prices, Scripted};
use superstep::nodes::node::AgentEvent;
use superstep::prelude::*;
use superstep::run::{RunRequest, Thread, ThreadState};
use superstep_examples::critic::{
    CriticConfig, CriticError, CriticSettings, CriticState, CriticStateUpdate, Critique, critic,
};
use superstep_examples::{Example, ended, model, print};

use crate::arguments::{Arguments, Command};
use crate::counted::Counted;

const EXAMPLE: Example = Example { name: "photo_critic", features: &["images"] };

/// The thread of critiques in the checkpoint file.
const THREAD: &str = "critique";

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(Arguments::parse()).await)
}

async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(Command::Ingest { folder, knowledge }) = &arguments.command {
        print(ingest::ingest(folder, &knowledge.settings()?).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = arguments.settings()?;
    settings.check()?;
    let prices = prices(&arguments)?;
    if let Some(db) = arguments.db.as_ref().filter(|db| arguments.resume && !db.exists()) {
        return Err(format!("there is no file `{}` with a critique to go on with", db.display()).into());
    }
    let config = config(&settings).await?;
    let mut graph = critic(config)?;
    if let Some(db) = &arguments.db {
        graph = graph.checkpointer(SqliteSaver::open(db).await?);
    }
    let thread = graph.thread(THREAD);
    let request = match arguments.resume {
        true => thread.resume(),
        false => thread.run(asked(&arguments, &settings)?),
    };
    let critique = match watched(request).await {
        Ok(state) => Critique::of(&state)?,
        Err(error) => {
            hint(&arguments, &thread).await;
            return Err(error.into());
        }
    };
    show(&critique, &prices, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the critic's configuration, with the texts of this example if there are no others.
async fn config(settings: &CriticSettings) -> Result<CriticConfig, Box<dyn Error>> {
    // The model is checked before anything is embedded, because embedding may cost money.
    let model = model::open::<Box<dyn Error>>(&settings.model, EXAMPLE)?;
    let config = CriticConfig::open(ingest::searched(settings.clone()).await?)?;
    Ok(match &settings.model {
        ModelName::Script(_) => config.model(Counted(model)),
        _ => config,
    })
}

fn asked(arguments: &Arguments, settings: &CriticSettings) -> Result<CriticStateUpdate, Box<dyn Error>> {
    let image = arguments.image.clone().unwrap_or_else(|| arguments::own("landscape.jpg"));
    let image = image
        .into_os_string()
        .into_string()
        .map_err(|path| format!("the path {} is no text", path.display()))?;
    // All fields are written each time, because a thread keeps those of its last request.
    let input = CriticState::of(image).prompt(settings.prompt.clone());
    Ok(input.detail(settings.detail).max_size(settings.max_size))
}

/// Runs the critic, and prints its searches.
#[expect(clippy::print_stderr, reason = "a command-line program says there how it goes")]
async fn watched(request: RunRequest<CriticState>) -> Result<CriticState, CriticError> {
    let mut run = request.stream();
    while let Some(event) = run.next().await {
        for told in AgentEvent::of(&event) {
            if let AgentEvent::ToolCall { tool, input } = told {
                eprintln!("▶ {tool} {input}");
            }
        }
    }
    Ok(run.finish().await?.finished()?)
}

/// Prints the command that continues the critique, if the file has an unfinished one.
#[expect(clippy::print_stderr, reason = "a command-line program says there what to do")]
async fn hint(arguments: &Arguments, thread: &Thread<CriticState>) {
    let Some(db) = &arguments.db else { return };
    // A thread without the photograph has no work to continue.
    let begun = |state: ThreadState<CriticState>| !state.next.is_empty() && !state.values.messages.is_empty();
    if thread.state().await.is_ok_and(begun) {
        eprintln!("what was done is kept; to go on: --resume --db {}", db.display());
    }
}

fn prices(arguments: &Arguments) -> Result<Prices, Box<dyn Error>> {
    let file = arguments.prices.clone().unwrap_or_else(|| arguments::own("prices.json"));
    let unusable = |error: &dyn Error| format!("the prices {} cannot be used: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|error| unusable(&error))?;
    Ok(serde_json::from_str(&text).map_err(|error| unusable(&error))?)
}

fn show(critique: &Critique, prices: &Prices, json: bool) -> Result<(), Box<dyn Error>> {
    if json {
        return Ok(print(serde_json::to_string_pretty(critique)?)?);
    }
    print(&critique.output)?;
    let calls = critique.ledger.total().calls;
    let models: BTreeSet<_> = critique.ledger.accounts().map(|(_, model, _)| model).collect();
    let (s, models) = (if calls == 1 { "" } else { "s" }, models.into_iter().collect::<Vec<_>>().join(", "));
    print(format_args!("\n{calls} model call{s} of {models}: {}", critique.token_usage))?;
    print(format_args!("the last of them: {}", critique.last_call))?;
    let cost = critique.ledger.cost(prices);
    if !cost.without_price.is_empty() {
        return Ok(print(format_args!(
            "cost: not known, as there is no price of {}",
            cost.without_price.join(", ")
        ))?);
    }
    let dollars = cost.micro_usd as f64 / 1e6;
    let scripted = critique.ledger.accounts().any(|(_, model, _)| model == Scripted::NAME);
    let note = if scripted { ", had gpt-4.1 said it" } else { "" };
    Ok(print(format_args!("cost: ${dollars:.4}{note}"))?)
}
