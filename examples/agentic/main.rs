//! Answers questions from a folder of documents, in a conversation that may last for days. It runs the agentic loop,
//! which gathers context, acts, verifies its work and repeats.
//!
//! ```text
//! cargo run --features configuration-files,metrics --bin agentic -- "How do I fork a checkpoint?" --thread talk --trace
//! cargo run --features configuration-files,metrics --bin agentic -- "And what does a fork copy?" --thread talk --trace
//! cargo run --features configuration-files,metrics --bin agentic -- --print-config
//! cargo run --features configuration-files,metrics --bin agentic -- debug log talk
//! ```
//!
//! The default model is built in: it quotes the documents, writes nothing itself, and judges by words. `--model` takes
//! another one, such as `anthropic:claude-sonnet-4-5`, with its key in the environment, if the feature `providers` is
//! added to those above. `--help` lists the options.

#![expect(clippy::print_stderr, reason = "a command-line program says there how it goes")]

mod answer;
mod arguments;
mod settings;
mod trace;

use std::error::Error;
use std::process::ExitCode;

use superstep::nodes::graphs::{self, AgenticConfig, AgenticState};
use superstep::nodes::telemetry::AgentMetrics;
use superstep::nodes::verification::CitationRule;
use superstep::prelude::*;
use superstep::run::{RunRequest, ThreadError};
use superstep_examples::answering;
use superstep_examples::{Example, ended, metrics_page, model, print, progress};

use crate::answer::Answer;
use crate::arguments::Arguments;

const EXAMPLE: Example = Example { name: "agentic", features: &["configuration-files", "metrics"] };

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(Arguments::of_process()).await)
}

async fn run(mut arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let settings = settings::read(&arguments)?;
    if arguments.print_config {
        print(settings.to_string().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = config(&arguments)?.settings(settings.settings()?.clone())?;
    let page = match arguments.metrics {
        Some(port) => Some(metrics_page::serve(port).await?),
        None => None,
    };
    let db = arguments.answering.db("agentic.db")?;
    let graph =
        graphs::agentic(config)?.checkpointer(SqliteSaver::open(&db).await?).observe(AgentMetrics::new());
    if let Some(command) = arguments.answering.command.take() {
        return Ok(command.run(&graph).await);
    }

    let interrupt = answering::interrupt(|| {});
    let thread = graph.thread(arguments.answering.thread());
    let mut is_accepted = true;
    for request in requests(&arguments, &thread) {
        let request = request.cancel_on(interrupt.clone());
        let (run, shown) = match progress::watch(request.stream(), arguments.answering.stream).await {
            Ok(watched) => watched,
            Err(error @ RunError::Thread(ThreadError::Restore(_))) => {
                eprintln!(
                    "the turn was begun with other settings: continue with those, or ask something new"
                );
                return Err(error.into());
            }
            Err(error) => {
                let command = arguments.to_resume(thread.id(), &db, &settings);
                answering::say_how_to_continue(&error, thread.id(), &command);
                return Err(error.into());
            }
        };
        if run.status != Status::Finished {
            eprintln!(
                "stopped at step {} of thread {}; nothing that was finished is lost",
                run.step, run.thread
            );
            eprintln!("continue: {}", arguments.to_resume(&run.thread, &db, &settings));
            return Ok(ExitCode::from(130));
        }
        let answer = Answer::of(&run, trace::phases(&thread).await?, &db);
        answer.print(&arguments, &shown)?;
        is_accepted &= answer.is_accepted();
    }
    if let Some(page) = page {
        eprintln!("metrics at {}; Ctrl-C ends this", page.url());
        interrupt.cancelled().await;
    }
    Ok(if is_accepted { ExitCode::SUCCESS } else { ExitCode::from(UNVERIFIED) })
}

/// The exit code for a response that was refused, or could not be judged.
const UNVERIFIED: u8 = 3;

/// Returns the turns: one for each question, or the unfinished one.
fn requests(arguments: &Arguments, thread: &Thread<AgenticState>) -> Vec<RunRequest<AgenticState>> {
    if arguments.resume {
        return vec![thread.resume()];
    }
    let ask = |question: &String| {
        let input = AgenticState::ask(question);
        thread.run(match &arguments.user {
            Some(user) => input.user_id(user.clone()),
            None => input,
        })
    };
    arguments.questions.iter().map(ask).collect()
}

fn config(arguments: &Arguments) -> Result<AgenticConfig, Box<dyn Error>> {
    let mut config = AgenticConfig::new(arguments.answering.model(EXAMPLE)?)
        .tools(arguments.answering.tools()?)
        // The source that the response names must be among those that the search found.
        .rule(CitationRule::new().or_none());
    if let Some(model) = &arguments.fallback {
        config = config.fallback(model::open::<Box<dyn Error>>(model, EXAMPLE)?);
    }
    if let Some(model) = &arguments.judge {
        config = config.judge(model::open::<Box<dyn Error>>(model, EXAMPLE)?);
    }
    Ok(config)
}
