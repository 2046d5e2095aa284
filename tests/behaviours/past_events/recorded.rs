//! Custom events, stored with the checkpoint of their superstep.

use superstep::checkpoint::{At, CheckpointerExt};

use super::*;
use crate::support::{Smashed, on_both_savers};

/// The emitted events, in order: node and data, or the number of dropped ones.
fn said(events: &[PastEvent]) -> Vec<String> {
    let said = events.iter().filter_map(|past| match &past.event.kind {
        EventKind::Custom { node, data, .. } => Some(format!("{node} {data}")),
        EventKind::MessageChunk { node, chunk, .. } => Some(format!("{node} chunk {chunk}")),
        EventKind::EmittedDropped { node, count, .. } => Some(format!("{node} lost {count}")),
        _ => None,
    });
    said.collect()
}

/// `loud` emits, and fails while it is broken; `beside` emits and is finished by then.
fn fragile() -> StateGraph<Log, Stage> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let beside = g.node("beside", mark);
    let loud = g.node("loud", async |stage: Dep<Stage>, emit: Emit| {
        emit.message("piece");
        tokio::task::yield_now().await;
        stage.broken.check("loud")?;
        emit.emit("done", &1);
        Ok::<_, Smashed>(ran("loud"))
    });
    g.edge(START, beside);
    g.edge(START, loud);
    g.edge(beside, END);
    g.edge(loud, END);
    g
}

#[tokio::test]
async fn nothing_is_kept_unless_requested() {
    on_both_savers(|saver| async move {
        let graph = chain().compile().expect("sound").with_context(Stage::default());
        let thread = graph.shared_checkpointer(Arc::clone(&saver)).thread("t");
        let _run = thread.run(ran("in")).await.expect("no node fails");
        assert!(said(&past(&thread).await).is_empty());
        let steps = saver.steps(thread.id(), At::Head, 100).await.expect("the store does not fail");
        assert!(steps.len() == 5 && steps.iter().all(|step| step.emitted.is_empty()));
        let _run = thread.run(ran("in")).record_events().await.expect("no node fails");
        assert_eq!(said(&past(&thread).await), ["a \"a\"", "b \"b\"", "c \"c\""], "one run asks");
    })
    .await;
}

/// An unfinished superstep is run again: the events of its finished task are there once, and so are those of the other
/// task, which emits when it runs again.
#[tokio::test]
async fn what_is_emitted_twice_is_kept_once() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("loud");
        let (thread, live) = watched(fragile(), &stage, &saver);
        thread.run(ran("in")).await.expect_err("it is broken");
        assert_eq!(said(&past(&thread).await), ["beside \"beside\""], "with the result of its task");
        thread.resume().await.expect_err("it is still broken");
        stage.broken.mend("loud");
        thread.resume().await.expect("all is mended").finished().expect("it ends");
        let pieces =
            live.events().iter().filter(|event| matches!(event.kind, EventKind::MessageChunk { .. })).count();
        assert_eq!(pieces, 3, "live it was there three times");
        assert_eq!(said(&past(&thread).await), ["beside \"beside\"", "loud chunk \"piece\"", "loud 1"]);
    })
    .await;
}

/// The program is killed in the middle of a superstep, and another one continues.
#[tokio::test]
async fn what_is_kept_survives_the_program() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.db");
    let open = || async {
        let saver: Arc<dyn Checkpointer> = Arc::new(SqliteSaver::open(&path).await.expect("it opens"));
        saver
    };
    let mut g = chain();
    let (after, hang) = (
        g.node("after", mark),
        g.node("hang", async |stage: Dep<Stage>, emit: Emit| {
            emit.emit("hangs", &true);
            if !stage.calls.take().is_empty() {
                std::future::pending::<()>().await;
            }
            ran("hang")
        }),
    );
    let start = |g: &mut StateGraph<Log, Stage>, after, hang| {
        g.edge(START, after);
        g.edge(after, hang);
        g.edge(hang, END);
    };
    start(&mut g, after, hang);
    let stage = Stage::default();
    stage.calls.note("hang");
    let saver = open().await;
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let graph = graph.record_events();
    let thread = graph.clone().shared_checkpointer(saver).thread("t");
    let mut run = thread.run(ran("in")).stream();
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::Custom { ref name, .. } if name == "hangs") {
            break;
        }
    }
    drop((run, thread));

    let thread = graph.clone().shared_checkpointer(open().await).thread("t");
    let before = said(&past(&thread).await);
    assert!(!before.iter().any(|said| said.starts_with("hang")), "{before:?}");
    thread.resume().await.expect("no node fails").finished().expect("it ends");
    drop(thread);
    let thread = graph.shared_checkpointer(open().await).thread("t");
    let kept = said(&past(&thread).await);
    assert_eq!(kept.iter().filter(|said| *said == "hang true").count(), 1, "{kept:?}");
    assert_eq!(kept[..before.len()], before);
}

/// The oldest events of all tasks are dropped first, and their number is reported.
#[tokio::test]
async fn of_a_superstep_so_much_is_kept() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [a, b] = ["a", "b"].map(|name| {
            g.node(name, async |emit: Emit| {
                for number in 0..10 {
                    emit.emit("n", &number);
                    tokio::task::yield_now().await;
                }
            })
        });
        for node in [a, b] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").with_context(Stage::default());
        // There is room for 12: an event takes its text and 32 bytes.
        let thread = graph.shared_checkpointer(saver).record_events_up_to(12 * 34).thread("t");
        let _run = thread.run(ran("in")).await.expect("no node fails");
        let mut kept = vec!["a lost 8".to_owned(), "a 8".into(), "a 9".into()];
        kept.extend((0..10).map(|number| format!("b {number}")));
        assert_eq!(said(&past(&thread).await), kept);
    })
    .await;
}

#[tokio::test]
async fn an_emitter_knows_that_it_is_heard() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", async |emit: Emit| ran(emit.is_observed().to_string()));
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound").with_context(Stage::default());
    let heard = |graph: Graph<Log>| async move {
        graph.run(ran("in")).await.expect("no node fails").into_state().ran.pop().expect("it ran")
    };
    assert_eq!(heard(graph.clone()).await, "false");
    assert_eq!(heard(graph.clone().record_events()).await, "false", "without a checkpointer nothing is kept");
    assert_eq!(heard(graph.record_events().checkpointer(MemorySaver::new())).await, "true");
}
