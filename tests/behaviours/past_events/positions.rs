//! Positions of past events.

use superstep::run::{EventPosition, View};

use super::*;
use crate::support::on_both_savers;

/// `a`, a subgraph of `one`, and `b`, run twice.
async fn two_turns(saver: Arc<dyn Checkpointer>) -> Thread<Log> {
    let mut inner = StateGraph::<Log, Stage>::new("inner");
    let one = inner.node("one", mark);
    inner.edge(START, one);
    inner.edge(one, END);
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [a, b] = ["a", "b"].map(|name| g.node(name, mark));
    let sub = g.subgraph("sub", inner.compile().expect("sound"), Lens::new().share(Log::RAN, Log::RAN));
    g.edge(START, a);
    g.edge(a, sub);
    g.edge(sub, b);
    g.edge(b, END);
    let (thread, _) = watched(g, &Stage::default(), &saver);
    for turn in ["one", "two"] {
        thread.run(ran(turn)).await.expect("no node fails").finished().expect("it ends");
    }
    thread
}

/// From the position of every event of the graph itself, exactly the rest follows. In a subgraph, the events of its
/// task are repeated.
#[tokio::test]
async fn what_comes_after_a_place_is_the_rest() {
    on_both_savers(|saver| async move {
        let thread = two_turns(saver).await;
        let all = past(&thread).await;
        let events = |past: &[PastEvent]| -> Vec<RunEvent> {
            past.iter().map(|past| RunEvent { seq: 0, ..past.event.clone() }).collect()
        };
        for (at, read) in all.iter().enumerate() {
            let json = serde_json::to_string(&read.position).expect("a place has a JSON form");
            let position: EventPosition = serde_json::from_str(&json).expect("and comes back");
            let rest = thread.events().expect("it has a checkpointer").after(position).collect().await;
            let first = match all[at].event.path.is_empty() {
                true => at + 1,
                false => all[..at].iter().rposition(|past| past.event.path.is_empty()).expect("a task") + 1,
            };
            assert_eq!(events(&rest.expect("it is there")), events(&all[first..]), "after {at}");
        }
        let places: std::collections::HashSet<_> = all.iter().map(|past| past.position).collect();
        let own = all.iter().filter(|past| past.event.path.is_empty()).count();
        assert_eq!(places.len(), own, "no two events of the graph itself have one place");
    })
    .await;
}

#[tokio::test]
async fn a_saved_checkpoint_is_a_place_of_its_own() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let _run = thread.run(ran("in")).await.expect("no node fails");
        let saved = live.events().into_iter().find_map(|event| match event.kind {
            EventKind::CheckpointSaved { id, step: 1, .. } => Some(id),
            _ => None,
        });
        let saved = saved.expect("it was told");
        let rest = thread.events().expect("it has a checkpointer").after(saved).collect().await;
        let rest = rest.expect("it is there");
        assert!(matches!(rest[0].event.kind, EventKind::SuperstepStarted { step: 2, .. }));

        let past = thread.at(saved).await.expect("it is there").events().expect("it has a checkpointer");
        let led_there = past.collect().await.expect("the store does not fail");
        let last = led_there.last().expect("something led there");
        assert_eq!(last.position, saved.into());
        assert_eq!(led_there.len() + rest.len(), super::past(&thread).await.len());
    })
    .await;
}

#[tokio::test]
async fn a_place_of_another_thread_is_refused() {
    on_both_savers(|saver| async move {
        let (thread, _) = watched(chain(), &Stage::default(), &saver);
        let run = thread.run(ran("in")).await.expect("no node fails");
        let graph = chain().compile().expect("sound").with_context(Stage::default());
        let graph = graph.shared_checkpointer(Arc::clone(&saver));
        let other = graph.thread("other");
        let _run = other.run(ran("in")).await.expect("no node fails");
        let foreign = run.checkpoint.expect("it is stored");
        let refused = other.events().expect("it has a checkpointer").after(foreign).next().await;
        let error = refused.expect_err("it is not in its past").to_string();
        assert_eq!(error, format!("thread other has no checkpoint {foreign}"));

        let fork =
            thread.at(foreign).await.expect("it is there").fork("fork").await.expect("the name is free");
        assert_eq!(past(&fork).await, past(&thread).await, "a fork shares the past");

        let mut g = StateGraph::<Log, Stage>::new("another");
        let a = g.node("a", mark);
        g.edge(START, a);
        g.edge(a, END);
        let another = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let error = another.thread("t").events().expect("it has one").next().await.expect_err("not its own");
        assert_eq!(error.to_string(), "thread t belongs to graph g, not to another");
    })
    .await;
}

/// A past of several pages, on a fork that shares the first of them.
#[tokio::test]
async fn a_long_past_is_reported_whole() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let mut first = None;
        for turn in 0..30 {
            let run = thread.run(ran(turn.to_string())).await.expect("no node fails");
            first = first.or(run.checkpoint);
        }
        let rebuilt: Vec<RunEvent> = past(&thread).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&rebuilt), known(&live.events()));
        let first = thread.at(first.expect("it is stored")).await.expect("it is there");
        let fork = first.fork("fork").await.expect("the name is free");
        let on_thread = live.events().len();
        for turn in 0..30 {
            let _run = fork.run(ran(turn.to_string())).await.expect("no node fails");
        }
        let mut led_here: Vec<RunEvent> = rebuilt
            [..first.events().expect("it has one").collect().await.expect("it is there").len()]
            .to_vec();
        led_here.extend(live.events().split_off(on_thread));
        let forked: Vec<RunEvent> = past(&fork).await.into_iter().map(|past| past.event).collect();
        assert_eq!(known(&forked), known(&led_here));
    })
    .await;
}

#[tokio::test]
async fn views_show_a_part_of_the_past() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let views = View::Updates | View::Values | View::Custom;
        let _run = thread.run(ran("in")).include(views).await.expect("no node fails");
        let rebuilt = thread.events().expect("it has a checkpointer").view(views).collect().await;
        let rebuilt: Vec<RunEvent> =
            rebuilt.expect("the store does not fail").into_iter().map(|past| past.event).collect();
        let mut live = live.events();
        live.retain(|event| views.shows(&event.kind));
        assert_eq!(known(&rebuilt), known(&live));
        assert_eq!(rebuilt.len(), 3 + 3 + 4);
    })
    .await;
}
