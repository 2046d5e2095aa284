//! Subgraphs are replayed from their own threads.

use superstep::node::NoInput;
use superstep::run::WhyUnverified;

use super::*;

#[derive(Route, Clone, serde::Serialize, serde::Deserialize)]
enum Handoff {
    Human(String),
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Found {
    Enough,
    Strange,
}

/// look runs an effect and returns `said`; ask asks; a strange topic leaves by the exit.
fn inner(said: &'static str) -> Graph<Log, Stage> {
    let mut g = StateGraph::<Log, Stage>::new("inner");
    let look = g.node("look", move |log: Snapshot<Log>, calls: Dep<Calls>, fx: Effects| async move {
        let done = fx.run("look", || async {
            calls.note("look");
            Ok::<_, Smashed>(log.ran.len())
        });
        let found = if log.topic == "strange" { Found::Strange } else { Found::Enough };
        done.await.map(|number| (ran(format!("{said} {number}")), found))
    });
    let ask = g.node("ask", async |ask: Ask<String, String>| ran(ask.ask("who?".into()).await));
    let out = g.exit::<Handoff>();
    g.edge(START, look);
    g.route(look, move |found| match found {
        Found::Enough => to(ask),
        Found::Strange => out.with(Handoff::Human("help".into())),
    });
    g.edge(ask, END);
    g.compile().expect("sound")
}

/// The subgraph, with its state kept or not, beside a node; then possibly a human.
fn outer(stage: &Stage, keeps: bool, said: &'static str, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let lens = Lens::new().give(Log::TOPIC, Log::TOPIC).share(Log::RAN, Log::RAN).exits::<Handoff>();
    around(stage, if keeps { lens.keep("inner") } else { lens }, said, saver)
}

/// The same, with any lens.
fn around(
    stage: &Stage,
    lens: Lens<Log, Log, NoInput, Exited<Handoff>>,
    said: &'static str,
    saver: Arc<dyn Checkpointer>,
) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("outer");
    let sub = g.subgraph("sub", inner(said), lens);
    let [beside, human] = ["beside", "human"].map(|name| g.node(name, step));
    g.edge(START, sub);
    g.edge(START, beside);
    g.edge(beside, END);
    g.route(sub, move |exited| match exited {
        Exited::Finished => END,
        Exited::With(Handoff::Human(_)) => to(human),
    });
    g.edge(human, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

/// A turn that asks and is answered, and one that leaves by the exit.
async fn two_turns(thread: &Thread<Log>) {
    thread
        .run(Log::update().topic("plain"))
        .await
        .expect("it asks")
        .interrupted()
        .map(drop)
        .expect("it asks");
    thread.answer("ada").await.expect("it goes on").finished().map(drop).expect("it finishes");
    thread
        .run(Log::update().topic("strange"))
        .await
        .expect("it runs")
        .finished()
        .map(drop)
        .expect("it finishes");
}

#[tokio::test]
async fn subgraphs_with_questions_exits_and_kept_state_come_out_byte_for_byte() {
    for keeps in [false, true] {
        on_both_savers(|saver| async move {
            let stage = Stage::default();
            let thread = outer(&stage, keeps, "looked", saver).thread("t");
            two_turns(&thread).await;
            // Two and three supersteps at the top; three and two below.
            assert_eq!(equal(&thread, &stage.calls).await, 10);
        })
        .await;
    }
}

#[tokio::test]
async fn a_divergence_inside_names_the_path() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        two_turns(&outer(&stage, true, "looked", Arc::clone(&saver)).thread("t")).await;
        let thread = outer(&stage, true, "saw", saver).thread("t");
        let replay = replay(&thread, &stage.calls).await;
        assert_eq!((replay.supersteps, replay.divergent), (8, 2), "the graph around it is as it was");
        let text = replay.first.expect("it says something else").to_string();
        assert!(
            text.starts_with(
                "step 1 of sub, node look: tasks[0].writes[0].write.op.extend[0] (field ran) is recorded as \
                 \"looked 0\", and came out as \"saw 0\" (checkpoint "
            ),
            "{text}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_a_subgraph_is_given_is_compared_too() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        two_turns(&outer(&stage, false, "looked", Arc::clone(&saver)).thread("t")).await;
        let lens = Lens::new()
            .give_with(|_: &Log| Log::update().topic("else"))
            .share(Log::RAN, Log::RAN)
            .exits::<Handoff>();
        let graph = around(&stage, lens, "looked", saver);
        let found = first(&graph.thread("t"), &stage.calls).await;
        assert!(found.to_string().starts_with("step -1 of sub: frontier.tasks[0].input"), "{found}");
    })
    .await;
}

#[tokio::test]
async fn the_subgraphs_of_a_deleted_trunk_are_taken_as_they_are_recorded() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = outer(&stage, false, "looked", saver);
        let thread = graph.thread("t");
        two_turns(&thread).await;
        let fork = thread.head().await.expect("it ran").fork("fork").await.expect("a new name");
        assert_eq!(equal(&fork, &stage.calls).await, 10, "a fork shares the past with its subgraphs");
        thread.delete().await.expect("it is this graph's");
        let replay = replay(&fork, &stage.calls).await;
        let why: Vec<_> = replay.unverified.iter().map(|task| (task.node.as_str(), &task.why)).collect();
        assert_eq!(why, [("sub", &WhyUnverified::Subgraph), ("sub", &WhyUnverified::Subgraph)]);
        assert_eq!(replay.agrees().expect("the rest is verified").supersteps, 5);
    })
    .await;
}

#[tokio::test]
async fn a_fork_or_a_branch_in_the_middle_of_a_subgraph_continues_there_and_is_replayed() {
    for branches in [false, true] {
        on_both_savers(|saver| async move {
            let stage = Stage::default();
            let graph = outer(&stage, false, "looked", Arc::clone(&saver));
            let thread = graph.thread("t");
            two_turns(&thread).await;
            let history = thread.history().expect("a store").collect().await.expect("it reads");
            // The first turn has steps -1 to 1.
            let before = history.iter().find(|line| line.step == 0).expect("it ran");
            let past = thread.at(before.id).await.expect("it is there");
            let levels = past.subgraphs().await.expect("the store reads");
            let [level] = levels.as_slice() else { panic!("{levels:?}") };
            let inside = inner("looked").with_context(stage.clone()).shared_checkpointer(saver);
            let middle =
                inside.thread(level.thread.clone()).before_named("ask").await.expect("it asked").id();
            stage.calls.take();
            let other = if branches {
                past.branch_below(&level.thread, middle).await.map(drop).expect("there is no other writer");
                thread.clone()
            } else {
                past.fork_below("fork", &level.thread, middle).await.expect("a new name")
            };
            other.resume().await.expect("it asks").interrupted().map(drop).expect("it asks again");
            let run = other.answer("bob").await.expect("it goes on").finished().expect("it finishes");
            assert_eq!(run.ran, ["beside!", "looked 0", "bob"]);
            assert_eq!(stage.calls.take(), ["beside"], "what came before the middle is not repeated");
            // A branch begins with a copy, which is not replayed.
            assert_eq!(equal(&other, &stage.calls).await, if branches { 4 } else { 5 });
        })
        .await;
    }
}
