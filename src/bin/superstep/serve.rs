//! The verb `serve`: a checkpoint file or a database for the clients of LangGraph's API, without the program that wrote it.

use std::error::Error;
use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::cli::clap::{ArgMatches, Args, Command, FromArgMatches};
use superstep::cli::{CheckpointSource, Exit, Extension, Screen, async_trait};
use superstep::run::{AnyGraph, ToAnyGraph};
use superstep::server::{ServeOptions, Stopped};

const ABOUT: &str = "Serve the threads of the file or the database to clients of LangGraph's API, read-only";

const LONG_ABOUT: &str = "\
Serve the threads of the file or the database to clients of LangGraph's API, read-only

Clients list threads and read their states, history, runs, events and store items. Requests that write get status 403: \
to run graphs, call `superstep::serve` in the program that has their code.";

pub(super) struct Serve;

#[async_trait(?Send)]
impl Extension<CheckpointSource> for Serve {
    fn command(&self) -> Command {
        let command = ServeOptions::augment_args(Command::new("serve"));
        command
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .after_help("Example: superstep serve essays.db --port 8123")
    }

    async fn run(
        &self,
        source: CheckpointSource,
        options: &ArgMatches,
        _screen: Screen<'_>,
    ) -> Result<Exit, Box<dyn Error + Send + Sync>> {
        let options = ServeOptions::from_arg_matches(options)?;
        let place = source.to_string();
        let opened = source.open_read_only().await?;
        let saver: Arc<dyn Checkpointer> = Arc::new(opened.clone());
        let mut graphs = Vec::new();
        for description in opened.graphs().await? {
            let graph = AnyGraph::stored(&description, Arc::clone(&saver));
            let graph = graph.map_err(|error| format!("graph {:?} of {place}: {error}", description.name))?;
            graphs.push(graph.store(opened.clone()));
        }
        if graphs.is_empty() {
            return Err(
                format!("{place} has no thread that can be read, so there is nothing to serve").into()
            );
        }
        let graphs: Vec<&dyn ToAnyGraph> = graphs.iter().map(|graph| graph as _).collect();
        match superstep::serve(&graphs).read_only().run_with(options).await? {
            Stopped::Gracefully => Ok(Exit::Fine),
            Stopped::AtOnce => Ok(Exit::Cancelled),
        }
    }
}
