//! The assistants and schedules of a server. For stores that keep such rows.

use superstep_core::checkpoint::StoreError;
use superstep_core::records::{AssistantQuery, AssistantRow, Column, CronQuery, CronRow, Order};

use super::bench::Bench;
use super::item::items;
use super::material::{json, thread};
use super::races::at_once;
use super::rows::{NOW, object, records, thread_row};
use super::verdict::{Stop, Verdict, equal, holds, is};

items! { "assistants":
    have_versions "Each version of an assistant is kept, the next one becomes the current one, and an older one may again."
    are_found "Assistants are found by graph, name and metadata, in their current versions and in order."
    a_schedule_is_advanced_once "Of callers that move a schedule at once, one does."
    schedules_are_found "Schedules are stored, replaced, found by each member of a query, and deleted."
}

fn assistant(id: &str, version: u32) -> AssistantRow {
    AssistantRow {
        id: id.into(),
        version,
        graph: "graph".into(),
        name: format!("{id} v{version}"),
        description: (version > 1).then(|| "changed".into()),
        config: json(r#"{"configurable":{"a":1}}"#),
        context: json("null"),
        metadata: object(r#"{"owner":"x"}"#),
        created_ms: NOW,
        updated_ms: NOW + u64::from(version),
    }
}

async fn have_versions(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    is!(
        "a second version of none",
        rows.put_assistant(assistant("a", 2)).await,
        Err(StoreError::NoAssistant(_))
    );
    equal("the first", rows.put_assistant(assistant("a", 1)).await?, (assistant("a", 1), true))?;
    let again = AssistantRow { name: "other".into(), ..assistant("a", 1) };
    equal("one more first", rows.put_assistant(again).await?, (assistant("a", 1), false))?;
    equal("the second", rows.put_assistant(assistant("a", 2)).await?, (assistant("a", 2), true))?;
    equal("the second again", rows.put_assistant(assistant("a", 2)).await?, (assistant("a", 2), false))?;
    equal("the current one", rows.assistant("a").await?, Some(assistant("a", 2)))?;
    equal("all versions", rows.versions("a").await?, [assistant("a", 2), assistant("a", 1)])?;
    let first = AssistantRow { updated_ms: NOW + 50, ..assistant("a", 1) };
    equal("the first, again", rows.set_version("a", 1, NOW + 50).await?, Some(first.clone()))?;
    equal("the current one now", rows.assistant("a").await?, Some(first.clone()))?;
    equal("no such version", rows.set_version("a", 9, NOW).await?, None)?;
    equal("the next is the third", rows.put_assistant(assistant("a", 3)).await?, (assistant("a", 3), true))?;
    equal("all now", rows.versions("a").await?, [assistant("a", 3), assistant("a", 2), first])?;
    holds("it is deleted", rows.delete_assistant("a").await?)?;
    holds("it is deleted once", !rows.delete_assistant("a").await?)?;
    equal("the deleted one", (rows.assistant("a").await?, rows.versions("a").await?), (None, Vec::new()))?;
    equal("a new one", rows.put_assistant(assistant("a", 1)).await?.1, true)
}

async fn are_found(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    for (id, name, graph, metadata) in [
        ("1", "Émile", "g", r#"{"owner":"x"}"#),
        ("2", "Zoe", "g", r#"{"owner":"y"}"#),
        ("3", "anna EMI", "h", r#"{"owner":"x","k":{"l":1}}"#),
    ] {
        let row = AssistantRow {
            name: name.into(),
            graph: graph.into(),
            metadata: object(metadata),
            created_ms: NOW - u64::from(id.as_bytes()[0]),
            ..assistant(id, 1)
        };
        rows.put_assistant(row.clone()).await?;
        if id == "2" {
            rows.put_assistant(AssistantRow { version: 2, name: "Yves".into(), ..row }).await?;
        }
    }
    let list = async |query: AssistantQuery| -> Result<(String, u64), Stop> {
        let found = rows.assistants(&query).await?;
        Ok((found.rows.iter().map(|row| &*row.id).collect(), found.total))
    };
    let all = AssistantQuery { limit: 9, ..AssistantQuery::default() };
    equal("all, newest first", list(all.clone()).await?, ("123".into(), 3))?;
    let graph = AssistantQuery { graph: Some("g".into()), ..all.clone() };
    equal("by graph", list(graph).await?, ("12".into(), 2))?;
    let named = |name: &str| AssistantQuery { name: Some(name.into()), ..all.clone() };
    equal("by name", list(named("eMi")).await?, ("3".into(), 1))?;
    equal("by a letter with an accent", list(named("éMILE")).await?, ("1".into(), 1))?;
    equal("by an older name", list(named("zoe")).await?, (String::new(), 0))?;
    let owned = AssistantQuery { metadata: object(r#"{"owner":"x"}"#), ..all.clone() };
    equal("by metadata", list(owned.clone()).await?, ("13".into(), 2))?;
    let nested = AssistantQuery { metadata: object(r#"{"k":{"l":1}}"#), ..all.clone() };
    equal("by nested metadata", list(nested).await?, ("3".into(), 1))?;
    let order = Order { by: Column::Name, ascending: true };
    let page = AssistantQuery { order, offset: 1, limit: 1, ..all };
    equal("a page by name", list(page).await?, ("3".into(), 3))
}

pub(super) fn cron(id: &str) -> CronRow {
    CronRow {
        id: id.into(),
        thread: None,
        assistant: "assistant".into(),
        schedule: "* * * * *".into(),
        timezone: Some("Europe/Berlin".into()),
        payload: json(r#"{"input":1}"#),
        metadata: object(r#"{"owner":"x"}"#),
        keeps_thread: true,
        enabled: true,
        next_ms: Some(NOW),
        end_ms: None,
        created_ms: NOW,
        updated_ms: NOW,
    }
}

async fn a_schedule_is_advanced_once(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    rows.put_cron(cron("c")).await?;
    for round in 0..5 {
        let due = NOW + round * 10;
        let moved = at_once(2, |_| {
            let rows = rows.clone();
            async move { rows.advance_cron("c", due, Some(due + 10)).await }
        });
        let moved = moved.await?;
        equal("the number of callers that moved it", moved.iter().filter(|moved| **moved).count(), 1)?;
    }
    equal("its next start", rows.cron("c").await?.and_then(|cron| cron.next_ms), Some(NOW + 50))?;
    holds("its last start", rows.advance_cron("c", NOW + 50, None).await?)?;
    holds("none after it", !rows.advance_cron("c", NOW + 50, Some(NOW)).await?)?;
    holds("none of one that does not exist", !rows.advance_cron("none", NOW, None).await?)
}

async fn schedules_are_found(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    rows.insert_thread(thread_row("t")).await?;
    let on_thread = CronRow { thread: Some(thread("t")), next_ms: Some(NOW + 2), ..cron("a") };
    let disabled = CronRow { enabled: false, assistant: "other".into(), next_ms: Some(NOW + 1), ..cron("b") };
    let over = CronRow { next_ms: None, metadata: object(r#"{"owner":"y"}"#), ..cron("c") };
    for row in [&on_thread, &disabled, &over] {
        rows.put_cron(row.clone()).await?;
    }
    equal("one by its id", rows.cron("a").await?, Some(on_thread.clone()))?;
    let list = async |query: CronQuery| -> Result<(String, u64), Stop> {
        let found = rows.crons(&query).await?;
        Ok((found.rows.iter().map(|row| &*row.id).collect(), found.total))
    };
    let order = Order { by: Column::Next, ascending: true };
    let all = CronQuery { order, limit: 9, ..CronQuery::default() };
    equal("all, by their next start", list(all.clone()).await?, ("cba".into(), 3))?;
    let query = CronQuery { thread: Some(thread("t")), ..all.clone() };
    equal("by thread", list(query).await?, ("a".into(), 1))?;
    let query = CronQuery { assistant: Some("assistant".into()), ..all.clone() };
    equal("by assistant", list(query).await?, ("ca".into(), 2))?;
    let query = CronQuery { enabled: Some(false), ..all.clone() };
    equal("those that are not enabled", list(query).await?, ("b".into(), 1))?;
    let query = CronQuery { due_ms: Some(NOW + 1), ..all.clone() };
    equal("those that are due", list(query).await?, ("b".into(), 1))?;
    let query = CronQuery { metadata: object(r#"{"owner":"x"}"#), ..all.clone() };
    equal("by metadata", list(query).await?, ("ba".into(), 2))?;
    let replaced = CronRow { thread: None, schedule: "@daily".into(), ..on_thread };
    rows.put_cron(replaced.clone()).await?;
    equal("a replaced one", rows.cron("a").await?, Some(replaced))?;
    holds("one is deleted", rows.delete_cron("a").await?)?;
    holds("it is deleted once", !rows.delete_cron("a").await?)?;
    equal("the others", list(all).await?, ("cb".into(), 2))
}
