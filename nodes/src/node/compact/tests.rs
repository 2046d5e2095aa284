use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::{self, BoxStream, StreamExt};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{KeyedLog, Sum};
use superstep_core::run::Graph;

use super::*;
use crate::compaction::Summariser;
use crate::message::MessageLog;
use crate::model::{Ledger, ModelEvent, ModelReply, ModelRequest, Purpose, RoughTokens, TokenCounter, Usage};
use crate::node::{Agent, AgentNext};
use crate::prompt::{SummaryPrompt, material};

#[derive(State, Clone, Debug, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(KeyedLog)]
    compactions: Vec<Compaction>,
    #[reducer(Sum)]
    ledger: Ledger,
    applied: Option<bool>,
    length: Option<u32>,
}

fn ask(question: String) -> ChatUpdate {
    Chat::update().question(question).visits(0)
}

fn graph(model: Arc<dyn ChatModel>, manager: ContextManager) -> Graph<Chat> {
    graph_with(model, manager, |compact| compact)
}

fn graph_with(
    model: Arc<dyn ChatModel>,
    manager: ContextManager,
    configure: impl FnOnce(Compact<Chat>) -> Compact<Chat>,
) -> Graph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let compact = configure(compact.count(Chat::LEDGER).applied(Chat::APPLIED, Chat::LENGTH));
    let agent =
        Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).compacted(Chat::COMPACTIONS);
    let (compact, agent) = (graph.node("compact", compact), graph.node("agent", agent));
    graph.edge(START, compact);
    graph.edge(compact, agent);
    graph.route(agent, move |next| match next {
        AgentNext::RunTools => to(compact),
        AgentNext::Respond => END,
    });
    graph.compile().unwrap().checkpointer(MemorySaver::new())
}

/// Compacts above 300 tokens to 150, but for the last two messages.
fn manager() -> ContextManager {
    ContextManager::new().threshold(300).target(150).recent(2)
}

/// A question of some hundred tokens.
fn question(number: usize) -> String {
    format!("Question {number}. {}", "word ".repeat(80))
}

async fn talk(graph: &Graph<Chat>, questions: std::ops::Range<usize>) -> Chat {
    let mut state = Chat::default();
    for number in questions {
        state = graph.thread("t").run(ask(question(number))).await.unwrap().finished().unwrap();
    }
    state
}

/// Returns the part of the conversation that a model is shown.
fn shown(request: &ModelRequest) -> Vec<String> {
    request.messages.iter().map(|message| message.text().chars().take(16).collect()).collect()
}

/// A model with a window, which remembers what it was asked.
#[derive(Default)]
struct Talker {
    /// The maximum number of tokens of a request: for a summary, and for everything else.
    windows: [u64; 2],
    is_down: AtomicBool,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Talker {
    fn with_windows(summary: u64, else_: u64) -> Arc<Self> {
        Arc::new(Self { windows: [summary, else_], ..Self::default() })
    }

    fn asked(&self, purpose: Purpose) -> Vec<ModelRequest> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|request| request.purpose == purpose).cloned().collect()
    }

    fn reply(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let is_summary = request.purpose == Purpose::Summarizer;
        let (tokens, limit) = (RoughTokens.request(&request), self.windows[usize::from(!is_summary)]);
        self.asked.lock().unwrap().push(request);
        if tokens > limit {
            let (tokens, limit) = (Some(tokens), Some(limit));
            return Err(ModelError::RequestTooLong { reason: "prompt is too long".into(), tokens, limit });
        }
        if is_summary && self.is_down.load(Ordering::Relaxed) {
            return Err(ModelError::Unauthorized { reason: "no such key".into() });
        }
        let text = if is_summary { "They talk." } else { "I see." };
        Ok(ModelReply::new("talker", text).with_usage(Usage::of(tokens, 2)))
    }
}

impl ChatModel for Talker {
    fn name(&self) -> &str {
        "talker"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let events = match self.reply(request) {
            Ok(reply) => reply.to_events().into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(events).boxed()
    }
}

#[tokio::test]
async fn a_long_conversation_is_shown_in_short_and_kept_whole() {
    let model = Talker::with_windows(10_000, 10_000);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager());
    let state = talk(&graph, 0..3).await;
    assert!(state.compactions.is_empty() && model.asked(Purpose::Summarizer).is_empty());

    let state = talk(&graph, 3..4).await;
    let [compaction] = &state.compactions[..] else { panic!("{:?}", state.compactions) };
    assert!(matches!(&compaction.by, Summariser::Model { model, left_out: 0, .. } if model == "talker"));
    assert_eq!(
        (compaction.id.as_str(), compaction.summarised, compaction.summary.as_str()),
        ("compact.13", 4, "They talk.")
    );
    assert_eq!(state.ledger.purpose(Purpose::Summarizer).calls, 1);
    let last = model.asked(Purpose::Agent).pop().unwrap();
    assert_eq!(shown(&last), ["[Summary of 4 ea", "Question 2. word", "I see.", "Question 3. word"]);
    assert_eq!(state.messages.len(), 8);
}

#[tokio::test]
async fn the_next_summary_continues_from_the_one_before() {
    let model = Talker::with_windows(10_000, 10_000);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager());
    let state = talk(&graph, 0..8).await;
    assert!(state.compactions.len() > 1, "{:?}", state.compactions);
    let asked = model.asked(Purpose::Summarizer);
    let prompts: Vec<SummaryPrompt> = asked.iter().map(|request| material(request).unwrap()).collect();
    assert_eq!(prompts[0].earlier_summary, None);
    assert_eq!(prompts[1].earlier_summary.as_deref(), Some("They talk."));
    let shown: usize = prompts.iter().map(|prompt| prompt.messages.len()).sum();
    assert_eq!(state.compactions.last().unwrap().summarised, shown as u64);
}

#[tokio::test]
async fn a_compaction_is_undone_by_an_edit() {
    let model = Talker::with_windows(10_000, 10_000);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager().threshold(500));
    let state = talk(&graph, 0..6).await;
    let id = state.compactions[0].id.clone();
    graph.thread("t").edit(Chat::update().compactions(LogWrite::remove([id]))).await.unwrap();
    let state = graph.thread("t").state().await.unwrap().values;
    assert!(state.compactions.is_empty());
    assert_eq!(crate::compaction::view(&state.messages, &state.compactions), *state.messages);
}

#[tokio::test]
async fn what_is_too_much_for_the_summariser_is_summarised_without_the_oldest() {
    let model = Talker::with_windows(700, 10_000);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager().threshold(1_000));
    let state = talk(&graph, 0..14).await;
    let Summariser::Model { left_out, .. } = state.compactions[0].by else {
        panic!("{:?}", state.compactions)
    };
    let asked = model.asked(Purpose::Summarizer);
    assert!(left_out > 0 && asked.len() > 1, "{left_out} {}", asked.len());
    let last: SummaryPrompt = material(&asked[asked.len() - 1]).unwrap();
    assert_eq!(last.left_out, left_out);
    assert_eq!(last.messages.len() as u64 + left_out, state.compactions[0].summarised);
}

#[tokio::test]
async fn s2_143_145_195_a_summary_request_is_shortened_three_times_and_then_nothing_changes() {
    let model = Talker::with_windows(10, 10_000);
    let unchanged = |compact: Compact<Chat>| compact.without_summary(WithoutSummary::Unchanged);
    let graph = graph_with(Arc::clone(&model) as Arc<dyn ChatModel>, manager().threshold(3_000), unchanged);
    let mut turns = 0;
    let state = loop {
        let state = talk(&graph, turns..turns + 1).await;
        turns += 1;
        if !model.asked(Purpose::Summarizer).is_empty() {
            break state;
        }
    };
    assert!(state.compactions.is_empty() && state.applied == Some(false), "the breaker counts a failure");
    let asked = model.asked(Purpose::Summarizer);
    let prompts: Vec<SummaryPrompt> = asked.iter().map(|request| material(request).unwrap()).collect();
    let all = prompts[0].messages.len();
    let left_out: Vec<_> = prompts.iter().map(|prompt| prompt.left_out as usize).collect();
    let half = |left_out: usize| left_out + (all - left_out) / 2;
    assert_eq!(left_out, [0, half(0), half(half(0)), half(half(half(0)))]);
    assert!(prompts.iter().all(|prompt| prompt.messages.len() == all - prompt.left_out as usize));
}

#[tokio::test]
async fn s2_081_a_summariser_is_shown_the_messages_as_the_passes_before_left_them() {
    let model = Talker::with_windows(10_000, 10_000);
    let shown = |_: &Chat, messages: &[Message]| {
        let short = |message: &Message| Message::human(message.id().clone(), "Short. ".repeat(60));
        messages.iter().map(short).collect()
    };
    let graph =
        graph_with(Arc::clone(&model) as Arc<dyn ChatModel>, manager(), |compact| compact.shown(shown));
    let state = talk(&graph, 0..4).await;
    let prompt: SummaryPrompt = material(&model.asked(Purpose::Summarizer)[0]).unwrap();
    assert!(prompt.messages.iter().all(|said| said.text.starts_with("Short.")), "{prompt:?}");
    assert!(state.messages[0].text().starts_with("Question 0."), "the state has the whole messages");
}

#[tokio::test]
async fn s0_021_a_summariser_that_fails_ends_no_run() {
    let model = Talker::with_windows(10_000, 10_000);
    model.is_down.store(true, Ordering::Relaxed);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager());
    let state = talk(&graph, 0..6).await;
    let Summariser::Nobody { reason } = &state.compactions[0].by else { panic!("{:?}", state.compactions) };
    assert!(reason.contains("no such key"), "{reason}");
    assert!(state.compactions[0].tokens_after < state.compactions[0].tokens_before);
    assert_eq!(state.ledger.purpose(Purpose::Summarizer).calls, 0);
}

#[tokio::test]
async fn when_the_summariser_is_back_it_is_shown_what_it_missed() {
    let model = Talker::with_windows(10_000, 10_000);
    model.is_down.store(true, Ordering::Relaxed);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, manager());
    let state = talk(&graph, 0..8).await;
    let missed = state.compactions.len();
    assert!(missed > 1 && model.asked(Purpose::Summarizer).len() == missed, "once for each compaction");
    assert!(state.compactions.iter().all(|made| made.tokens_after < made.tokens_before));
    model.is_down.store(false, Ordering::Relaxed);

    let state = talk(&graph, 8..12).await;
    let made = &state.compactions[missed];
    assert!(matches!(made.by, Summariser::Model { left_out: 0, .. }), "{made:?}");
    let prompt: SummaryPrompt = material(&model.asked(Purpose::Summarizer)[missed]).unwrap();
    assert!(prompt.messages[0].text.starts_with("Question 0."), "{prompt:?}");
    assert_eq!(prompt.messages.len() as u64, made.summarised);
}

#[tokio::test]
async fn s0_002_three_hundred_turns_never_overflow_a_window_of_16_000_tokens() {
    let model = Talker::with_windows(16_000, 16_000);
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>, ContextManager::new());
    let state = talk(&graph, 0..300).await;
    assert_eq!((state.messages.len(), model.asked(Purpose::Agent).len()), (600, 300));
    assert!(state.compactions.len() >= 4, "{}", state.compactions.len());
    let largest = model.asked(Purpose::Agent).iter().map(|request| RoughTokens.request(request)).max();
    assert!(largest.unwrap() < 8_200, "{largest:?}");
}
