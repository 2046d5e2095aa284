//! Runs are recorded, and replayed from the recordings.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::node::{IntoNode, NoInput};
use superstep::prelude::*;
use superstep::testing::{Cassette, CassetteError};

use crate::testing::program::{Deps, Essay, World, essay, essays};

/// A thread whose essay was refused once and then accepted.
async fn recorded(saver: Arc<dyn Checkpointer>) -> (Thread<Essay>, Essay) {
    let thread = essays(&World::there()).shared_checkpointer(saver).thread("rust");
    let _asked = thread.run(essay("Rust")).await.unwrap();
    let _asked = thread.answer("bad").await.unwrap();
    let essay = thread.answer("good").await.unwrap().finished().unwrap();
    (thread, essay)
}

async fn cassette() -> (Cassette, Essay) {
    let (thread, essay) = recorded(Arc::new(MemorySaver::new())).await;
    (Cassette::of(&thread).await.unwrap(), essay)
}

/// The error of a run whose cassette lacks a recording.
async fn miss(graph: Graph<Essay>, cassette: &Cassette) -> String {
    let RunError::Node(failure) = graph.with_cassette(cassette).run(essay("Rust")).await.unwrap_err() else {
        panic!("the node fails");
    };
    let said = failure.error.to_string();
    let CassetteError::Missed { reports } = cassette.finish().unwrap_err() else { panic!("it was missed") };
    assert!(said.contains(&reports[0]), "{said}");
    said
}

#[tokio::test]
async fn a_run_is_answered_by_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let savers: [Arc<dyn Checkpointer>; 2] = [
        Arc::new(MemorySaver::new()),
        Arc::new(SqliteSaver::open(folder.path().join("essays.db")).await.unwrap()),
    ];
    let mut texts = Vec::new();
    for saver in savers {
        let (thread, was) = recorded(saver).await;
        let cassette = Cassette::of(&thread).await.unwrap();
        let path = folder.path().join("cassettes/rust.json");
        cassette.save(&path).unwrap();
        let cassette = Cassette::load(&path).unwrap();

        // No checkpointer is needed, because nothing pauses; and no call is made.
        let essays = essays(&World::absent()).with_cassette(&cassette);
        let is = essays.run(essay("Rust")).await.unwrap().finished().unwrap();
        assert_eq!(is, was);
        cassette.finish().unwrap();
        texts.push(cassette.to_json());
    }
    let shape = |text: &String| text.lines().filter(|line| !line.contains("\"ok\"")).count();
    assert_eq!(shape(&texts[0]), shape(&texts[1]));
}

#[tokio::test]
async fn a_cassette_can_be_read() {
    let mut g = StateGraph::<Essay>::new("g");
    let write = g.node("write", async |fx: Effects, ask: Ask<String, bool>| {
        let text = fx.run_keyed("draft", "a", async || Ok::<_, String>(["one", "two"].concat())).await?;
        let failed = fx.run("spell", async || Err::<(), _>("no dictionary".to_owned())).await;
        ask.ask("fine?".into()).await;
        Ok::<_, String>(Essay::update().draft(text).rounds(u32::from(failed.is_err())))
    });
    g.edge(START, write);
    g.edge(write, END);
    let thread = g.compile().unwrap().checkpointer(MemorySaver::new()).thread("t");
    let _asked = thread.run(Essay::update()).await.unwrap();
    let _done = thread.answer(&true).await.unwrap();
    let text = Cassette::of(&thread).await.unwrap().to_json();
    assert_eq!(
        text,
        r#"{
  "version": 1,
  "recordings": [
    {
      "node": "write",
      "step": 1,
      "effect": "draft",
      "key": "a",
      "ok": "onetwo"
    },
    {
      "node": "write",
      "step": 1,
      "effect": "spell",
      "err": "no dictionary"
    },
    {
      "node": "write",
      "step": 1,
      "asks": "1",
      "question": "fine?",
      "answer": true
    }
  ]
}
"#
    );
    assert_eq!(Cassette::parse(&text).unwrap().to_json(), text);
}

#[tokio::test]
async fn a_changed_graph_runs_on_an_old_cassette() {
    let (cassette, was) = cassette().await;
    // With another node in front, every step number is different.
    let mut g = StateGraph::<Essay>::new("outer");
    let greet = g.node("greet", async || Essay::update().rounds(10u32));
    let again = g.node("write", async |essay: Snapshot<Essay>, fx: Effects| {
        let number = fx.uuid().await;
        let text: String = fx.run("draft", async || Err::<_, String>("a live call".into())).await?;
        Ok::<_, String>(Essay::update().draft(format!("{text} {number}")).rounds(essay.rounds + 1))
    });
    g.edge(START, greet);
    g.edge(greet, again);
    g.branch(
        again,
        |essay: &Essay| if essay.rounds < 12 { Again::Yes } else { Again::No },
        move |go| match go {
            Again::Yes => to(again),
            Again::No => END,
        },
    );
    let essays = g.compile().unwrap().with_cassette(&cassette);
    let is = essays.run(essay("Rust")).await.unwrap().finished().unwrap();
    let (first, number) = was.draft.split_once(": ").unwrap();
    assert_eq!(is.draft, format!("{first} {}", number.rsplit_once(' ').unwrap().1), "the second of two");
    let unused = cassette.unused().join("\n");
    assert!(!unused.contains("draft") && unused.contains("search"), "{unused}");
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Again {
    Yes,
    No,
}

#[tokio::test]
async fn a_miss_names_the_nearest_recording() {
    let (cassette, _) = cassette().await;
    let said = miss(essays(&World { prompt: "the ", ..World::absent() }), &cassette).await;
    assert_eq!(
        said,
        "the cassette has no effect \"search\" with key \"the history\" of node research (step 2, item 0)\n  \
         nearest recording: effect \"search\" with key \"history\" of node research (step 2, item 0), not used yet\n    \
         key here:  [the ]history\n    recorded:  []history"
    );
}

/// A graph of one node.
fn alone<Signature, N>(name: &str, node: N) -> Graph<Essay>
where
    N: IntoNode<Essay, (), Signature, Input = NoInput, Route = ()>,
{
    let mut g = StateGraph::<Essay>::new("g");
    let node = g.node(name, node);
    g.policy(node)
        .retry(Retry::fixed(3, Duration::ZERO))
        .on_error(async |_failed: Failed| Essay::update().draft("handled"));
    g.edge(START, node);
    g.edge(node, END);
    g.compile().unwrap()
}

async fn live<T>() -> Result<T, String> {
    panic!("a live call")
}

#[tokio::test]
async fn a_miss_is_reported_whatever_the_node_makes_of_errors() {
    let search = async |fx: Effects| {
        let _whatever = fx.run_keyed("search", "history", live::<String>).await;
        Ok::<_, String>(Essay::update())
    };
    let said = miss(alone("look_up", search), &cassette().await.0).await;
    assert_eq!(
        said,
        "the cassette has no effect \"search\" with key \"history\" of node look_up (step 1)\n  nearest recording: \
         effect \"search\" with key \"history\" of node research (step 2, item 0), not used yet\n    the node differs"
    );

    let find = async |fx: Effects| {
        let _whatever = fx.run_keyed("find", "people", live::<String>).await;
        Ok::<_, String>(Essay::update())
    };
    let said = miss(alone("research", find), &cassette().await.0).await;
    assert_eq!(
        said,
        "the cassette has no effect \"find\" with key \"people\" of node research (step 1)\n  nearest recording: \
         effect \"search\" with key \"people\" of node research (step 2, item 1), not used yet\n    the name differs"
    );

    let polish = async |fx: Effects| {
        let _whatever = fx.run("polish", live::<String>).await;
        Ok::<_, String>(Essay::update())
    };
    let said = miss(alone("write", polish), &cassette().await.0).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "the cassette has no effect \"polish\" of node write (step 1)",
            "  of node write there are:",
            "    effect \"$uuid\" of node write (step 3), not used yet",
        ]
    );

    let tidy = async |fx: Effects| {
        let _now = fx.now().await;
        Ok::<_, String>(Essay::update())
    };
    let said = miss(alone("tidy", tidy), &cassette().await.0).await;
    assert_eq!(
        said,
        "the cassette has no effect \"$now\" of node tidy (step 1)\n  nothing is recorded for this node, but for \
         research, review, write"
    );
}

#[tokio::test]
async fn a_recording_that_is_used_up_is_a_miss() {
    let (cassette, _) = cassette().await;
    let write = async |fx: Effects| {
        for _ in 0..2 {
            let _text: String = fx.run("draft", live).await?;
        }
        Ok::<_, String>(Essay::update())
    };
    let said = miss(alone("write", write), &cassette).await;
    assert_eq!(
        said,
        "the cassette has no effect \"draft\" of node write (step 1, after 1 of the same)\n  it is recorded 2 times, \
         at step 3 and step 5"
    );
}

#[tokio::test]
async fn unused_recordings_are_an_error() {
    let (cassette, _) = cassette().await;
    let essays = essays(&World::absent()).with_cassette(&cassette);
    // The new program needs no facts.
    let _essay = essays.run(essay("nothing")).await.unwrap().finished().unwrap();
    assert_eq!(
        cassette.finish().unwrap_err().to_string(),
        "2 recordings of the cassette were not used:\n  effect \"search\" with key \"history\" of node research (step \
         2, item 0)\n  effect \"search\" with key \"people\" of node research (step 2, item 1)"
    );
}

#[tokio::test]
#[should_panic(expected = "recordings of the cassette were not used:\n  effect")]
async fn unused_recordings_end_a_test() {
    cassette().await.0.assert_all_used();
}

#[tokio::test]
async fn questions_can_be_left_to_the_test() {
    let (cassette, was) = cassette().await;
    let cassette = cassette.asking();
    let essays = essays(&World::absent()).checkpointer(MemorySaver::new()).with_cassette(&cassette);
    let thread = essays.thread("t");
    let asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    assert!(asked[0].question::<String>().unwrap().starts_with("Rust (1): history (1)"), "{asked:?}");
    let _asked = thread.answer("bad").await.unwrap().interrupted().unwrap();
    assert_eq!(thread.answer("good").await.unwrap().finished().unwrap(), was);
    cassette.finish().unwrap();
}

#[tokio::test]
async fn what_was_asked_and_not_recorded_pauses_the_thread() {
    let (_, was) = cassette().await;
    let thread = essays(&World::there()).checkpointer(MemorySaver::new()).thread("t");
    let _asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    let cassette = Cassette::of(&thread).await.unwrap();

    let essays = essays(&World::absent()).checkpointer(MemorySaver::new()).with_cassette(&cassette);
    let thread = essays.thread("t");
    let _asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    cassette.finish().unwrap();
    let essay = thread.answer("good").await.unwrap().finished().unwrap();
    assert_eq!(essay.rounds, was.rounds - 1);
}

#[tokio::test]
async fn a_missing_cassette_is_recorded_by_a_live_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/rust.json");
    assert!(
        Cassette::load(&path)
            .unwrap_err()
            .to_string()
            .ends_with("rust.json; record it with Cassette::record_or_replay where live runs are allowed")
    );

    let world = World::there();
    let cassette = Cassette::record(&path);
    let essays_of = |world: &World, cassette: &Cassette| {
        essays(world).checkpointer(MemorySaver::new()).with_cassette(cassette).thread("rust")
    };
    let thread = essays_of(&world, &cassette);
    let _asked = thread.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    let was = thread.answer("good").await.unwrap().finished().unwrap();
    cassette.finish().unwrap();
    assert_eq!(world.calls(), 3);
    // The same as in the journal.
    assert_eq!(cassette.to_json(), Cassette::of(&thread).await.unwrap().to_json());

    let cassette = Cassette::load(&path).unwrap();
    let is = essays_of(&World::absent(), &cassette).run(essay("Rust")).await.unwrap().finished().unwrap();
    assert_eq!(is, was);
    cassette.finish().unwrap();
}

#[tokio::test]
async fn failures_fail_again_and_attempts_share_a_recording() {
    let pay = |is_live: bool| {
        move |fx: Effects| async move {
            let paid = fx.run("pay", async || match is_live {
                true => Err::<u32, _>(Declined("card declined".into())),
                false => panic!("a live call"),
            });
            let paid = paid.await.map_err(NodeError::retryable)?;
            Ok::<_, NodeError>(Essay::update().rounds(paid))
        }
    };
    let thread = alone("pay", pay(true)).checkpointer(MemorySaver::new()).thread("t");
    let was = thread.run(Essay::update()).await.unwrap().finished().unwrap();
    assert_eq!(was.draft, "handled");

    let cassette = Cassette::of(&thread).await.unwrap();
    let said = miss(alone("pay", pay(false)), &cassette).await;
    assert!(
        said.starts_with(
            "effect `pay` is recorded as failed with \"card declined\", and no `behaviours::testing::cassette::"
        ) && said.ends_with("Declined` can be created from a text; add a constructor with Cassette::error_as"),
        "{said}"
    );

    let cassette = Cassette::of(&thread).await.unwrap().error_as(|text| Declined(text.into()));
    let is = alone("pay", pay(false)).with_cassette(&cassette).run(Essay::update()).await.unwrap();
    assert_eq!(is.finished().unwrap(), was);
    cassette.finish().unwrap();
}

#[tokio::test]
async fn subgraphs_and_their_items_are_distinguished() {
    let program = |world: World| {
        let mut inner = StateGraph::<Essay, Deps>::new("inner");
        let draft = inner.node("draft", async |world: Dep<World>, essay: Snapshot<Essay>, fx: Effects| {
            assert!(essay.rounds < 10);
            let text = fx.run("draft", || world.ask("text")).await?;
            Ok::<_, std::io::Error>(Essay::update().draft(text))
        });
        let check = inner.node("check", async |ask: Ask<String, String>| {
            Essay::update().facts([ask.ask("fine?".into()).await])
        });
        inner.edge(START, draft);
        inner.edge(draft, check);
        inner.edge(check, END);
        let inner = inner.compile().unwrap();
        let mut g = StateGraph::<Essay, Deps>::new("outer");
        let fan = g.node("fan", async || Fan::Out(vec![1, 2, 3]));
        let lens =
            Lens::new().item(|round: &u32| Essay::update().rounds(*round)).take_with(|inner: &Essay| {
                Essay::update().facts([format!("{}: {} {:?}", inner.rounds, inner.draft, inner.facts)])
            });
        let inner = g.subgraph("inner", inner, lens);
        g.edge(START, fan);
        g.route(fan, move |Fan::Out(items)| each(inner, items));
        g.edge(inner, END);
        g.compile().unwrap().with_context(Deps { world })
    };
    let thread = program(World::there()).checkpointer(MemorySaver::new()).thread("t");
    let asked = thread.run(Essay::update()).await.unwrap().interrupted().unwrap();
    let answers = asked.iter().zip(["a", "b", "c"]);
    let answers = answers.map(|(ask, answer)| (ask.id, superstep::state::Json::encode(answer).unwrap()));
    let was = thread.answers(answers).await.unwrap().finished().unwrap();

    let cassette = Cassette::of(&thread).await.unwrap();
    let text = cassette.to_json();
    assert_eq!((text.matches("\"effect\"").count(), text.matches("\"asks\"").count()), (3, 3), "{text}");
    let cassette = Cassette::parse(&text).unwrap();
    let graph = program(World::absent()).with_cassette(&cassette);
    assert_eq!(graph.run(Essay::update()).await.unwrap().finished().unwrap(), was);
    cassette.finish().unwrap();
}

/// An error with more than a text.
#[derive(Debug)]
struct Declined(String);

impl std::error::Error for Declined {}

impl std::fmt::Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Fan {
    Out(Vec<u32>),
}

#[tokio::test]
async fn secrets_are_not_on_a_cassette() {
    let program = || {
        alone("enter", async |essay: Snapshot<Essay>, fx: Effects| {
            let word = essay.token.clone();
            let door = fx.run("open", async || Ok::<_, String>(format!("open, {word}!"))).await?;
            let token = fx.run("token", async || Ok::<_, String>("fresh token".to_owned())).await?;
            Ok::<_, String>(Essay::update().draft(door).token(token))
        })
    };
    let thread = program().checkpointer(MemorySaver::new()).thread("t");
    let _essay = thread.run(essay("Rust")).await.unwrap().finished().unwrap();
    let journal = Cassette::of(&thread).await.unwrap().to_json();
    let recording = Cassette::record("never written");
    let _essay = program().with_cassette(&recording).run(essay("Rust")).await.unwrap().finished().unwrap();
    for text in [journal, recording.to_json()] {
        assert!(text.contains("\"open, <secret>!\"") && text.contains("\"<secret>\""), "{text}");
        assert!(!text.contains("sesame") && !text.contains("fresh"), "{text}");
    }
}
