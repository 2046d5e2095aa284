//! Snippets of `docs/state-and-reducers.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::reducer::{LogWrite, MapWrite};

#[derive(State, Clone, Debug, Default)]
struct Project {
    title: String,
    #[reducer(Append)]
    notes: Vec<String>,
    #[reducer(Merge)]
    owners: BTreeMap<String, String>,
    #[reducer(Union)]
    tags: BTreeSet<String>,
    #[reducer(Sum)]
    tokens: u64,
    #[reducer(Max)]
    best_score: f64,
    #[reducer(KeyedLog)]
    tasks: Vec<Task>,
    #[reducer(Ephemeral)]
    hint: Option<String>,
    #[reducer(Longest)]
    summary: String,
    #[state(secret)]
    password: String,
    #[state(transient)]
    started: Option<std::time::Instant>,
    #[state(flatten)]
    chat: Chat,
}

#[derive(State, Clone, Debug, Default)]
struct Chat {
    #[reducer(Append)]
    messages: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    id: String,
    done: bool,
}

impl Keyed for Task {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Keeps the longest text that was written.
struct Longest;

impl Reducer<String> for Longest {
    type Write = String;

    fn reduce(current: &mut String, write: String) {
        if write.len() > current.len() {
            *current = write;
        }
    }
}

/// Writes the outcome of any state that has a place for it.
fn note<S: State>(notes: &Field<S, Vec<String>>) -> Update<S> {
    notes.write(vec!["generic".into()])
}

#[tokio::test]
async fn updates_go_through_the_reducers() -> super::Result {
    let update = Project::update()
        .title("Superstep")
        .notes(["one", "two"])
        .owners([("docs", "Ada")])
        .tags(["rust"].map(String::from))
        .tokens(12)
        .tasks([Task { id: "t1".into(), done: false }])
        .chat(Chat::update().messages(["hi"]));

    let update = update.owners(MapWrite::remove(["docs".to_string()])).tasks(LogWrite::remove(["t1"]));

    let fresh = Project::update().set_notes(["only this"]).clear_tokens();

    let messages = Chat::MESSAGES.within(Project::CHAT);
    let update = update.and(messages.write(vec!["from a handle".into()]));

    let mut g = StateGraph::<Project>::new("project");
    let done = g.node("done", async || ());
    g.edge(START, done);
    g.edge(done, END);
    let projects = g.compile()?.checkpointer(MemorySaver::new());
    let project = projects.thread("a").run(update).await?.finished()?;
    assert_eq!(project.notes, ["one", "two"]);
    assert_eq!(project.chat.messages, ["hi", "from a handle"]);
    assert!(project.owners.is_empty() && project.tasks.is_empty() && project.started.is_none());
    let project =
        projects.thread("a").run(fresh.and(note(&Project::NOTES)).summary("long").summary("s")).await?;
    let project = project.finished()?;
    assert_eq!(project.notes, ["only this", "generic"]);
    assert_eq!((project.tokens, project.summary.as_str()), (0, "long"));
    Ok(())
}

#[derive(State, Clone, Debug, Default)]
struct InvoiceV1 {
    customer: String,
    /// In euros.
    total: f64,
}

#[derive(State, Clone, Debug, Default)]
#[state(version = 2, migrate = from_v1)]
struct Invoice {
    customer: Option<String>,
    cents: u64,
}

fn from_v1(old: InvoiceV1) -> Result<Invoice, String> {
    let InvoiceV1 { customer, total } = old;
    if total < 0.0 {
        return Err(format!("a total of {total}"));
    }
    let customer = Some(customer).filter(|customer| !customer.is_empty());
    Ok(Invoice { customer, cents: (total * 100.0).round() as u64 })
}

#[tokio::test]
async fn an_older_state_is_migrated() -> super::Result {
    fn invoices<S: State>(
        saver: std::sync::Arc<MemorySaver>,
    ) -> Result<Graph<S>, Box<dyn std::error::Error>> {
        let mut g = StateGraph::<S>::new("invoices");
        let done = g.node("done", async || ());
        g.edge(START, done);
        g.edge(done, END);
        Ok(g.compile()?.shared_checkpointer(saver))
    }
    let saver = std::sync::Arc::new(MemorySaver::new());
    let update = InvoiceV1::update().customer("Ada").total(12.5);
    invoices::<InvoiceV1>(saver.clone())?.thread("t").run(update).await?.finished()?;
    let invoices = invoices::<Invoice>(saver)?;

    let check = invoices.check_threads().await?;
    assert!(check.is_ok(), "{check}");

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("superstep.lock");
    superstep::lock::write(&path, &[&invoices])?;
    superstep::lock::check(path, &[&invoices])?;

    let invoice = invoices.thread("t").head().await?.into_state();
    assert_eq!((invoice.customer.as_deref(), invoice.cents), (Some("Ada"), 1250));
    Ok(())
}
