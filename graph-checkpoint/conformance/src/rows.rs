//! The threads of a server, and their events. For stores that keep such rows.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::records::life::Ending;
use superstep_core::records::{
    Column, CronRow, EventRow, Expiry, ExpiryStrategy, Order, Records, ThreadChange, ThreadQuery, ThreadRow,
    ThreadStatus,
};

use super::assistants::cron;
use super::bench::Bench;
use super::item::items;
use super::material::{json, thread};
use super::queue::{finish, run, started, success};
use super::races::at_once;
use super::verdict::{Stop, Verdict, equal, holds, is};

items! { "rows":
    clones_have_the_same_rows "The rows of a saver are the same whenever they are asked for."
    a_thread_is_inserted_once "A thread is stored unless its id is taken, and comes back with every letter."
    a_thread_is_changed "A change merges metadata, sets what it names, and leaves the rest."
    a_thread_takes_its_rows_along "Deleting a thread's rows deletes its runs, schedules and events, and no other thread's."
    deleting_checkpoints_deletes_rows "Deleting a thread's checkpoints deletes its rows, too, also of a thread that never ran."
    threads_are_found_by_metadata "Threads are found by entries of their metadata: scalars, nested objects, lists as sets, after changes, too."
    threads_are_found_by_id_and_status "Threads are found by their ids and by their status."
    threads_are_listed_in_order "Threads are listed by each column in both directions, ties by id, in pages with the number of all."
    threads_expire "Threads whose time has come are told, unless they are busy; each change moves the time."
    numbers_of_events_are_never_reused "Numbers of events grow; those that are given back are given out again unless others were reserved since, or they are in use."
    numbers_of_events_outlive_their_program "So it is for a program that starts after a crash."
    events_come_in_order "Events come back by number, of a thread or one of its runs, after a number, and up to a limit."
    events_expire_by_run "Events of a run are swept after their time, also of a run without a row."
}

/// A time in milliseconds.
pub(super) const NOW: u64 = 1_700_000_000_000;

/// Returns the rows of a store, if it keeps any.
pub(super) fn records(b: &Bench<'_>) -> Result<Arc<dyn Records>, Stop> {
    b.saver.records().ok_or(Stop::NotApplicable("the store keeps no rows of a server"))
}

pub(super) fn thread_row(name: &str) -> ThreadRow {
    ThreadRow {
        id: thread(name),
        graph: None,
        metadata: Map::new(),
        status: ThreadStatus::Idle,
        config: json("{}"),
        error: None,
        created_ms: NOW,
        updated_ms: NOW,
        state_updated_ms: NOW,
        expiry: None,
    }
}

pub(super) fn event(of: &str, seq: u64, run: &str) -> EventRow {
    let text = json(&format!(r#"{{"event":{seq},"text":"ä\u0000"}}"#));
    EventRow { thread: thread(of), seq, run: run.into(), at_ms: NOW + seq, text }
}

pub(super) fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).expect("an object")
}

async fn clones_have_the_same_rows(b: &Bench<'_>) -> Verdict {
    let (one, two) = (records(b)?, records(b)?);
    holds("both are one", std::ptr::addr_eq(Arc::as_ptr(&one), Arc::as_ptr(&two)))
}

async fn a_thread_is_inserted_once(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    let row = ThreadRow {
        graph: Some("graph".into()),
        metadata: object(r#"{"ä \u0000":"𝄞","n":0.1,"big":18446744073709551615,"deep":{"list":[1,[null]]}}"#),
        config: json(r#"{"configurable":{"a":1e300}}"#),
        error: Some(json(r#"{"message":"it broke"}"#)),
        expiry: Some(Expiry::new(0.5, ExpiryStrategy::KeepLatest, NOW)),
        ..thread_row("t ä'\"")
    };
    equal("the first", rows.insert_thread(row.clone()).await?, (row.clone(), true))?;
    equal("another one", rows.insert_thread(thread_row("t ä'\"")).await?, (row.clone(), false))?;
    equal("as it is read", rows.thread(&row.id).await?, Some(row))?;
    equal("one that does not exist", rows.thread(&thread("none")).await?, None)
}

async fn a_thread_is_changed(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    let row = ThreadRow { metadata: object(r#"{"a":1,"b":{"c":2}}"#), ..thread_row("t") };
    rows.insert_thread(row.clone()).await?;
    let change = ThreadChange {
        metadata: Some(object(r#"{"b":{"d":3},"e":null}"#)),
        graph: Some("graph".into()),
        config: Some(json(r#"{"x":1}"#)),
        error: Some(Some(json(r#""bad""#))),
        ..ThreadChange::default()
    };
    let changed = ThreadRow {
        metadata: object(r#"{"a":1,"b":{"d":3},"e":null}"#),
        graph: Some("graph".into()),
        config: json(r#"{"x":1}"#),
        error: Some(json(r#""bad""#)),
        updated_ms: NOW + 1,
        ..row
    };
    let told = rows.change_thread(&thread("t"), change, NOW + 1).await?;
    equal("the change", told.as_ref(), Some(&changed))?;
    equal("as it is read", rows.thread(&thread("t")).await?, told)?;
    let expiry = Expiry::new(2.0, ExpiryStrategy::Delete, NOW + 2);
    let change = ThreadChange {
        error: Some(None),
        expiry: Some(Some(expiry)),
        is_state: true,
        graph: Some("other".into()),
        ..ThreadChange::default()
    };
    let told = rows.change_thread(&thread("t"), change, NOW + 2).await?;
    let (updated_ms, state_updated_ms) = (NOW + 2, NOW + 2);
    let changed = ThreadRow { error: None, expiry: Some(expiry), updated_ms, state_updated_ms, ..changed };
    equal("the second change", told, Some(changed))?;
    let none = rows.change_thread(&thread("none"), ThreadChange::default(), NOW).await?;
    equal("one that does not exist", none, None)
}

/// Stores a thread with a run, a schedule and an event.
async fn full(rows: &dyn Records, name: &str) -> Verdict {
    rows.insert_thread(thread_row(name)).await?;
    let run = started(rows, &format!("run of {name}"), name).await?;
    rows.put_cron(CronRow { thread: Some(thread(name)), ..cron(&format!("cron of {name}")) }).await?;
    rows.append_events(run.attempt, vec![event(name, 1, &run.id)]).await?;
    Ok(rows.expire_events(&thread(name), &run.id, NOW).await?)
}

async fn is_gone(rows: &dyn Records, name: &str) -> Verdict {
    equal("the thread", rows.thread(&thread(name)).await?, None)?;
    equal("its run", rows.run(&format!("run of {name}")).await?, None)?;
    equal("its schedule", rows.cron(&format!("cron of {name}")).await?, None)?;
    equal("its events", rows.events(&thread(name), None, None, 9).await?, [])?;
    let missing = rows.append_events(1, vec![event(name, 2, "run")]).await;
    is!("an event of it", missing, Err(StoreError::NoThread(_)));
    is!("a number for it", rows.reserve_events(&thread(name), 1).await, Err(StoreError::NoThread(_)));
    let cron = CronRow { thread: Some(thread(name)), ..cron("late") };
    is!("a schedule of it", rows.put_cron(cron).await, Err(StoreError::NoThread(_)));
    Ok(())
}

async fn is_whole(rows: &dyn Records, name: &str) -> Verdict {
    equal(
        "the other's status",
        rows.thread(&thread(name)).await?.map(|row| row.status),
        Some(ThreadStatus::Busy),
    )?;
    holds("the other's run", rows.run(&format!("run of {name}")).await?.is_some())?;
    holds("the other's schedule", rows.cron(&format!("cron of {name}")).await?.is_some())?;
    equal("the other's events", rows.events(&thread(name), None, None, 9).await?.len(), 1)
}

async fn a_thread_takes_its_rows_along(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    full(&*rows, "t").await?;
    full(&*rows, "u").await?;
    holds("it is deleted", rows.delete_thread(&thread("t")).await?)?;
    is_gone(&*rows, "t").await?;
    is_whole(&*rows, "u").await?;
    holds("it is deleted once", !rows.delete_thread(&thread("t")).await?)?;
    full(&*rows, "t").await?;
    is_whole(&*rows, "t").await
}

async fn deleting_checkpoints_deletes_rows(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    b.advance("t", None, []).await?;
    for name in ["t", "never ran", "u"] {
        full(&*rows, name).await?;
    }
    b.delete("t").await?;
    b.delete("never ran").await?;
    is_gone(&*rows, "t").await?;
    is_gone(&*rows, "never ran").await?;
    is_whole(&*rows, "u").await
}

/// Returns the names of the threads that a query finds, and the number of all.
async fn found(rows: &dyn Records, query: &ThreadQuery) -> Result<(String, u64), Stop> {
    let found = rows.threads(query).await?;
    let names: Vec<&str> = found.rows.iter().map(|row| row.id.as_str()).collect();
    Ok((names.join(" "), found.total))
}

fn by_id() -> ThreadQuery {
    let order = Order { by: Column::Id, ascending: true };
    ThreadQuery { order, limit: 99, ..ThreadQuery::default() }
}

async fn threads_are_found_by_metadata(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    let all = [
        ("a", r#"{"user":"x","n":1,"flag":true,"none":null}"#),
        ("b", r#"{"user":"x","n":1.5,"deep":{"k":1,"l":[1,2]}}"#),
        ("c", r#"{"user":"y","deep":{"k":1},"list":["p",{"q":1,"r":2},"s"]}"#),
        ("d", r#"{}"#),
    ];
    for (name, metadata) in all {
        rows.insert_thread(ThreadRow { metadata: object(metadata), ..thread_row(name) }).await?;
    }
    let by = |metadata| ThreadQuery { metadata: object(metadata), ..by_id() };
    for (metadata, expected) in [
        ("{}", ("a b c d", 4)),
        (r#"{"user":"x"}"#, ("a b", 2)),
        (r#"{"user":"x","n":1}"#, ("a", 1)),
        (r#"{"n":1.5}"#, ("b", 1)),
        (r#"{"n":"1"}"#, ("", 0)),
        (r#"{"flag":true}"#, ("a", 1)),
        (r#"{"none":null}"#, ("a", 1)),
        (r#"{"missing":null}"#, ("", 0)),
        (r#"{"deep":{"k":1}}"#, ("b c", 2)),
        (r#"{"deep":{"l":[2]},"user":"x"}"#, ("b", 1)),
        (r#"{"deep":{}}"#, ("b c", 2)),
        (r#"{"list":[{"q":1},"p"]}"#, ("c", 1)),
        (r#"{"list":["z"]}"#, ("", 0)),
        (r#"{"user":["x"]}"#, ("", 0)),
    ] {
        let (names, total) = expected;
        equal(metadata, found(&*rows, &by(metadata)).await?, (names.to_owned(), total))?;
    }
    let change = ThreadChange { metadata: Some(object(r#"{"user":"y"}"#)), ..ThreadChange::default() };
    rows.change_thread(&thread("a"), change, NOW).await?;
    equal("after a change", found(&*rows, &by(r#"{"user":"y"}"#)).await?, ("a c".into(), 2))?;
    equal("by the old value", found(&*rows, &by(r#"{"user":"x"}"#)).await?, ("b".into(), 1))?;
    rows.delete_thread(&thread("c")).await?;
    equal("after a deletion", found(&*rows, &by(r#"{"user":"y"}"#)).await?, ("a".into(), 1))
}

async fn threads_are_found_by_id_and_status(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    for (name, status) in [("a", ThreadStatus::Idle), ("b", ThreadStatus::Error), ("c", ThreadStatus::Idle)] {
        let metadata = object(r#"{"k":1}"#);
        rows.insert_thread(ThreadRow { status, metadata, ..thread_row(name) }).await?;
    }
    let ids = Some(vec![thread("c"), thread("none"), thread("b"), thread("c")]);
    let of_ids = ThreadQuery { ids, ..by_id() };
    equal("by id", found(&*rows, &of_ids).await?, ("b c".into(), 2))?;
    let idle = ThreadQuery { status: Some(ThreadStatus::Idle), ..by_id() };
    equal("by status", found(&*rows, &idle).await?, ("a c".into(), 2))?;
    let both = ThreadQuery { metadata: object(r#"{"k":1}"#), ..idle.clone() };
    equal("by status and metadata", found(&*rows, &both).await?, ("a c".into(), 2))?;
    let both = ThreadQuery { status: Some(ThreadStatus::Idle), ..of_ids };
    equal("by id and status", found(&*rows, &both).await?, ("c".into(), 1))?;
    rows.create_run(run("1", "a")).await?;
    equal("after a run was created", found(&*rows, &idle).await?, ("c".into(), 1))?;
    let busy = ThreadQuery { status: Some(ThreadStatus::Busy), limit: 0, ..by_id() };
    equal("the number of busy ones", found(&*rows, &busy).await?, (String::new(), 1))
}

async fn threads_are_listed_in_order(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    let all = [("b", 3, 1, 5, ThreadStatus::Idle), ("d", 1, 4, 4, ThreadStatus::Error)];
    let all = all.into_iter().chain([("a", 2, 2, 6, ThreadStatus::Busy), ("c", 2, 3, 2, ThreadStatus::Idle)]);
    for (name, created_ms, updated_ms, state_updated_ms, status) in all {
        let graph = (name != "a").then(|| format!("graph of {name}").into());
        let metadata = object(r#"{"k":"v"}"#);
        let row = ThreadRow {
            created_ms,
            updated_ms,
            state_updated_ms,
            status,
            graph,
            metadata,
            ..thread_row(name)
        };
        rows.insert_thread(row).await?;
    }
    for metadata in ["{}", r#"{"k":"v"}"#] {
        for (by, ascending) in [
            (Column::Created, "d a c b"),
            (Column::Updated, "b a c d"),
            (Column::StateUpdated, "c d b a"),
            (Column::Id, "a b c d"),
            (Column::Name, "a b c d"),
            (Column::Status, "a d b c"),
            (Column::Graph, "a b c d"),
            (Column::Next, "d a c b"),
        ] {
            let query = |ascending| ThreadQuery {
                metadata: object(metadata),
                order: Order { by, ascending },
                ..by_id()
            };
            let descending: Vec<&str> = ascending.split(' ').rev().collect();
            equal(format!("by {by:?}"), found(&*rows, &query(true)).await?, (ascending.into(), 4))?;
            let expected = (descending.join(" "), 4);
            equal(format!("by {by:?}, downwards"), found(&*rows, &query(false)).await?, expected)?;
            let page = ThreadQuery { offset: 1, limit: 2, ..query(false) };
            let expected = (descending[1..3].join(" "), 4);
            equal(format!("a page by {by:?}"), found(&*rows, &page).await?, expected)?;
        }
    }
    let newest = ThreadQuery { limit: 1, ..ThreadQuery::default() };
    equal("the newest by default", found(&*rows, &newest).await?, ("b".into(), 4))?;
    let beyond = ThreadQuery { offset: 9, ..by_id() };
    equal("a page beyond", found(&*rows, &beyond).await?, (String::new(), 4))
}

async fn threads_expire(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    for (name, minutes) in [("a", 2.0), ("b", 1.0), ("busy", 1.0), ("c", 99.0), ("d", 1.0)] {
        let expiry = Some(Expiry::new(minutes, ExpiryStrategy::Delete, NOW));
        rows.insert_thread(ThreadRow { expiry, ..thread_row(name) }).await?;
    }
    rows.insert_thread(thread_row("no expiry")).await?;
    rows.create_run(run("1", "busy")).await?;
    let minute = 60_000;
    let swept = async |now| -> Result<Vec<String>, Stop> {
        Ok(rows.sweep(now, 9).await?.iter().map(|row| row.id.to_string()).collect())
    };
    equal("before the time", swept(NOW + minute - 1).await?, [""; 0])?;
    equal("after it", swept(NOW + 2 * minute).await?, ["b", "d", "a"])?;
    equal("up to a limit", rows.sweep(NOW + 2 * minute, 1).await?.len(), 1)?;
    rows.change_thread(&thread("b"), ThreadChange::default(), NOW + 1).await?;
    equal("after a change", swept(NOW + minute).await?, ["d"])?;
    let kept = ThreadChange { expiry: Some(None), ..ThreadChange::default() };
    rows.change_thread(&thread("d"), kept, NOW + 1).await?;
    equal("without an expiry", swept(NOW + minute).await?, [""; 0])
}

async fn numbers_of_events_are_never_reused(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    for name in ["t", "u"] {
        rows.insert_thread(thread_row(name)).await?;
    }
    let (t, reserve) = (thread("t"), async |count| rows.reserve_events(&thread("t"), count).await);
    equal("the first", reserve(10).await?, 1)?;
    equal("the first of another thread", rows.reserve_events(&thread("u"), 1).await?, 1)?;
    equal("the next", reserve(5).await?, 11)?;
    rows.release_events(&t, 13, 16).await?;
    equal("after a release", reserve(5).await?, 13)?;
    rows.release_events(&t, 4, 11).await?;
    equal("after a release that is too late", reserve(2).await?, 18)?;
    started(&*rows, "r", "t").await?;
    rows.append_events(1, vec![event("t", 19, "r")]).await?;
    rows.release_events(&t, 18, 20).await?;
    equal("after a release of a number in use", reserve(1).await?, 20)?;
    let at_once = at_once(8, |_| {
        let rows = rows.clone();
        async move { rows.reserve_events(&thread("u"), 3).await }
    });
    let mut firsts = at_once.await?;
    firsts.sort_unstable();
    equal("reservations at once", firsts, (0..8).map(|number| 2 + number * 3).collect::<Vec<_>>())
}

async fn numbers_of_events_outlive_their_program(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    rows.insert_thread(thread_row("t")).await?;
    rows.reserve_events(&thread("t"), 100).await?;
    let later = records(&b.reopened().await?)?;
    equal("after a crash", later.reserve_events(&thread("t"), 10).await?, 101)?;
    later.release_events(&thread("t"), 103, 111).await?;
    equal("the first program", rows.reserve_events(&thread("t"), 1).await?, 103)
}

async fn events_come_in_order(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    for name in ["t", "u"] {
        rows.insert_thread(thread_row(name)).await?;
    }
    started(&*rows, "u", "u").await?;
    rows.append_events(1, vec![event("u", 2, "u")]).await?;
    started(&*rows, "s", "t").await?;
    rows.append_events(1, vec![event("t", 9, "s")]).await?;
    finish(&*rows, "s", success()).await?;
    started(&*rows, "r", "t").await?;
    rows.append_events(1, vec![event("t", 3, "r"), event("t", 1, "r")]).await?;
    rows.append_events(1, vec![event("t", 4, "r")]).await?;
    let t = thread("t");
    let [one, three, four] = [1, 3, 4].map(|seq| event("t", seq, "r"));
    let nine = event("t", 9, "s");
    let list = rows.events(&t, None, None, 99).await?;
    equal("all", list, [one.clone(), three.clone(), four.clone(), nine.clone()])?;
    equal("those of a run", rows.events(&t, Some("s"), None, 99).await?, std::slice::from_ref(&nine))?;
    equal("later ones", rows.events(&t, None, Some(3), 99).await?, [four.clone(), nine])?;
    equal("the first two after", rows.events(&t, Some("r"), Some(0), 2).await?, [one, three])?;
    equal("after the last", rows.events(&t, None, Some(u64::MAX), 99).await?, [])?;
    equal("those of no thread", rows.events(&thread("none"), None, None, 99).await?, [])?;
    let other = EventRow { text: json("7"), ..four };
    rows.append_events(1, vec![other.clone()]).await?;
    equal("one that was replaced", rows.events(&t, None, Some(3), 1).await?, [other])?;
    let mixed = vec![event("t", 20, "r"), event("none", 1, "r")];
    is!("some of no thread", rows.append_events(1, mixed).await, Err(StoreError::NoThread(_)));
    equal("none of them", rows.events(&t, None, Some(9), 99).await?, [])
}

async fn events_expire_by_run(b: &Bench<'_>) -> Verdict {
    let rows = records(b)?;
    rows.insert_thread(thread_row("t")).await?;
    let t = thread("t");
    for (id, numbers, ending) in
        [("r", [2, 4, 6], Ending::RolledBack { thread: ThreadStatus::Idle }), ("s", [1, 3, 5], success())]
    {
        started(&*rows, id, "t").await?;
        rows.append_events(1, numbers.map(|seq| event("t", seq, id)).into()).await?;
        finish(&*rows, id, ending).await?;
    }
    rows.expire_events(&t, "r", NOW + 9).await?;
    rows.expire_events(&t, "s", NOW + 10).await?;
    rows.expire_events(&t, "s", NOW + 11).await?;
    let left = async |now| -> Result<Vec<u64>, Stop> {
        rows.sweep(now, 9).await?;
        Ok(rows.events(&t, None, None, 99).await?.iter().map(|event| event.seq).collect())
    };
    equal("before the time", left(NOW + 8).await?, [1, 2, 3, 4, 5, 6])?;
    equal("after the first", left(NOW + 10).await?, [1, 3, 5])?;
    equal("after both", left(NOW + 11).await?, [0; 0])?;
    is!("of no thread", rows.expire_events(&thread("none"), "r", NOW).await, Err(StoreError::NoThread(_)));
    Ok(())
}
