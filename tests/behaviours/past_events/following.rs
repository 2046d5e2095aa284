//! Past events, followed by live ones.

use std::future::IntoFuture;

use superstep::run::{EventPosition, Followed, ThreadEvent, View};

use super::*;
use crate::support::on_both_savers;

async fn rest(mut followed: Followed) -> Vec<ThreadEvent> {
    let mut all = Vec::new();
    while let Some(event) = followed.next().await.expect("the store does not fail") {
        all.push(event);
    }
    all
}

fn events(told: &[ThreadEvent]) -> Vec<RunEvent> {
    known(&told.iter().map(|told| told.event.clone()).collect::<Vec<_>>())
}

/// Before, during and after a run: each event once.
#[tokio::test]
async fn past_and_present_meet_without_a_gap_or_a_repetition() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let _first = thread.run(ran("first")).await.expect("no node fails");
        let mut request = thread.run(ran("second"));
        let feed = request.feed(1024);
        let before = thread.events().expect("it has a checkpointer").follow(&feed);
        let mut run = request.stream();
        let mut in_between = Vec::new();
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::TaskStarted { .. } | EventKind::CheckpointSaved { .. }) {
                let past = thread.events().expect("it has a checkpointer");
                let mut followed = past.follow(&feed);
                // Stored events are read now; live ones after the run has continued.
                let first = followed.next().await.expect("the store does not fail").expect("there is a past");
                in_between.push((first, followed));
            }
        }
        run.finish().await.expect("no node fails").finished().expect("it ends");
        let after = thread.events().expect("it has a checkpointer").follow(&feed);
        let all = known(&live.events());
        assert_eq!(events(&rest(before).await), all);
        assert_eq!(events(&rest(after).await), all);
        assert_eq!(in_between.len(), 9);
        for (first, followed) in in_between {
            let mut told = vec![first];
            told.extend(rest(followed).await);
            assert_eq!(events(&told), all);
        }
    })
    .await;
}

/// A subscriber that disconnects in the middle of a run comes back with a position, to another process or to this one.
#[tokio::test]
async fn a_subscriber_that_returns_gets_the_rest() {
    on_both_savers(|saver| async move {
        let (thread, live) = watched(chain(), &Stage::default(), &saver);
        let mut request = thread.run(ran("in"));
        let feed = request.feed(1024);
        let followed = thread.events().expect("it has a checkpointer").follow(&feed);
        request.into_future().await.expect("no node fails").finished().expect("it ends");
        let told = rest(followed).await;
        assert_eq!(events(&told), known(&live.events()));
        let places: Vec<(usize, EventPosition)> =
            told.iter().enumerate().filter_map(|(at, told)| Some((at, told.position?))).collect();
        assert!(places.len() >= 5, "every checkpoint is a place");
        for (at, position) in places {
            let past = thread.events().expect("it has a checkpointer").after(position);
            let again = rest(past.follow(&feed)).await;
            assert_eq!(events(&again), events(&told[at + 1..]), "after {position:?}");
        }
    })
    .await;
}

/// The feed holds only two events: the dropped ones come from the store.
#[tokio::test]
async fn what_a_feed_has_dropped_is_read_from_the_store() {
    on_both_savers(|saver| async move {
        for capacity in [0, 1, 2, 5] {
            let (thread, live) = watched(chain(), &Stage::default(), &saver);
            let before = live.events().len();
            let start = past(&thread).await.last().map(|last| last.position);
            let mut request = thread.run(ran("in"));
            let feed = request.feed(capacity);
            let after = |thread: &Thread<Log>| {
                let events = thread.events().expect("it has a checkpointer");
                match start {
                    Some(start) => events.after(start),
                    None => events,
                }
            };
            let early = after(&thread).follow(&feed);
            request.into_future().await.expect("no node fails").finished().expect("it ends");
            let late = after(&thread).follow(&feed);
            let all = known(&live.events().split_off(before));
            assert_eq!(events(&rest(early).await), all, "room for {capacity}");
            assert_eq!(events(&rest(late).await), all, "room for {capacity}");
        }
    })
    .await;
}

/// A run paused, and another one continued it: the end of the first one is in the log at any time.
#[tokio::test]
async fn the_end_of_the_previous_run_is_reported_before_the_next_one() {
    on_both_savers(|saver| async move {
        let mut inner = StateGraph::<Log, Stage>::new("inner");
        let one = inner.node("one", mark);
        let two = inner.node("two", async |ask: Ask<String, String>| ran(ask.ask("who?".into()).await));
        inner.edge(START, one);
        inner.edge(one, two);
        inner.edge(two, END);
        let mut g = StateGraph::<Log, Stage>::new("g");
        let lens = || Lens::new().share(Log::RAN, Log::RAN);
        let sub = g.subgraph("sub", inner.compile().expect("sound"), lens());
        let end = g.node("end", mark);
        g.edge(START, sub);
        g.edge(sub, end);
        g.edge(end, END);
        let (thread, live) = watched(g, &Stage::default(), &saver);
        thread.run(ran("in")).await.expect("no node fails").interrupted().expect("it asks");
        let mut request = thread.answer("me");
        let feed = request.feed(1024);
        let followed = || thread.events().expect("it has a checkpointer").follow(&feed);
        let early = followed();
        let before = rest_of_the_past(followed(), live.events().len()).await;
        let mut run = request.stream();
        let mut in_between = Vec::new();
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::TaskStarted { .. } | EventKind::TaskFinished { .. }) {
                let read = rest_of_the_past(followed(), 12).await;
                in_between.push(read);
            }
        }
        run.finish().await.expect("no node fails").finished().expect("it ends");
        let all = known(&live.events());
        assert_eq!(events(&rest(early).await), all);
        assert_eq!(events(&rest(followed()).await), all);
        for (told, followed) in in_between.into_iter().chain([before]) {
            let told: Vec<_> = told.into_iter().chain(rest(followed).await).collect();
            assert_eq!(events(&told), all);
        }
    })
    .await;
}

/// Reads so many stored events.
async fn rest_of_the_past(mut followed: Followed, count: usize) -> (Vec<ThreadEvent>, Followed) {
    let mut told = Vec::new();
    while told.len() < count {
        told.extend(followed.next().await.expect("the store does not fail"));
    }
    (told, followed)
}

#[tokio::test]
async fn views_show_a_part_of_what_is_followed() {
    on_both_savers(|saver| async move {
        let (thread, _) = watched(chain(), &Stage::default(), &saver);
        let _first = thread.run(ran("first")).await.expect("no node fails");
        let mut request = thread.run(ran("second"));
        let feed = request.feed(1024);
        let followed = thread.events().expect("it has a checkpointer").view(View::Custom).follow(&feed);
        request.into_future().await.expect("no node fails").finished().expect("it ends");
        let late = thread.events().expect("it has a checkpointer").view(View::Custom).follow(&feed);
        for told in [rest(followed).await, rest(late).await] {
            let said = told.iter().map(|told| match &told.event.kind {
                EventKind::Custom { data, .. } => data.to_string(),
                other => format!("{other:?}"),
            });
            assert_eq!(said.collect::<Vec<_>>(), ["\"a\"", "\"b\"", "\"c\"", "\"a\"", "\"b\"", "\"c\""]);
        }
    })
    .await;
}
