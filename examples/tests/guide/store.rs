//! Snippets of `docs/store.md`.

use superstep::prelude::*;
use superstep::store::{AccessError, Search};

#[derive(State, Clone, Debug, Default)]
struct Chat {
    user: String,
    text: String,
}

async fn greet(chat: Snapshot<Chat>, store: Store) -> Result<Update<Chat>, AccessError> {
    let user = chat.user.as_str();
    let visits: u32 = store.get(&["users", user], "visits").await?.unwrap_or(0);
    store.put(&["users", user], "visits", &(visits + 1)).await?;
    Ok(Chat::update().text(format!("Visit {} of {user}", visits + 1)))
}

#[tokio::test]
async fn a_node_takes_the_store() -> super::Result {
    let mut g = StateGraph::<Chat>::new("chat");
    let greet = g.node("greet", greet);
    g.edge(START, greet);
    g.edge(greet, END);
    let chats = g.compile()?.checkpointer(MemorySaver::new()).store(MemoryStore::new());
    for (thread, visit) in [("monday", 1), ("tuesday", 2)] {
        let chat = chats.thread(thread).run(Chat::update().user("ada")).await?.finished()?;
        assert_eq!(chat.text, format!("Visit {visit} of ada"));
    }
    Ok(())
}

#[tokio::test]
async fn a_search_finds_words() -> super::Result {
    let store = Store::new(SqliteStore::in_memory().await?);
    let note = serde_json::json!({ "kind": "taste", "text": "Coffee, but strong" });
    store.put(&["notes", "ada"], "1", &note).await?;
    let search = Search::under(&["notes"])?.words("strong coffee").equal("kind", "taste").limit(10);
    for entry in store.search(search).await? {
        println!("{} {}: {}", entry.namespace, entry.key, entry.value);
    }
    Ok(())
}

#[tokio::test]
async fn a_flow_has_the_store() -> super::Result {
    let count = flow("count", |cx: Cx<String>| async move {
        let runs: u32 = cx.store().get(&["runs"], cx.input()).await?.unwrap_or(0);
        cx.store().put(&["runs"], cx.input(), &(runs + 1)).await?;
        Ok::<_, AccessError>(runs)
    });
    let count = count.store(MemoryStore::new());
    for runs in 0..2 {
        assert_eq!(count.run(&"a".to_string()).await?.finished()?, runs);
    }
    Ok(())
}
