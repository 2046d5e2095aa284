//! Shapes of graphs and of runs, each with its live and its rebuilt events.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::*;
use crate::support::{Smashed, on_both_savers};
use superstep::checkpoint::Source;

#[tokio::test]
async fn a_chain_is_reported_again_event_by_event() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        assert!(past(&thread).await.is_empty(), "nothing has happened");
        let run = thread.run(ran("in")).await.expect("no node fails");
        let live = live.events();
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live));
        let saved =
            rebuilt.iter().rev().find(|event| matches!(event.kind, EventKind::CheckpointSaved { .. }));
        let saved = saved.expect("there is one");
        assert_eq!(saved.at_ms, run.checkpoint.expect("it is stored").unix_ms(), "ids tell the time");
        let times: Vec<u64> = rebuilt.iter().map(|event| event.at_ms).collect();
        assert!(times.is_sorted(), "{times:?}");
    })
    .await;
}

#[tokio::test]
async fn several_turns_are_reported_with_their_runs() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        for turn in 0..3 {
            thread.run(ran(turn.to_string())).await.expect("no node fails").finished().expect("it ends");
        }
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
    })
    .await;
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<u32>),
    Write,
}

#[tokio::test]
async fn items_routes_and_joins_are_reported_again() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let plan =
            g.node(
                "plan",
                async |log: Snapshot<Log>| {
                    if log.ran.len() < 2 { Plan::Research(vec![1, 2, 3]) } else { Plan::Write }
                },
            );
        let work = g.node("work", async |item: Input<u32>, emit: Emit| {
            emit.message(&format!("on {}", *item));
            ran(format!("work {}", *item))
        });
        let [left, right, both] = ["left", "right", "both"].map(|name| g.node(name, mark));
        g.edge(START, plan);
        g.route(plan, move |plan| match plan {
            Plan::Research(items) => each(work, items),
            Plan::Write => to(left).and(to(right)),
        });
        g.edge(work, plan);
        g.join([left, right], both);
        g.edge(both, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        let run = thread.run(ran("in")).await.expect("no node fails");
        assert_eq!(run.state.ran.len(), 7);
        assert_told_again(&live.events(), &past(&thread).await);
    })
    .await;
}

/// Only the attempt that finished the task is in the log: events of the others are not stored.
#[tokio::test(start_paused = true)]
async fn a_retried_task_is_reported_once() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let flaky = g.node("flaky", async |task: TaskInfo, emit: Emit| {
            emit.emit("attempt", &task.attempt());
            match task.attempt() {
                3 => Ok(ran("flaky")),
                _ => Err(Smashed("flaky".into())),
            }
        });
        g.policy(flaky).retry(Retry::fixed(3, Duration::from_secs(1)).on::<Smashed>());
        g.edge(START, flaky);
        g.edge(flaky, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("the third attempt succeeds").finished().expect("it ends");
        let of_attempts = |events: &[RunEvent]| -> Vec<String> {
            let custom = events.iter().filter_map(|event| match &event.kind {
                EventKind::Custom { data, .. } => Some(data.to_string()),
                _ => None,
            });
            custom.collect()
        };
        let mut live = live.events();
        assert_eq!(of_attempts(&live), ["1", "2", "3"]);
        let all = past(&thread).await;
        let rebuilt: Vec<RunEvent> = all.iter().map(|past| past.event.clone()).collect();
        assert_eq!(of_attempts(&rebuilt), ["3"]);
        live.retain(
            |event| !matches!(&event.kind, EventKind::Custom { data, .. } if data.to_string() != "3"),
        );
        assert_told_again(&live, &all);
    })
    .await;
}

#[tokio::test]
async fn an_error_handler_is_reported_with_what_it_handled() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let node = g.node("node", async || -> Result<Update<Log>, Smashed> { Err(Smashed("node".into())) });
        g.policy(node).on_error(async |failed: Failed, emit: Emit| {
            emit.emit("handles", failed.node());
            ran("handled")
        });
        g.edge(START, node);
        g.edge(node, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("it is handled").finished().expect("it ends");
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
        let attempts = rebuilt.iter().filter_map(|event| match &event.kind {
            EventKind::TaskStarted { node, attempt, .. } if node.as_str() == "node" => Some(*attempt),
            _ => None,
        });
        assert_eq!(attempts.collect::<Vec<_>>(), [1, 2], "with a handler attempts are known");
    })
    .await;
}

/// `ask` beside `mark`, then `end`.
fn asking() -> StateGraph<Log, Stage> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let ask = g.node("ask", async |ask: Ask<String, String>, emit: Emit| {
        emit.emit("asks", "who?");
        ran(ask.ask("who?".into()).await)
    });
    let [beside, end] = ["beside", "end"].map(|name| g.node(name, mark));
    g.edge(START, ask);
    g.edge(START, beside);
    g.join([ask, beside], end);
    g.edge(end, END);
    g
}

/// While a question is open, and after it was answered. The events of `beside` are stored with its result: it does not
/// run again.
#[tokio::test]
async fn a_question_is_reported_while_it_is_open_and_after_it() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(asking(), &Stage::default(), &saver);
        let asked = thread.run(ran("in")).await.expect("no node fails").interrupted().expect("it asks");
        let mut first = live.events();
        // The next attempt emits the events of the paused one again.
        first.retain(|event| !matches!(&event.kind, EventKind::Custom { name, .. } if name == "asks"));
        let open = past(&thread).await;
        assert_told_again(&first, &open);
        let told = open.iter().find_map(|past| match &past.event.kind {
            EventKind::Interrupted { interrupts } => Some(interrupts.clone()),
            _ => None,
        });
        assert_eq!(told, Some(asked));

        let run = thread.answer("me").await.expect("no node fails");
        assert_eq!(run.state.ran, ["in", "me", "beside", "end"]);
        let rebuilt = past(&thread).await;
        let names = |run| -> Vec<String> {
            let of_run = rebuilt.iter().filter(move |past| past.event.run == run);
            let kinds = of_run.map(|past| serde_json::to_value(&past.event).expect("events are JSON"));
            kinds.map(|event| format!("{} {}", event["type"], event["node"]).replace('"', "")).collect()
        };
        let first_run = live.events()[0].run;
        assert_eq!(
            names(first_run)[6..],
            [
                "superstep_started null",
                "task_started ask",
                "task_paused ask",
                "interrupted null",
                "run_finished null"
            ]
        );
        assert_eq!(
            names(run.run)[..9],
            [
                "run_started null",
                "superstep_started null",
                "task_started ask",
                "custom ask",
                "task_finished ask",
                "task_started beside",
                "custom beside",
                "task_finished beside",
                "checkpoint_saved null",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_reported_until_its_superstep_has_ended() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let first = g.node("first", mark);
        let fragile = g.node("fragile", async |stage: Dep<Stage>, emit: Emit| {
            emit.emit("tries", &true);
            stage.broken.check("fragile")?;
            Ok::<_, Smashed>(ran("fragile"))
        });
        g.edge(START, first);
        g.edge(first, fragile);
        g.edge(fragile, END);
        let stage = Stage::default();
        stage.broken.smash("fragile");
        let (thread, live) = watched(g, &stage, &saver);
        thread.run(ran("in")).await.expect_err("it is broken");
        let mut failed = live.events();
        failed.retain(|event| !matches!(&event.kind, EventKind::Custom { name, .. } if name == "tries"));
        let rebuilt = past(&thread).await;
        assert_told_again(&failed, &rebuilt);
        let message = "node \"fragile\" failed at step 2: fragile is broken";
        let last = &rebuilt.last().expect("there are some").event.kind;
        assert_eq!(*last, EventKind::RunFailed { message: message.into() });

        stage.broken.mend("fragile");
        thread.resume().await.expect("all is mended").finished().expect("it ends");
        // The end of the first run is no longer known.
        let mut both = live.events();
        let failing = both[0].run;
        both.retain(|event| {
            let is_gone = match &event.kind {
                EventKind::SuperstepStarted { step, .. } | EventKind::TaskStarted { step, .. } => *step == 2,
                EventKind::Custom { name, .. } => name == "tries",
                EventKind::TaskFailed { .. } | EventKind::RunFailed { .. } => true,
                _ => false,
            };
            event.run != failing || !is_gone
        });
        assert_told_again(&both, &past(&thread).await);
    })
    .await;
}

/// `begin`, then a subgraph of `one` and `two`, then `end`. `two` may ask.
fn nested(asks: bool) -> StateGraph<Log, Stage> {
    let mut inner = StateGraph::<Log, Stage>::new("inner");
    let one = inner.node("one", mark);
    let two = inner.node("two", move |ask: Ask<String, String>, emit: Emit| async move {
        let said = if asks { ask.ask("who?".into()).await } else { "two".into() };
        emit.emit("said", &said);
        ran(said)
    });
    inner.edge(START, one);
    inner.edge(one, two);
    inner.edge(two, END);
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [begin, end] = ["begin", "end"].map(|name| g.node(name, mark));
    let sub = g.subgraph("sub", inner.compile().expect("sound"), Lens::new().share(Log::RAN, Log::RAN));
    g.edge(START, begin);
    g.edge(begin, sub);
    g.edge(sub, end);
    g.edge(end, END);
    g
}

#[tokio::test]
async fn a_subgraph_is_reported_inside_its_task() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(nested(false), &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("no node fails").finished().expect("it ends");
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
        assert!(rebuilt.iter().any(|event| event.path.len() == 1));
    })
    .await;
}

/// The second of two runs of a kept subgraph in one run of the graph used to lack its beginning.
#[tokio::test]
async fn a_subgraph_that_continues_with_its_kept_state_in_the_same_run_is_reported_to_begin_again() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [first, second] = ["first", "second"].map(|name| {
            let inner = chain().compile().expect("sound");
            g.subgraph(name, inner, Lens::new().keep("both").share(Log::RAN, Log::RAN))
        });
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(Log::update()).await.expect("it runs").finished().expect("it finishes");
        let rebuilt = past(&thread).await;
        assert_told_again(&live.events(), &rebuilt);
        let begun = rebuilt.iter().filter(|past| matches!(past.event.kind, EventKind::RunStarted { .. }));
        assert_eq!(begun.count(), 3, "the graph's run, and two of the subgraph");
    })
    .await;
}

#[tokio::test]
async fn a_subgraph_that_asks_is_reported_with_both_runs() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(nested(true), &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("no node fails").interrupted().expect("it asks");
        assert_told_again(&live.events(), &past(&thread).await);
        thread.answer("me").await.expect("no node fails").finished().expect("it ends");
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
    })
    .await;
}

#[tokio::test]
async fn a_join_that_never_completed_is_reported_again() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let pick = g.node("pick", async || Plan::Write);
        let [left, right, both] = ["left", "right", "both"].map(|name| g.node(name, mark));
        g.edge(START, pick);
        g.route(pick, move |plan| match plan {
            Plan::Research(_) => to(right),
            Plan::Write => to(left),
        });
        g.join([left, right], both);
        g.edge(both, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("no node fails").finished().expect("it ends");
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
    })
    .await;
}

#[tokio::test]
async fn edits_are_reported_as_their_checkpoints() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let run = thread.run(ran("in")).interrupt_before("b").await.expect("no node fails");
        assert!(matches!(run.status, Status::Breakpoint { .. }));
        let edit = thread.edit(ran("edited")).await.expect("the store does not fail");
        thread.resume().await.expect("no node fails").finished().expect("it ends");
        let mut rebuilt = past(&thread).await;
        let at = rebuilt.iter().position(|past| past.position == edit.into()).expect("it is told");
        let told = rebuilt.remove(at).event.kind;
        assert!(
            matches!(told, EventKind::CheckpointSaved { source: Source::Update, step: 2, .. }),
            "{told:?}"
        );
        let rebuilt: Vec<RunEvent> = rebuilt.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()), "the rest is what was live");
    })
    .await;
}

/// The subgraph had finished when its sibling asked: it used to be missing from the run that paused and from the one
/// that continued.
#[tokio::test]
async fn a_subgraph_that_finished_beside_a_question_is_reported() {
    on_both_savers(|saver| async move {
        let mut inner = StateGraph::<Log, Stage>::new("inner");
        let one = inner.node("one", mark);
        inner.edge(START, one);
        inner.edge(one, END);
        let mut g = StateGraph::<Log, Stage>::new("g");
        let lens = Lens::new().share(Log::RAN, Log::RAN);
        let sub = g.subgraph("sub", inner.compile().expect("sound"), lens);
        let ask = g.node("ask", async |ask: Ask<String, String>| ran(ask.ask("who?".into()).await));
        for node in [sub, ask] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("no node fails").interrupted().expect("it asks");
        assert_told_again(&live.events(), &past(&thread).await);
        thread.answer("me").await.expect("no node fails").finished().expect("it ends");
        let inside = |event: &&RunEvent| !event.path.is_empty();
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        let rebuilt: Vec<RunEvent> = rebuilt.iter().filter(inside).cloned().collect();
        let live: Vec<RunEvent> = live.events().iter().filter(inside).cloned().collect();
        assert_eq!(known(&rebuilt), known(&live));
    })
    .await;
}

#[tokio::test]
async fn work_that_an_input_discards_is_reported_before_it() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let quick = g.node("quick", mark);
        let fragile = g.node("fragile", async |stage: Dep<Stage>| {
            tokio::task::yield_now().await;
            stage.broken.check("fragile")?;
            Ok::<_, Smashed>(ran("fragile"))
        });
        for node in [quick, fragile] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let stage = Stage::default();
        stage.broken.smash("fragile");
        let (thread, live) = watched(g, &stage, &saver);
        thread.run(ran("in")).await.expect_err("it is broken");
        stage.broken.mend("fragile");
        thread.run(ran("again")).await.expect("all is mended").finished().expect("it ends");
        let kinds = live.events();
        assert!(kinds.iter().any(|event| matches!(event.kind, EventKind::RunFailed { .. })));
        assert_told_again(&kinds, &past(&thread).await);
    })
    .await;
}
