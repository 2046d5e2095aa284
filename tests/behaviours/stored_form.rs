//! The content and the cost of a checkpoint.

use superstep::checkpoint::Source;
use superstep::driver::state::Logged;
use superstep::prelude::*;

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
    n: u32,
}

/// LangGraph stores a version of every channel, including START and the edges, and the versions that each node has
/// seen.
#[tokio::test]
async fn j07_a_checkpoint_holds_what_changed_what_ran_and_what_is_next() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", async || Log::update().v(["a"]));
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        thread.run(Log::update().v(["i"])).await.unwrap().finished().unwrap();
        let mut lines = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap() {
            let past = thread.at(summary.id).await.unwrap();
            let checkpoint = &past.loaded().checkpoint;
            let changes = checkpoint.changes.iter().flat_map(|change| &change.ops);
            let changes: Vec<_> = changes.map(|op| format!("{} {}", op.name(), op.operand())).collect();
            let ran = checkpoint.tasks.iter().map(|task| {
                let writes = task.writes.iter().map(|write| match &write.write {
                    Logged::Op(op) => format!("{} {}", op.name(), op.operand()),
                    other => format!("{other:?}"),
                });
                format!("{}: {}", task.node, writes.collect::<Vec<_>>().join(", "))
            });
            let ran: Vec<_> = ran.collect();
            let next: Vec<_> = checkpoint.frontier.nodes().map(|node| node.as_str()).collect();
            let values: Vec<_> = past.loaded().values.iter().map(|value| value.value.to_string()).collect();
            assert!(past.loaded().results.is_empty() && checkpoint.metadata.is_empty());
            lines.push((
                checkpoint.source,
                checkpoint.step,
                changes.join(""),
                ran.join(""),
                next.join(""),
                values.join(" "),
            ));
        }
        let line = |source, step, changes: &str, ran: &str, next: &str, values: &str| {
            (source, step, changes.to_owned(), ran.to_owned(), next.to_owned(), values.to_owned())
        };
        let expected = [
            line(Source::Loop, 1, r#"extend ["a"]"#, r#"a: extend ["a"]"#, "", r#"["i","a"]"#),
            line(Source::Loop, 0, r#"extend ["i"]"#, r#"__start__: extend ["i"]"#, "a", r#"["i"]"#),
            line(Source::Input, -1, "", "", "__start__", ""),
        ];
        assert_eq!(lines, expected);
    })
    .await;
}

/// In LangGraph each checkpoint grows with the nodes of the graph: a hundred of them take 14 KB.
#[tokio::test]
async fn l04_a_checkpoint_costs_the_same_however_many_nodes_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut largest = Vec::new();
    for nodes in [10_u32, 100] {
        let mut g = StateGraph::<Log>::new("chain");
        let names = (100..100 + nodes).map(|number| format!("n{number}"));
        let chain: Vec<_> = names.map(|name| g.node(name, async || Log::update().n(1))).collect();
        g.edge(START, chain[0]);
        for pair in chain.windows(2) {
            g.edge(pair[0], pair[1]);
        }
        g.edge(chain[chain.len() - 1], END);
        let path = folder.path().join(format!("{nodes}.db"));
        let options = SqliteSaver::options().durability(Durability::Process);
        let graph = g.compile().unwrap().checkpointer(options.open(&path).await.unwrap());
        graph.thread("1").run(Log::update().n(0)).await.unwrap().finished().unwrap();
        drop(graph);
        let file = rusqlite::Connection::open(&path).unwrap();
        let sql = "SELECT max(length(changes) + length(manifest) + coalesce(length(fields), 0)), count(*) \
                   FROM checkpoint";
        let (bytes, count): (u32, u32) =
            file.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(count, nodes + 2);
        largest.push(bytes);
    }
    let [few, many]: [u32; 2] = largest.try_into().unwrap();
    assert!(many <= few + 32, "{few} bytes with 10 nodes, {many} with 100");
    assert!(many < 400, "{many} bytes");
}

/// LangGraph's Postgres saver stores texts and numbers in every checkpoint.
#[tokio::test]
async fn n05_a_value_that_did_not_change_is_stored_once() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Log>::new("g");
        let [a, b] = ["a", "b"].map(|name| g.node(name, move || async move { Log::update().v([name]) }));
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        thread.run(Log::update().n(7)).await.unwrap().finished().unwrap();
        let mut stored = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap() {
            let past = thread.at(summary.id).await.unwrap();
            let changes = &past.loaded().checkpoint.changes;
            let changed: Vec<_> =
                changes.iter().map(|change| past.loaded().schema.field(change.field).name.clone()).collect();
            stored.push((past.step(), past.state().n, changed.join(" ")));
        }
        let line = |step, n, changed: &str| (step, n, changed.to_owned());
        assert_eq!(stored, [line(2, 7, "v"), line(1, 7, "v"), line(0, 7, "n"), line(-1, 0, "")]);
    })
    .await;
}
