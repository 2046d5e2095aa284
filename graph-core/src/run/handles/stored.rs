//! Graphs without their code, for reading the threads of other programs.

use std::string::ToString;
use std::sync::Arc;

use super::any::AnyGraph;
use super::graph::Graph;
use crate::checkpoint::{Checkpointer, GraphDescription};
use crate::graph::{NodeProgram, Program, Topology};
use crate::run::runtime::shared::Runtime;
use crate::state::{CodecError, JsonFields, JsonState, Schema};

impl AnyGraph {
    /// Returns the graph of a description that its store keeps, to read its threads from `saver` without its program.
    /// It has no code: runs and edits fail with [`NoCode`](crate::run::ThreadError::NoCode), and its
    /// [JSON Schemas](Graph::json_schemas) are unknown.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use std::sync::Arc;
    /// # use superstep::checkpoint::MemorySaver;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::run::AnyGraph;
    /// # use superstep::state::State;
    /// # #[derive(State, Clone, Default)]
    /// # struct Essay { draft: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async { Essay::update().draft("typed") });
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let saver = Arc::new(MemorySaver::new());
    /// # let essays = g.compile()?.shared_checkpointer(saver.clone());
    /// essays.thread("rust").run(Essay::update()).await?.finished()?;
    ///
    /// let stored = AnyGraph::stored(essays.description(), saver)?;
    /// assert_eq!(stored.thread("rust").state().await?.values.to_json()["draft"], "typed");
    /// assert!(stored.thread("rust").edit(serde_json::json!({})).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the nodes and edges of the description are not those of a graph.
    pub fn stored(description: &GraphDescription, saver: Arc<dyn Checkpointer>) -> Result<Self, CodecError> {
        let topology = Arc::new(Topology::from_json(&description.topology)?);
        let program = program(topology, description.clone());
        let graph = Graph::<JsonState>::of_runtime(Runtime::new(Arc::new(program)));
        Ok(graph.erased().shared_checkpointer(saver))
    }
}

/// Returns the program of a topology and its subgraphs, without code.
fn program(topology: Arc<Topology>, description: GraphDescription) -> Program {
    let nodes = topology.nodes.iter().map(|node| NodeProgram {
        subgraph: node.subgraph.as_ref().map(|inner| Arc::new(program(Arc::clone(inner), described(inner)))),
        ..NodeProgram::default()
    });
    let fields = Arc::new(JsonFields::stored(description.schema.clone()));
    Program {
        graph: Program::next_number(),
        names: topology.nodes.iter().map(|node| node.name.clone()).collect(),
        nodes: nodes.collect(),
        topology,
        schema_fingerprint: description.schema.fingerprint(),
        schema: Arc::new(description.schema.clone()),
        initial: Arc::new(JsonState::new(fields)),
        description,
        exit: None,
    }
}

/// Returns the description of a subgraph. The description around it has no schema of it.
fn described(topology: &Topology) -> GraphDescription {
    GraphDescription {
        name: topology.name().to_string(),
        schema: Schema::default(),
        topology: topology.describe(),
        topology_fingerprint: topology.fingerprint(),
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use serde_json::json;

    use super::*;
    use crate::checkpoint::MemorySaver;
    use crate::graph::{END, START, StateGraph};
    use crate::node::{Ask, Snapshot};
    use crate::reducer::{Append, Merge, Reducer, Sum};
    use crate::run::{RunError, ThreadError};
    use crate::state::State;

    /// Keeps the longer text.
    struct Longest;

    impl Reducer<String> for Longest {
        type Write = String;

        fn reduce(current: &mut String, write: String) {
            if write.len() > current.len() {
                *current = write;
            }
        }
    }

    #[derive(State, Clone, Default)]
    struct Story {
        #[reducer(Append)]
        lines: Vec<String>,
        #[reducer(Merge)]
        notes: std::collections::BTreeMap<String, u32>,
        #[reducer(Sum)]
        words: u32,
        #[reducer(Longest)]
        title: String,
        #[state(secret)]
        key: String,
    }

    /// The second version of the state, with another field.
    #[derive(State, Clone, Default)]
    #[state(version = 2)]
    struct Later {
        #[reducer(Append)]
        lines: Vec<String>,
        author: String,
    }

    /// A graph whose first superstep has two nodes, one of which asks.
    fn stories(saver: &Arc<MemorySaver>, title: &'static str) -> Graph<Story> {
        let mut g = StateGraph::<Story>::new("stories");
        let write = g.node("write", move |story: Snapshot<Story>| async move {
            let lines = [std::format!("line {}", story.lines.len())];
            Story::update().lines(lines).words(2u32).title(title).key("sesame")
        });
        let ask = g.node("ask", async |ask: Ask<String, bool>| {
            ask.ask("Go on?".to_string()).await;
        });
        g.edge(START, write);
        g.edge(START, ask);
        g.edge(write, END);
        g.edge(ask, END);
        g.compile().unwrap().shared_checkpointer(saver.clone())
    }

    fn stored<S>(graph: &Graph<S>, saver: &Arc<MemorySaver>) -> AnyGraph {
        AnyGraph::stored(graph.description(), saver.clone()).unwrap()
    }

    #[tokio::test]
    async fn a_thread_is_read_as_its_program_reads_it() {
        let saver = Arc::new(MemorySaver::new());
        let graph = stories(&saver, "");
        let _asked = graph.thread("t").run(Story::update()).await.unwrap().interrupted().unwrap();
        let (own, read) = (graph.erased(), stored(&graph, &saver));
        let (own, read) = (own.thread("t").head().await.unwrap(), read.thread("t").head().await.unwrap());
        let without_schemas = |past: &crate::run::Past<crate::run::AnyState>| {
            let mut view = past.whole_view();
            for ask in view.tasks.iter_mut().flat_map(|task| &mut task.interrupts) {
                (ask.question_schema, ask.answer_schema) = (None, None);
            }
            view
        };
        assert_eq!(without_schemas(&read), without_schemas(&own));
        assert_eq!(read.whole_view().values["lines"], json!([]));
        let written = own.unmerged_values().unwrap();
        assert_eq!(written["lines"], json!(["line 0"]));
        assert_eq!(written["key"], "<secret>");
        // The reducer of the title is only in the program.
        assert!(matches!(read.unmerged_values(), Err(ThreadError::Unmergeable(_))));
    }

    #[tokio::test]
    async fn checkpoints_of_another_version_of_the_state_are_read() {
        let saver = Arc::new(MemorySaver::new());
        let _asked = stories(&saver, "T").thread("old").run(Story::update().lines(["a"])).await.unwrap();
        let mut g = StateGraph::<Later>::new("stories");
        let write = g.node("write", async || Later::update().author("Ada"));
        g.edge(START, write);
        g.edge(write, END);
        let later = g.compile().unwrap().shared_checkpointer(saver.clone());
        later.thread("new").run(Later::update()).await.unwrap().finished().unwrap();
        let read = stored(&later, &saver);
        assert_eq!(read.thread("new").head().await.unwrap().state().to_json()["author"], "Ada");
        let old = read.thread("old").head().await.unwrap();
        assert_eq!(old.whole_view().values["lines"], json!(["a"]));
        assert_eq!(old.state().to_json()["lines"], json!(["a"]));
    }

    #[tokio::test]
    async fn nothing_is_run_or_edited_without_code() {
        let saver = Arc::new(MemorySaver::new());
        let graph = stories(&saver, "");
        let _asked = graph.thread("t").run(Story::update()).await.unwrap().interrupted().unwrap();
        let read = stored(&graph, &saver);
        let before = read.thread("t").head().await.unwrap().id();
        let thread = read.thread("t");
        for ended in [
            thread.run(json!({})).await,
            thread.resume().await,
            thread.answer(true).await,
            thread.head().await.unwrap().rerun().await,
            read.run(json!({})).await,
        ] {
            let error = ended.expect_err("it has no code");
            assert!(matches!(error, RunError::Thread(ThreadError::NoCode(_))), "{error}");
        }
        assert!(matches!(thread.edit(json!({})).await, Err(ThreadError::NoCode(_))));
        assert!(thread.edit_as_named("write", json!({})).await.is_err());
        assert_eq!(thread.head().await.unwrap().id(), before);
        assert_eq!(read.json_schemas().state, None);
    }
}
