//! Answers a question from a folder of documents, with an agent whose responses are evaluated, ranked and decided on.
//! Every step is stored.
//!
//! ```text
//! cargo run --bin agent_loop -- "How do I fork a checkpoint?"
//! cargo run --bin agent_loop -- debug threads
//! ```
//!
//! The default model is built in: it quotes the documents and writes nothing itself. `--model` takes another one, such
//! as `anthropic:claude-sonnet-4-5`, with its key in the environment, if the example is built with `--features
//! providers`. `--help` lists the options.

#![expect(clippy::print_stderr, reason = "a command-line program says there how it goes")]

mod answer;
mod arguments;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::prelude::*;
use superstep::run::{RunRequest, ThreadError};
use superstep_examples::answering;
use superstep_examples::halt::Halt;
use superstep_examples::{Example, ended, progress};

use crate::answer::Answer;
use crate::arguments::Arguments;

const EXAMPLE: Example = Example { name: "agent_loop", features: &[] };

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(Arguments::of_process()).await)
}

async fn run(mut arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let db = arguments.answering.db("agent_loop.db")?;
    let halt = Halt::new(arguments.halt_at.as_ref());
    let saver = SqliteSaver::options().observe_commits(halt.at_commits()).open(&db).await?;
    let model = arguments.answering.model(EXAMPLE)?;
    let config = EvaluatorConfig::new(model).tools(arguments.answering.tools()?);
    let graph = graphs::evaluator(config)?.checkpointer(saver).observe(halt.at_nodes());

    if let Some(command) = arguments.answering.command.take() {
        return Ok(command.run(&graph).await);
    }

    let thread = graph.thread(arguments.answering.thread());
    let resumes = arguments.resume && (arguments.question.is_none() || has_run(&thread).await?);
    let request = match &arguments.question {
        // The limit is written each time, because a thread keeps the limit of its last turn.
        Some(question) if !resumes => {
            thread.run(AgentState::ask(question).max_iterations(arguments.max_iterations))
        }
        _ => thread.resume(),
    };
    let answered = answer(&thread, request, &arguments, &db, &halt).await;
    if let Err(error) = &answered {
        let command = arguments.to_resume(thread.id(), &db);
        answering::say_how_to_continue(&**error, thread.id(), &command);
    }
    answered
}

/// Runs the turn, and prints the result.
async fn answer(
    thread: &Thread<AgentState>,
    request: RunRequest<AgentState>,
    arguments: &Arguments,
    db: &Path,
    halt: &Halt,
) -> Result<ExitCode, Box<dyn Error>> {
    let released = halt.clone();
    let interrupt = answering::interrupt(move || released.release());
    let watched = progress::watch(request.cancel_on(interrupt).stream(), arguments.answering.stream).await;
    halt.report();
    let (run, shown) = watched?;
    if run.status != Status::Finished {
        eprintln!("stopped at step {} of thread {}; nothing that was finished is lost", run.step, run.thread);
        eprintln!("continue: {}", arguments.to_resume(&run.thread, db));
        return Ok(ExitCode::from(130));
    }
    let checkpoints = thread.history()?.collect().await?.len();
    let answer = Answer::of(&run, checkpoints, db);
    answer.print(arguments, &shown)?;
    Ok(if answer.is_answered() { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

async fn has_run(thread: &Thread<AgentState>) -> Result<bool, ThreadError> {
    match thread.head().await {
        Ok(_) => Ok(true),
        Err(ThreadError::NeverRan(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
