//! The smallest graph: two nodes in a line.
//!
//! ```text
//! cargo run --bin hello -- Ada
//! ```

use std::error::Error;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep_examples::{ended, print, usage};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Greeting {
    name: String,
    text: String,
}

async fn greet(greeting: Snapshot<Greeting>) -> Update<Greeting> {
    Greeting::update().text(format!("hello, {}", greeting.name))
}

async fn shout(greeting: Snapshot<Greeting>) -> Update<Greeting> {
    Greeting::update().text(greeting.text.to_uppercase())
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = match &*arguments {
        [] => "world",
        [name] if !name.starts_with('-') => name,
        _ => return usage(&arguments, "hello [NAME]"),
    };
    let mut g = StateGraph::<Greeting>::new("hello");
    let greet = g.node("greet", greet);
    let shout = g.node("shout", shout);
    g.edge(START, greet);
    g.edge(greet, shout);
    g.edge(shout, END);
    let hello = g.compile()?;

    let greeting = hello.run(Greeting::update().name(name)).await?.finished()?;
    print(greeting.text)?;
    Ok(ExitCode::SUCCESS)
}
