//! Commits: checkpoints are loaded as they were committed.

use superstep_core::checkpoint::{
    At, Cause, CheckpointerExt, DeferredNode, Frontier, Handled, JoinProgress, Kept, NextTask, RouteRecord,
    Source, TaskRecord,
};
use superstep_core::state::{FieldId, Logged, LoggedWrite, Op};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{change, commit_of, extend, failure, json, run, set, step, thread};
use super::verdict::{Verdict, equal};

items! { "commit":
    is_found_by_thread_and_id "A stored checkpoint is found as the head of its thread and by its id."
    comes_back_whole "A checkpoint comes back equal to what was stored, the first and a later one."
    changes_come_back_in_order "The operations of each field come back, all and in their order."
    tasks_come_back "The tasks that ran come back with writes, route and targets, in merge order."
    handled_failures_come_back "A task's failure that its error handler dealt with comes back with the task."
    next_tasks_come_back "What is next comes back in merge order, each task with its cause and its input."
    waiting_nodes_come_back "Joins, deferred nodes and kept subgraphs come back with the frontier."
    metadata_comes_back "The user's entries come back, on the checkpoint and in the history."
    run_comes_back "The run that wrote a checkpoint comes back."
    step_and_source_come_back "Step and source come back, of every source that a program commits."
    parent_is_recorded "A checkpoint names the one that it continues, and a thread's first names none."
    values_of_every_kind_come_back "Texts, numbers, lists, maps and null come back as they were written."
    several_stay_readable "All checkpoints of a thread can be read by their ids, each with its own values."
    threads_are_isolated "What is committed to one thread shows on no other."
    thread_names_are_any_text "Threads are told apart by every letter of their names, whatever the letters are."
    unchanged_fields_keep_their_values "A commit says only what changed; the rest is as in the parent, which stays as it was."
    new_fields_appear_from_there_on "A field that is written later has no value in earlier checkpoints."
}

/// A text with characters that are special in JSON, SQL or file names.
const QUOTED: &str = "a \"quoted\"\\ 'name'\n%_;--\u{1F980}";

fn long() -> String {
    format!("[\"{}\"]", "x".repeat(20_000))
}

async fn is_found_by_thread_and_id(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let head = b.head("t").await?;
    equal("the graph of the head", head.graph.as_str(), "graph")?;
    equal("the head", &head.checkpoint, &first)?;
    equal("the head's schema", &head.schema, &super::material::schema())?;
    equal("the checkpoint by its id", b.at("t", first.id).await?, head)
}

async fn comes_back_whole(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]"), set(3, "{}")]).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    equal("the second", b.head("t").await?.checkpoint, second)?;
    equal("the first", b.at("t", first.id).await?.checkpoint, first)
}

async fn changes_come_back_in_order(b: &Bench<'_>) -> Verdict {
    let long = long();
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let changes = [
        change(0, [Op::Extend(json("[2]")), Op::Extend(json(&long)), Op::Extend(json("[2]"))]),
        change(1, [Op::MapPut(json(r#"{"k":null}"#)), Op::MapRemove(json(r#"{"k":null}"#))]),
        change(2, [Op::SetAdd(json("[1]")), Op::SetRemove(json("[1]"))]),
        change(3, [Op::Keyed(json(r#"[{"id":"x","item":{"id":"x","n":1}}]"#))]),
    ];
    b.advance("t", Some(&first), changes.clone()).await?;
    let loaded = b.head("t").await?;
    equal("the changes", &loaded.checkpoint.changes, &changes)?;
    let folded = format!("[1,2,{},2]", &long[1..long.len() - 1]);
    let expected = [(0, &*folded), (1, "{}"), (2, "[]"), (3, r#"[{"id":"x","n":1}]"#)];
    equal("the values", values(&loaded), expected)
}

async fn tasks_come_back(b: &Bench<'_>) -> Verdict {
    let long = long();
    let extended = Op::Extend(json("[2]"));
    let mut first = step(None, [change(0, [extended.clone(), Op::Extend(json(&long))])]);
    let write = |field, write| LoggedWrite { field: FieldId(field), write };
    first.tasks = vec![
        TaskRecord {
            node: QUOTED.into(),
            writes: vec![
                write(0, Logged::Op(extended.clone())),
                write(0, Logged::Op(Op::Extend(json(&long)))),
                write(3, Logged::Op(Op::Set(json("null")))),
                write(2, Logged::Reduce(json("null"))),
                write(2, Logged::Reduce(json(&long))),
            ],
            route: Some(RouteRecord { case: QUOTED.into(), value: json("null") }),
            targets: vec!["m".into(), QUOTED.into()],
            handled: None,
        },
        TaskRecord {
            node: "m".into(),
            writes: vec![write(0, Logged::Op(extended))],
            route: Some(RouteRecord { case: "Long".into(), value: json(&long) }),
            targets: Vec::new(),
            handled: None,
        },
    ];
    b.put("t", &first).await?;
    equal("the tasks", b.head("t").await?.checkpoint.tasks, first.tasks)
}

async fn handled_failures_come_back(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, []);
    for instead in [true, false] {
        let handled = Handled { error: failure(1, QUOTED).error, attempts: 3, instead };
        first.tasks.push(TaskRecord { handled: Some(Box::new(handled)), ..first.tasks[0].clone() });
    }
    b.put("t", &first).await?;
    equal("the tasks", b.head("t").await?.checkpoint.tasks, first.tasks)
}

async fn next_tasks_come_back(b: &Bench<'_>) -> Verdict {
    let long = long();
    let next = |cause, input: Option<&str>| NextTask { node: "m".into(), cause, input: input.map(json) };
    let mut first = step(None, []);
    first.frontier.tasks = vec![
        next(Cause::Input, Some("null")),
        next(Cause::Tasks([0, 1].into_iter().collect()), None),
        next(Cause::Join([1].into_iter().collect()), Some("{\"a\":1.0}")),
        next(Cause::Each { by: 1, index: 70_000 }, Some(&long)),
        next(Cause::Deferred(vec![QUOTED.into()]), None),
    ];
    b.put("t", &first).await?;
    equal("what is next", b.head("t").await?.checkpoint.frontier, first.frontier)
}

async fn waiting_nodes_come_back(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut second = step(Some(&first), []);
    second.frontier = Frontier {
        tasks: Vec::new(),
        joins: vec![JoinProgress {
            target: "j".into(),
            sources: vec!["a".into(), "b".into()],
            arrived: vec!["a".into()],
        }],
        deferred: vec![DeferredNode { node: QUOTED.into(), by: vec!["m".into()] }],
        kept: vec![Kept { key: QUOTED.into(), thread: thread(QUOTED), checkpoint: first.id }],
    };
    b.put("t", &second).await?;
    equal("the frontier", b.head("t").await?.checkpoint.frontier, second.frontier)
}

async fn metadata_comes_back(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, []);
    first.metadata =
        [(QUOTED.to_owned(), json("{\"deep\":[null]}")), (String::new(), json("42"))].into_iter().collect();
    b.put("t", &first).await?;
    let second = b.advance("t", Some(&first), []).await?;
    equal(
        "the metadata of the first",
        b.at("t", first.id).await?.checkpoint.metadata,
        first.metadata.clone(),
    )?;
    equal("the metadata of the second", b.at("t", second.id).await?.checkpoint.metadata.len(), 0)?;
    let lines = b.history("t").await?;
    equal("the metadata in the history", &lines[1].metadata, &first.metadata)
}

async fn run_comes_back(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, []);
    first.run = run(1);
    b.put("t", &first).await?;
    let mut second = step(Some(&first), []);
    second.run = run(u128::MAX);
    b.put("t", &second).await?;
    let runs: Vec<_> = b.history("t").await?.iter().map(|line| line.run).collect();
    equal("the runs in the history", runs, [run(u128::MAX), run(1)])?;
    equal("the run of the first", b.at("t", first.id).await?.checkpoint.run, run(1))
}

async fn step_and_source_come_back(b: &Bench<'_>) -> Verdict {
    let mut last = None;
    let mut expected = Vec::new();
    for (number, source) in [(-1, Source::Input), (0, Source::Loop), (1, Source::Update), (1, Source::Fork)] {
        let mut next = step(last.as_ref(), []);
        (next.step, next.source) = (number, source);
        b.put("t", &next).await?;
        expected.insert(0, (number, source));
        last = Some(next);
    }
    let found: Vec<_> = b.history("t").await?.iter().map(|line| (line.step, line.source)).collect();
    equal("steps and sources, newest first", found, expected)
}

async fn parent_is_recorded(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    equal("the parent of the first", b.at("t", first.id).await?.checkpoint.parent, None)?;
    equal("the parent of the second", b.at("t", second.id).await?.checkpoint.parent, Some(first.id))
}

async fn values_of_every_kind_come_back(b: &Bench<'_>) -> Verdict {
    let texts = [r#""text ä""#, "-0.0", r#"[1,"a",[2.50e3],{}]"#, r#"{"data":{"n":123},"none":null}"#];
    let changes: Vec<_> = (0..).zip(texts).map(|(field, text)| set(field, text)).collect();
    let first = b.advance("t", None, changes).await?;
    let expected: Vec<_> = (0..).zip(texts).collect();
    equal("the values", values(&b.head("t").await?), expected)?;
    b.advance("t", Some(&first), (0..4).map(|field| set(field, "null")).collect::<Vec<_>>()).await?;
    let null = [(0, "null"), (1, "null"), (2, "null"), (3, "null")];
    equal("null, which is a value", values(&b.head("t").await?), null)
}

async fn several_stay_readable(b: &Bench<'_>) -> Verdict {
    let mut all = vec![b.advance("t", None, [set(0, "0")]).await?];
    for number in 1..4 {
        all.push(b.advance("t", all.last(), [set(0, &number.to_string())]).await?);
    }
    for (number, checkpoint) in all.iter().enumerate() {
        let loaded = b.at("t", checkpoint.id).await?;
        equal("a checkpoint by its id", &loaded.checkpoint, checkpoint)?;
        equal("its value", values(&loaded), [(0, number.to_string().as_str())])?;
    }
    Ok(())
}

async fn threads_are_isolated(b: &Bench<'_>) -> Verdict {
    let one = b.advance("one", None, [set(0, "1")]).await?;
    let two = b.advance("two", None, [set(0, "2")]).await?;
    b.advance("two", Some(&two), [set(1, "3")]).await?;
    equal("the head of the one", &b.head("one").await?.checkpoint, &one)?;
    equal("the values of the one", values(&b.head("one").await?), [(0, "1")])?;
    equal("the past of the one", b.ids("one").await?, [one.id])?;
    let foreign = b.saver.read(&thread("one"), At::Id(two.id)).await;
    super::verdict::holds("the other's checkpoint is an error here", foreign.is_err())
}

async fn thread_names_are_any_text(b: &Bench<'_>) -> Verdict {
    let names = ["t", "T", "t ", " t", "", "t%", "t_", "t'", "ä", "a\u{308}", "t\u{0}u", "t\u{0}v", QUOTED];
    let mut all = Vec::new();
    for name in names {
        all.push(b.advance(name, None, [set(0, "1")]).await?);
    }
    for (name, checkpoint) in names.iter().zip(&all) {
        equal(format!("the head of {name:?}"), &b.head(name).await?.checkpoint, checkpoint)?;
    }
    let mut expected = names.map(str::to_owned);
    expected.sort();
    equal("the threads by name", b.names().await?, expected)?;
    b.saver.commit(commit_of("t", &step(Some(&all[0]), []))).await?;
    equal("the past of a thread of another name", b.ids("t%").await?.len(), 1)
}

async fn unchanged_fields_keep_their_values(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1"), set(1, "[\"x\"]")]).await?;
    let second = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let third = b.advance("t", Some(&second), [extend(1, "[\"y\"]"), set(2, "3")]).await?;
    equal("the first", values(&b.at("t", first.id).await?), [(0, "1"), (1, "[\"x\"]")])?;
    equal("the second", values(&b.at("t", second.id).await?), [(0, "2"), (1, "[\"x\"]")])?;
    let expected = [(0, "2"), (1, "[\"x\",\"y\"]"), (2, "3")];
    equal("the third", values(&b.at("t", third.id).await?), expected)
}

async fn new_fields_appear_from_there_on(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(2, "\"old\"")]).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.advance("t", Some(&second), [set(1, "\"new\"")]).await?;
    equal("the head", values(&b.head("t").await?), [(1, "\"new\""), (2, "\"old\"")])?;
    equal("the one before", values(&b.at("t", second.id).await?), [(2, "\"old\"")])
}
