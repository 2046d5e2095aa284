//! The agent loop over this repository's own documents: 20 questions that they answer, each with the file that
//! does, and 5 that nothing there answers.

use std::sync::Arc;

use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::model::Extractive;
use superstep::nodes::model::extractive::{NOT_ANSWERED, sources};
use superstep::nodes::tool::ToolRegistry;
use superstep::prelude::*;

/// How many answers must cite the right file first.
const ENOUGH: usize = 16;

const ANSWERED: [(&str, &str); 20] = [
    ("How do I fork a checkpoint?", "docs/time-travel.md"),
    ("What does Power durability promise?", "docs/checkpoints.md"),
    ("How many supersteps may a run take by default?", "docs/execution.md"),
    ("In which order are the writes of parallel tasks merged?", "docs/execution.md"),
    ("What happens when two nodes write the same field in one superstep?", "docs/execution.md"),
    ("How do I answer a question that a node asked?", "docs/interrupts.md"),
    ("How do I run one task per item in parallel?", "docs/routing-and-fan-out.md"),
    ("What does the effect journal record?", "docs/effects-and-resume.md"),
    ("What happens to an effect whose outcome is unknown after a crash?", "docs/effects-and-resume.md"),
    ("Which licence does Superstep have?", "README.md"),
    ("How do I draw a graph as Mermaid?", "docs/graphs.md"),
    ("What is LangGraph's Send called in Superstep?", "docs/coming-from-langgraph.md"),
    ("How does a join differ from two edges?", "docs/routing-and-fan-out.md"),
    ("How do I retry a node that failed?", "docs/errors-and-retries.md"),
    ("Which reducer puts items into a list by id?", "docs/state-and-reducers.md"),
    ("Which tables does the checkpoint file have?", "docs/file-format.md"),
    ("How do I cancel a run?", "docs/effects-and-resume.md"),
    ("How many model calls does a question take?", "docs/agent-loop.md"),
    ("How do I run the tests?", "README.md"),
    ("How do I write my own reducer?", "docs/state-and-reducers.md"),
];

const NOT_IN_THE_DOCUMENTS: [&str; 5] = [
    "What is the capital of Australia?",
    "How do I configure Kubernetes ingress?",
    "Does it support Java?",
    "Who won the football world cup in 1990?",
    "How do I bake sourdough bread?",
];

fn agent() -> Graph<AgentState> {
    let index = DocIndex::build(env!("CARGO_MANIFEST_DIR"), &IndexOptions::default());
    let search = SearchDocs::new(Arc::new(index.expect("the repository can be read")));
    let tools = ToolRegistry::new().with(search).expect("one tool has no name twice");
    graphs::evaluator(EvaluatorConfig::new(Extractive).tools(tools)).expect("a sound graph")
}

async fn answer(agent: &Graph<AgentState>, question: &str) -> String {
    let run = agent.run(AgentState::ask(question)).await.expect("the loop runs");
    run.finished().expect("the loop ends").response.expect("a finished turn has a response")
}

#[tokio::test]
async fn answers_cite_the_file_that_answers_first() {
    let agent = agent();
    let mut right = 0;
    for (question, file) in ANSWERED {
        let answer = answer(&agent, question).await;
        let cited = sources(&answer).first().map_or("nothing".to_owned(), |source| source.path.clone());
        let hit = cited == file;
        right += usize::from(hit);
        println!("{} {question} -> {cited}", if hit { "   " } else { "!! " });
    }
    println!("{right} of {} cite the right file first", ANSWERED.len());
    assert!(right >= ENOUGH, "{right} of {}", ANSWERED.len());
}

#[tokio::test]
async fn questions_that_the_documents_do_not_answer_are_refused() {
    let agent = agent();
    for question in NOT_IN_THE_DOCUMENTS {
        assert_eq!(answer(&agent, question).await, NOT_ANSWERED, "{question}");
    }
}
