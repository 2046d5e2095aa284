//! A rerun uses no recorded results.

use superstep::checkpoint::Source;
use superstep::run::{CancellationToken, EventKind};

use super::*;

/// a, then b, which runs an effect and asks, then c.
fn asking(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("asking");
    let a = g.node("a", step);
    let b = g.node("b", async |ask: Ask<String, String>, task: TaskInfo, calls: Dep<Calls>, fx: Effects| {
        let done = step(task, calls, fx).await?;
        Ok::<_, Smashed>(done.ran([ask.ask("go on?".into()).await]))
    });
    let c = g.node("c", step);
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

#[tokio::test]
async fn a_rerun_is_a_branch_on_which_everything_happens_again() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asking(&stage, saver).thread("t");
        thread.run(Log::update()).await.expect("it asks").interrupted().map(drop).expect("it asks");
        thread.answer("yes").await.expect("it goes on").finished().map(drop).expect("it finishes");
        let trunk = texts(&thread).await;
        let old = thread.head().await.expect("it ran").id();
        assert_eq!(stage.calls.take(), ["a", "b", "c"]);

        let past = thread.before_named("b").await.expect("it ran");
        past.rerun().await.expect("it asks").interrupted().map(drop).expect("the old answer is not used");
        assert_eq!(stage.calls.take(), ["b"], "the old effect is not used");
        let again = thread.answer("no").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(again.ran, ["a!", "b!", "no", "c!"]);
        assert_eq!(stage.calls.take(), ["c"]);

        let fork = thread.at(old).await.expect("it is found by id").fork("old").await.expect("a new name");
        assert_eq!(texts(&fork).await, trunk, "what was there is as it was");
        let sources: Vec<Source> = thread
            .history()
            .expect("a store")
            .collect()
            .await
            .expect("it reads")
            .iter()
            .map(|line| line.source)
            .collect();
        assert_eq!(sources, [Source::Loop, Source::Loop, Source::Fork, Source::Loop, Source::Input]);
        assert_eq!((equal(&thread, &stage.calls).await, equal(&fork, &stage.calls).await), (3, 4));
    })
    .await;
}

#[tokio::test]
async fn a_rerun_is_watched_and_cancelled_like_any_run() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asking(&stage, saver).thread("t");
        thread.run(Log::update()).await.expect("it asks").interrupted().map(drop).expect("it asks");
        let past = thread.before_named("a").await.expect("it ran");
        let mut watched = past.rerun().stream();
        let mut started = Vec::new();
        while let Some(event) = watched.next().await {
            if let EventKind::TaskStarted { node, .. } = event.kind {
                started.push(node.to_string());
            }
        }
        watched.finish().await.expect("it asks").interrupted().map(drop).expect("it asks");
        assert_eq!(started, ["a", "b"]);
        let token = CancellationToken::new();
        token.cancel();
        let run = past.rerun().cancel_on(token).await.expect("it is cancelled");
        assert_eq!(run.status, Status::Cancelled);
        assert_eq!(thread.head().await.expect("it ran").source(), Source::Fork);
        thread.resume().await.expect("it asks").interrupted().map(drop).expect("the branch goes on");
        let run = thread.answer("now").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(run.ran, ["a!", "b!", "now", "c!"]);
    })
    .await;
}

#[tokio::test]
async fn a_rerun_of_the_input_runs_the_whole_turn() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asking(&stage, saver).thread("t");
        let input = thread.input(Log::update().topic("in")).await.expect("there is no other writer");
        let past = thread.at(input).await.expect("it is there");
        for _ in 0..2 {
            past.rerun().await.expect("it asks").interrupted().map(drop).expect("it asks");
            assert_eq!(stage.calls.take(), ["a", "b"]);
        }
        let run = thread.answer("yes").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(run.topic, "in");
        stage.calls.take();
        assert_eq!(equal(&thread, &stage.calls).await, 4);
    })
    .await;
}
