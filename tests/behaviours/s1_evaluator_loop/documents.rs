//! The graph end to end, offline: questions about a folder of documents.

use std::sync::Arc;

use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{AgentState, EvaluatorConfig};
use superstep::nodes::model::Extractive;
use superstep::nodes::model::extractive::{NOT_ANSWERED, NOT_SEARCHED_IN_TIME};
use superstep::nodes::tool::ToolRegistry;
use superstep::prelude::*;

use super::support::*;

fn answering() -> Graph<AgentState> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "ovens.md",
        "# Ovens\n\n## Bread\n\nBread is baked at 230 degrees for forty minutes.\n\n\
         ## Cleaning\n\nThe oven is cleaned with soda every month.\n",
    );
    write("garden.md", "# Garden\n\n## Tomatoes\n\nTomatoes are watered in the morning, twice a week.\n");
    let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
    let tools = ToolRegistry::new().with(SearchDocs::new(Arc::new(index))).unwrap();
    compiled(EvaluatorConfig::new(Extractive).tools(tools))
}

#[tokio::test]
async fn s1_019_a_question_is_answered_from_the_documents_with_its_source() {
    let thread = answering().thread("t");
    let run = thread.run(AgentState::ask("At how many degrees is bread baked?"));
    let state = run.await.unwrap().finished().unwrap();
    let response = state.response.unwrap();
    assert!(response.contains("> Bread is baked at 230 degrees"), "{response}");
    assert!(response.contains("ovens.md:5"), "{response}");
    assert_eq!(path(&thread).await, ["agent", "tools", "agent", "evaluator", "ranker", "decider"]);
    assert_eq!(state.llm_calls.total(), 4);
}

#[tokio::test]
async fn a_question_that_the_documents_do_not_answer_gets_no_answer() {
    let run = answering().run(AgentState::ask("Who won the football match in Madrid?"));
    let state = run.await.unwrap().finished().unwrap();
    assert_eq!(state.response.as_deref(), Some(NOT_ANSWERED));
}

#[tokio::test]
async fn at_a_limit_of_one_iteration_nothing_is_searched_and_the_response_says_so() {
    let run = answering().run(AgentState::ask("At how many degrees is bread baked?").max_iterations(1));
    let state = run.await.unwrap().finished().unwrap();
    assert_eq!(state.response.as_deref(), Some(NOT_SEARCHED_IN_TIME));
    assert_eq!((state.iteration, state.llm_calls.decider), (1, 1));
    let skipped = &state.messages[state.messages.len() - 2];
    assert_eq!(skipped.text(), "Not run: the limit of 1 iteration is reached.");
}

#[tokio::test]
async fn a_second_question_on_the_thread_is_answered_from_its_own_search() {
    let thread = answering().thread("t");
    let _ = thread.run(AgentState::ask("At how many degrees is bread baked?")).await.unwrap();
    let run = thread.run(AgentState::ask("When are tomatoes watered?"));
    let state = run.await.unwrap().finished().unwrap();
    let response = state.response.unwrap();
    assert!(response.contains("Tomatoes are watered in the morning"), "{response}");
    assert!(response.contains("garden.md:5") && !response.contains("Bread"), "{response}");
    assert_eq!((state.turn, state.iteration, state.llm_calls.total()), (2, 2, 4));
}
