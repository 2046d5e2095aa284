use std::fs;
use std::sync::Arc;

use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{Append, KeyedLog};
use superstep_core::run::Graph;
use superstep_core::state::State;
use superstep_nodes::message::{Message, MessageLog, ToolCall};
use superstep_nodes::model::{
    ChatModel, ModelError, ModelReply, ModelRequest, Purpose, Scripted, StopReason,
};
use superstep_nodes::node::{Agent, AgentNext, Verify, VerifyNext};
use superstep_nodes::prompt::{Candidate, DeciderPrompt, EvaluatorPrompt, Evidence, RankerPrompt};
use superstep_nodes::tool::{ToolRegistry, TypedTool};
use superstep_nodes::verification::{OutputVerifier, Score, Verification};

use super::*;
use crate::docs::{DocIndex, IndexOptions, SearchDocs};

const FORKS: &str = "# Forks\n\nA fork shares the past of its thread and copies nothing. It gets a name of its own.\n\n\
                     ## Editing\n\nAn edit is written as a new checkpoint.\n";
const STORAGE: &str = "# Storage\n\nCheckpoints are kept in SQLite. The journal mode is WAL.\n\n\
                       | mode | survives |\n|---|---|\n| `Power` | power loss |\n| `Process` | kill -9 |\n";

fn tools() -> ToolRegistry {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("forks.md"), FORKS).unwrap();
    fs::write(folder.path().join("storage.md"), STORAGE).unwrap();
    let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
    ToolRegistry::new().with(SearchDocs::new(Arc::new(index))).unwrap()
}

async fn next(tools: &ToolRegistry, messages: &[Message]) -> ModelReply {
    let request = ModelRequest::new(Purpose::Agent, messages.to_vec()).with_tools(tools.specs());
    Extractive.complete(request).await.unwrap()
}

/// Asks, searches and asks again; the answer is also added to the messages.
async fn answer(tools: &ToolRegistry, messages: &mut Vec<Message>, question: &str) -> String {
    messages.push(Message::human(format!("{}", messages.len()), question));
    let reply = next(tools, messages).await;
    let call = reply.tool_calls[0].clone();
    messages.push(reply.into_message(format!("{}", messages.len())).into());
    messages.push(tools.answer(format!("{}", messages.len()), &call).await.into());
    let reply = next(tools, messages).await;
    let text = reply.text().into_owned();
    messages.push(reply.into_message(format!("{}", messages.len())).into());
    text
}

#[tokio::test]
async fn a_question_is_searched_for_first() {
    let reply = next(&tools(), &[Message::human("1", "What does a fork copy?")]).await;
    let query = json!({ "query": "What does a fork copy?" });
    assert_eq!(reply.tool_calls, [ToolCall::new("search_docs-1", "search_docs", query)]);
    assert_eq!(reply.stop, StopReason::ToolUse);
    assert_eq!(reply.usage.input_tokens, 5);
}

#[tokio::test]
async fn the_answer_is_a_quote_with_its_source() {
    let text = answer(&tools(), &mut Vec::new(), "What does a fork copy?").await;
    let expected = "The documents say:\n\n> A fork shares the past of its thread and copies nothing.\n\n\
                    Sources:\n- forks.md:3 (Forks)";
    assert_eq!(text, expected);
    let text = answer(&tools(), &mut Vec::new(), "Which mode survives power loss?").await;
    assert!(text.contains("\n> | `Power` | power loss |\n"), "{text}");
    assert!(text.contains("Sources:\n- storage.md:5-8 (Storage)"), "{text}");
}

#[tokio::test]
async fn what_the_documents_do_not_answer_is_said_so() {
    let mut messages = Vec::new();
    for question in [
        "What is the capital of Australia?",
        "How do I configure Kubernetes ingress?",
        "Does it support Java?",
        "Can a fork be sold on eBay?",
        "How does it work?",
    ] {
        assert_eq!(answer(&tools(), &mut messages, question).await, NOT_ANSWERED, "{question}");
    }
}

/// A question in other words than the documents' was refused without a hint of where to look.
#[tokio::test]
async fn where_no_sentence_matches_the_nearest_pages_are_named() {
    let text = answer(&tools(), &mut Vec::new(), "Can a fork copy bees to Mars?").await;
    let expected = "No sentence matches; the nearest pages are:\n- forks.md:3 (Forks)";
    assert_eq!(text, expected);
    assert!(is_refusal(&text) && sources(&text).is_empty());
    assert_eq!(nearest(&text).iter().map(|page| page.path.as_str()).collect::<Vec<_>>(), ["forks.md"]);
}

#[tokio::test]
async fn each_question_of_a_conversation_is_searched_separately() {
    let (tools, mut messages) = (tools(), Vec::new());
    answer(&tools, &mut messages, "What does a fork copy?").await;
    let text = answer(&tools, &mut messages, "What is the journal mode?").await;
    assert!(text.starts_with("The documents say:\n\n> The journal mode is WAL."), "{text}");
    let mut ids: Vec<_> = messages.iter().flat_map(Message::tool_calls).map(|call| &call.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn without_documents_it_says_that_it_cannot_answer() {
    let reply = next(&ToolRegistry::new(), &[Message::human("1", "What does a fork copy?")]).await;
    assert_eq!(reply.text(), NOTHING_SEARCHED);
    assert_eq!(next(&tools(), &[]).await.text(), NOTHING_SEARCHED);
}

#[tokio::test]
async fn a_search_that_failed_is_no_answer() {
    let call = ToolCall::new("c", SearchDocs::NAME, json!({}));
    let messages = [
        Message::human("1", "What does a fork copy?"),
        Message::ai_with_calls("2", "", vec![call.clone()]),
        Message::tool_error("3", &call, "the disk is gone"),
    ];
    assert_eq!(
        next(&tools(), &messages).await.text(),
        "The documents could not be searched: the disk is gone."
    );
}

#[tokio::test]
async fn a_search_tool_that_gives_only_text_is_quoted_too() {
    let search = TypedTool::new(SearchDocs::NAME, "Searches.", |_: serde_json::Value| async {
        Ok::<_, String>("Bees dance.\n\nA fork copies nothing.")
    });
    let tools = ToolRegistry::new().with(search).unwrap();
    let text = answer(&tools, &mut Vec::new(), "What does a fork copy?").await;
    assert_eq!(text, "The documents say:\n\n> A fork copies nothing.\n\nSources:\n- search_docs:1-3");
}

fn evaluator(response: &str) -> EvaluatorPrompt {
    let output = "[1] forks.md:3-3 (Forks)\nA fork shares the past of its thread and copies nothing.".into();
    EvaluatorPrompt {
        task: "What does a fork copy?".into(),
        iteration: 1,
        response: response.into(),
        evidence: vec![Evidence { tool: "search_docs".into(), output }],
    }
}

async fn evaluate(response: &str) -> superstep_nodes::Evaluation {
    let prompt = evaluator(response);
    prompt.read(&Extractive.complete(prompt.to_request("1")).await.unwrap()).unwrap()
}

#[tokio::test]
async fn an_evaluation_tells_quotes_from_inventions() {
    let quote =
        evaluate("The documents say:\n\n> A fork shares the past of its thread and copies nothing.").await;
    let invention = evaluate("A fork copies every byte, twice.").await;
    let beside = evaluate("Bees dance to tell where flowers are.").await;
    assert_eq!((quote.score, quote.complete), (1.0, true));
    assert!(invention.score < quote.score && beside.score < invention.score);
    assert!(!beside.complete);
    assert!(beside.feedback.contains("It does not have: fork, copy."), "{}", beside.feedback);
    assert_eq!(evaluate(" \n").await.score, 0.0);
}

#[tokio::test]
async fn to_claim_nothing_is_complete_and_the_better_the_less_there_was_to_claim() {
    let mut prompt = evaluator(NOT_ANSWERED);
    let with_evidence = prompt.read(&Extractive.complete(prompt.to_request("1")).await.unwrap()).unwrap();
    prompt.evidence.clear();
    let without = prompt.read(&Extractive.complete(prompt.to_request("1")).await.unwrap()).unwrap();
    assert!(with_evidence.complete && without.complete);
    assert!(with_evidence.score < without.score);
}

fn candidate(iteration: u32, response: &str, score: Option<f64>) -> Candidate {
    let evaluation = score.map(|score| superstep_nodes::Evaluation {
        iteration,
        score,
        complete: false,
        feedback: String::new(),
    });
    Candidate { iteration, response: response.into(), evaluation }
}

#[tokio::test]
async fn responses_are_ranked_by_score_and_of_equals_the_latest_first() {
    let candidates =
        vec![candidate(1, "a", Some(0.5)), candidate(2, "b", Some(0.9)), candidate(3, "c", Some(0.5))];
    let prompt = RankerPrompt { task: "t".into(), iteration: 3, candidates };
    let ranking = prompt.read(&Extractive.complete(prompt.to_request("1")).await.unwrap()).unwrap();
    assert_eq!((ranking.order, ranking.best), (vec![2, 3, 1], 2));
}

async fn decide(candidates: Vec<Candidate>, best: Option<u32>) -> String {
    let prompt = DeciderPrompt { task: "What does a fork copy?".into(), candidates, best };
    let history = vec![Message::human("1", "What does a fork copy?")];
    Extractive.complete(prompt.to_request("2", history)).await.unwrap().text().into_owned()
}

#[tokio::test]
async fn the_final_response_is_the_best_there_is() {
    let candidates = vec![candidate(1, "A fork copies nothing.", None), candidate(2, "Bees.", None)];
    assert_eq!(decide(candidates.clone(), Some(2)).await, "Bees.");
    assert_eq!(decide(candidates.clone(), None).await, "A fork copies nothing.");
    assert_eq!(decide(vec![candidate(1, " ", None), candidate(2, "Bees.", None)], Some(1)).await, "Bees.");
    assert_eq!(decide(Vec::new(), None).await, NOTHING_SEARCHED);
}

/// At a limit of one iteration the search was skipped, and the final response said all the same that the
/// documents do not answer the question. What an earlier turn found is no search of this turn.
#[tokio::test]
async fn a_search_that_the_limit_prevented_is_no_look_at_the_documents() {
    let (tools, mut messages) = (tools(), Vec::new());
    answer(&tools, &mut messages, "What is the journal mode?").await;
    messages.push(Message::human("q2", "What does a fork copy?"));
    let reply = next(&tools, &messages).await;
    let call = reply.tool_calls[0].clone();
    messages.push(reply.into_message("a2").into());
    messages.push(Message::tool_error("t2", &call, "Not run: the limit of 1 iteration is reached."));
    let prompt = DeciderPrompt {
        task: "What does a fork copy?".into(),
        candidates: vec![candidate(1, "", Some(0.0))],
        best: Some(1),
    };
    let last_word = Extractive.complete(prompt.to_request("last", messages.clone())).await.unwrap();
    assert_eq!(last_word.text(), NOT_SEARCHED_IN_TIME);

    // Had the search been made, its quotes would be the response.
    messages.pop();
    messages.push(tools.answer("t2", &call).await.into());
    let last_word = Extractive.complete(prompt.to_request("last", messages)).await.unwrap();
    assert!(last_word.text().contains("> A fork shares the past"), "{}", last_word.text());
}

#[tokio::test]
async fn a_judgement_of_nothing_is_an_error() {
    for purpose in [Purpose::Evaluator, Purpose::Ranker, Purpose::Decider, Purpose::Verifier] {
        let request = ModelRequest::new(purpose, vec![Message::human("1", "Well?")]);
        let error = Extractive.complete(request).await.unwrap_err();
        assert!(matches!(error, ModelError::InvalidRequest { .. }), "{error}");
    }
}

#[derive(State, Clone, Debug, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(Append)]
    verifications: Vec<Verification>,
}

/// A graph that says what its model says, and has it judged by words.
fn judged_by_words(model: Arc<Scripted>) -> Graph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let respond = graph.node("respond", Agent::new(model, Chat::MESSAGES, Chat::VISITS));
    let verify =
        Verify::new(Arc::new(Extractive), OutputVerifier::new(), Chat::MESSAGES, Chat::VERIFICATIONS);
    let verify = graph.node("verify", verify);
    graph.edge(START, respond);
    graph.route(respond, move |next| match next {
        AgentNext::RunTools | AgentNext::Respond => to(verify),
    });
    graph.route(verify, move |next| match next {
        VerifyNext::Finish | VerifyNext::Refine => END,
    });
    graph.compile().unwrap().checkpointer(MemorySaver::new())
}

/// A model that quotes one document, and a judge that compares words: the loop runs without any network.
#[tokio::test]
async fn the_model_that_is_always_there_can_be_the_judge() {
    let call = ToolCall::new("c", "search_docs", json!({ "query": "fork" }));
    let found = "[1] forks.md:3-3 (Forks)\nA fork shares the past of its thread and copies nothing.";
    let talk = [
        Message::human("q", "What does a fork copy?"),
        Message::ai_with_calls("a", "", vec![call.clone()]),
        Message::tool("t", &call, found),
    ];
    let judged = async |response: &str| {
        let model = Arc::new(Scripted::new().on(Purpose::Agent, [response]));
        let input = Chat::update().messages(talk.clone());
        let run = judged_by_words(model).thread("t").run(input).await;
        let state = run.unwrap().finished().unwrap();
        state.verifications.into_iter().next_back().unwrap().result
    };
    let quote = "The documents say:\n\n> A fork shares the past of its thread and copies nothing.\n\nSources:\n- forks.md:3 (Forks)";
    let quote = judged(quote).await;
    assert_eq!((quote.passed, quote.score), (Some(true), Some(Score::ONE)));
    let invention = judged("A fork copies every byte, twice.").await;
    assert_eq!(invention.passed, Some(false));
    assert!(
        invention.feedback.contains("0 % of it is in the sources. It names no source."),
        "{}",
        invention.feedback
    );
    assert_eq!(judged(" ").await.passed, Some(false));
    let modest = judged(NOT_ANSWERED).await;
    assert!(modest.score > invention.score && modest.score < quote.score, "{modest:?}");
}
