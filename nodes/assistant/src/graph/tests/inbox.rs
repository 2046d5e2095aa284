//! Messages that arrive while the assistant works.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use superstep_core::store::{AccessError, Entry, MemoryStore, Namespace, Put, Search, Store, StoreBackend};
use superstep_nodes::tool::ToolEffect;

use super::*;
use crate::inbox::{Inbox, InboxMessage};

/// A model that calls the tool `note` twice for each message of the user, and then responds.
struct Notes;

impl ChatModel for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let since = request.messages.iter().rev().take_while(|message| !matches!(message, Message::Human(_)));
        let calls = since.filter(|message| matches!(message, Message::Tool(_))).count();
        let call = ToolCall::new(format!("c{}", request.messages.len()), "note", json!({}));
        let reply = match calls {
            0 | 1 => ModelReply::new("notes", "").with_calls(vec![call]),
            _ => ModelReply::new("notes", "Done."),
        };
        stream::iter(reply.to_events().into_iter().map(Ok)).boxed()
    }
}

/// Makes an assistant in whose tool calls messages arrive: once one of each delivery.
fn graph(inbox: &Inbox, saver: &MemorySaver) -> Graph<AssistantState> {
    let sender = inbox.clone();
    let send = move |_: serde_json::Value| {
        let inbox = sender.clone();
        async move {
            for message in [InboxMessage::queue("q").with_id("q"), InboxMessage::steer("s").with_id("s")] {
                inbox.send(&"session".into(), message).await?;
            }
            Ok::<_, AccessError>("noted".to_owned())
        }
    };
    let note =
        TypedTool::new("note", "Notes something. Says that it did.", send).with_effect(ToolEffect::ReadOnly);
    let config = AssistantConfig::new(Notes)
        .tools(ToolRegistry::new().with(note).unwrap())
        .max_turns(NonZeroU32::new(6).unwrap())
        .inbox(inbox.clone());
    assistant(config).unwrap().checkpointer(saver.clone())
}

/// Returns the texts of the user's messages, in order.
fn human(state: &AssistantState) -> Vec<String> {
    let is_human = |message: &&Message| matches!(message, Message::Human(_));
    state.messages.iter().filter(is_human).map(|message| message.text().into_owned()).collect()
}

#[tokio::test]
async fn a_message_steers_between_two_turns_and_another_waits_for_the_response() {
    let (inbox, saver) = (Inbox::new(MemoryStore::new()), MemorySaver::new());
    let thread = graph(&inbox, &saver).thread("session");
    let state = thread.run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    assert_eq!(human(&state), ["Do it.", "s", "q"]);
    assert_eq!(roles(&state), "hathatatahatata", "the queued message comes after the response");
    assert_eq!(state.exit, Some(Exit::Completed));
    assert_eq!(state.turn_count, 3, "each message of the user has its own turns");
}

#[tokio::test]
async fn a_message_for_a_session_at_rest_comes_before_the_next_request_and_counts_once() {
    let (inbox, saver) = (Inbox::new(MemoryStore::new()), MemorySaver::new());
    let model = Arc::new(Scripted::new().say("One.").say("Two.").say("Three."));
    let configured = config(Arc::clone(&model)).inbox(inbox.clone());
    let thread = assistant(configured).unwrap().checkpointer(saver).thread("session");
    let sent = InboxMessage::queue("The tests pass.").with_id("end").from_agent("tests");
    inbox.send(thread.id(), sent.clone()).await.unwrap();
    let state = thread.run(AssistantState::ask("first")).await.unwrap().finished().unwrap();
    assert_eq!(human(&state), ["[Message of the agent `tests`]\nThe tests pass.", "first"]);
    // Sent again, as after a crash of the sender.
    inbox.send(thread.id(), sent).await.unwrap();
    let state = thread.run(AssistantState::ask("second")).await.unwrap().finished().unwrap();
    assert_eq!(human(&state)[1..], ["first", "second"]);
    // A run without a request is for the inbox alone.
    inbox.send(thread.id(), InboxMessage::steer("third")).await.unwrap();
    let state = thread.run(AssistantState::ask("")).await.unwrap().finished().unwrap();
    assert_eq!(human(&state)[2..], ["second", "third"]);
    assert_eq!((model.remaining(), state.transition), (0, Some(Transition::Message)));
}

#[tokio::test]
async fn messages_of_agents_do_not_extend_the_limit_of_turns() {
    let inbox = Inbox::new(MemoryStore::new());
    let sender = inbox.clone();
    let add =
        TypedTool::new("add", "Adds two whole numbers. Says their sum.", move |_: serde_json::Value| {
            let inbox = sender.clone();
            async move {
                let message = InboxMessage::queue("It is done.").from_agent("helper");
                inbox.send(&"session".into(), message).await.map(|()| "3".to_owned())
            }
        });
    let model = Arc::new(Scripted::new().then(call("c1")).say("Three."));
    let configured = config(Arc::clone(&model)).max_turns(NonZeroU32::new(2).unwrap()).inbox(inbox);
    let state = run(configured.tools(ToolRegistry::new().with(add).unwrap())).await;
    assert_eq!((state.exit, model.requests().len()), (Some(Exit::MaxTurns), 2));
    assert_eq!(human(&state).len(), 2, "the message is kept for the next request");
}

/// A store of which one operation fails after it was carried out.
struct FailsOnce {
    store: MemoryStore,
    /// The number of operations up to the one that fails; 0 once it has failed.
    left: Arc<AtomicUsize>,
}

impl FailsOnce {
    fn after<T>(&self, done: Result<T, AccessError>) -> Result<T, AccessError> {
        let before = self.left.load(Ordering::Relaxed);
        self.left.store(before.saturating_sub(1), Ordering::Relaxed);
        if before == 1 { Err(AccessError::Failed("cut off".into())) } else { done }
    }
}

#[async_trait]
impl StoreBackend for FailsOnce {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        self.after(self.store.get(namespace, key, now).await)
    }

    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError> {
        self.after(self.store.put(put, now).await)
    }

    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError> {
        self.after(self.store.delete(namespace, key, now).await)
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        self.after(self.store.search(search, now).await)
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        self.store.namespaces(under, now).await
    }

    async fn sweep(&self, now: u64) -> Result<u64, AccessError> {
        self.store.sweep(now).await
    }
}

/// Works on a request in as many processes as it takes: the first one ends at one of its events, or where the store
/// fails. Returns the last state, and `true` if nothing was cut off. 0 is for none.
async fn in_processes(events: usize, operations: usize) -> (AssistantState, bool) {
    let left = Arc::new(AtomicUsize::new(operations));
    let store = FailsOnce { store: MemoryStore::new(), left: Arc::clone(&left) };
    let (inbox, saver) = (Inbox::new(Store::new(store)), MemorySaver::new());
    let mut events = Some(events).filter(|events| *events > 0);
    let mut is_cut_off = false;
    for _ in 0..5 {
        let graph = graph(&inbox, &saver);
        let thread = graph.thread("session");
        let begun = thread.head().await.is_ok();
        let mut run = match begun {
            true => thread.resume().stream(),
            false => thread.run(AssistantState::ask("Do it.")).stream(),
        };
        let mut left_events = events.take().unwrap_or(usize::MAX);
        while left_events > 0 && run.next().await.is_some() {
            left_events -= 1;
        }
        if left_events == 0 {
            // The process ends here, and with it all that is not stored.
            is_cut_off = true;
            continue;
        }
        if let Ok(ended) = run.finish().await {
            is_cut_off |= operations > 0 && left.load(Ordering::Relaxed) == 0;
            return (ended.finished().unwrap(), !is_cut_off);
        }
    }
    panic!("the session does not end");
}

#[tokio::test]
async fn every_message_is_taken_once_wherever_a_process_ends() {
    let mut cut_off = [0, 0];
    for is_event in [true, false] {
        for place in 1.. {
            let (events, operations) = if is_event { (place, 0) } else { (0, place) };
            let (state, is_whole) = in_processes(events, operations).await;
            let mut texts = human(&state);
            assert_eq!(texts[0], "Do it.");
            texts.sort();
            assert_eq!(texts, ["Do it.", "q", "s"], "{place}, {is_event}");
            assert_eq!(state.exit, Some(Exit::Completed));
            if is_whole {
                break;
            }
            cut_off[usize::from(is_event)] += 1;
        }
    }
    assert!(cut_off.iter().all(|places| *places > 10), "{cut_off:?}");
}
