//! Lists of threads.

use superstep_core::checkpoint::{CheckpointerExt, Commit, ThreadScan, ThreadSummary};
use superstep_core::id::ThreadId;

use super::bench::Bench;
use super::item::items;
use super::material::{answered, ask, commit_of, described, due, failure, graph, schema, step, task, thread};
use super::verdict::{Verdict, equal, holds};

items! { "threads":
    an_empty_store_has_none "A fresh store lists nothing."
    are_listed_by_name "Threads are listed in the order of the bytes of their names."
    come_in_pages "A scan of threads begins after a name, ends at a limit, and leaves out other graphs and finished threads."
    tell_their_heads "A thread's line has its graph and the line of its head; for a fork, that of who wrote it."
    tell_their_open_questions "A thread's line has the questions that wait for an answer, in the order of asking."
    subgraphs_are_not_listed "Threads of subgraphs are on no list."
    unfinished_are_those_that_lead_on "Unfinished are the threads of a graph whose heads have something next."
    open_questions_are_listed_by_graph "The open questions of a graph's threads are listed by thread, in the order of asking."
    describing_a_graph_twice_changes_nothing "A description that is there already is left alone."
}

fn names(threads: &[ThreadSummary]) -> Vec<&str> {
    threads.iter().map(|summary| summary.thread.as_str()).collect()
}

async fn an_empty_store_has_none(b: &Bench<'_>) -> Verdict {
    equal("the threads", b.names().await?.len(), 0)?;
    equal("the unfinished", b.saver.unfinished(&"graph".into()).await?.len(), 0)?;
    equal("the open questions", b.saver.open_asks(&"graph".into()).await?.len(), 0)?;
    equal("the expired", b.saver.expire(&"graph".into(), None, u64::MAX).await?.len(), 0)?;
    equal("the lineage of a thread", b.saver.lineage(&thread("t")).await?.len(), 0)
}

async fn are_listed_by_name(b: &Bench<'_>) -> Verdict {
    for name in ["b", "a", "ä", "B", "ab"] {
        b.advance(name, None, []).await?;
    }
    equal("the names", b.names().await?, ["B", "a", "ab", "b", "ä"])
}

async fn come_in_pages(b: &Bench<'_>) -> Verdict {
    for name in ["a", "b", "c", "d"] {
        b.advance(name, None, []).await?;
    }
    let page = |after: Option<&str>, limit| ThreadScan {
        after: after.map(ThreadId::from),
        limit: Some(limit),
        ..ThreadScan::default()
    };
    equal("the first page", names(&b.saver.threads_of(page(None, 2)).await?), ["a", "b"])?;
    equal("the next page", names(&b.saver.threads_of(page(Some("b"), 2)).await?), ["c", "d"])?;
    equal("the page after the last", b.saver.threads_of(page(Some("d"), 2)).await?, [])?;
    equal("after a name of no thread", names(&b.saver.threads_of(page(Some("bb"), 9)).await?), ["c", "d"])?;
    equal("a page of nothing", b.saver.threads_of(page(None, 0)).await?, [])?;
    let other = ThreadScan { graph: Some("another graph".into()), ..ThreadScan::default() };
    equal("the threads of another graph", b.saver.threads_of(other).await?, [])
}

async fn tell_their_heads(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    let threads = b.saver.threads().await?;
    equal("the names", names(&threads), ["t", "u"])?;
    equal("the graphs", threads.iter().map(|line| line.graph.as_str()).collect::<Vec<_>>(), ["graph"; 2])?;
    let history = b.history("t").await?;
    equal("the head of the one", (&threads[0].head, threads[0].head.id), (&history[0], second.id))?;
    equal("the head of the fork, which the one has written", &threads[1].head, &history[1])
}

async fn tell_their_open_questions(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&thread("t"), first.id, vec![ask(3), ask(1), ask(2)]).await?;
    b.saver.answer_all(&thread("t"), vec![(ask(1).id, super::material::json("1"))]).await?;
    let threads = b.saver.threads().await?;
    equal("the open questions", &threads[0].open_asks, &[ask(3), ask(2)])?;
    equal("all questions", b.head("t").await?.asks, [ask(3), answered(ask(1), "1"), ask(2)])
}

async fn subgraphs_are_not_listed(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, []).await?;
    b.saver.ask(&below, inner.id, vec![ask(1)]).await?;
    equal("the threads", b.names().await?, ["t"])?;
    equal("the unfinished", names(&b.saver.unfinished(&"graph".into()).await?), ["t"])?;
    equal("the open questions", b.saver.open_asks(&"graph".into()).await?.len(), 0)
}

async fn unfinished_are_those_that_lead_on(b: &Bench<'_>) -> Verdict {
    for name in ["begun", "failed", "paused", "finished", "left"] {
        b.advance(name, None, []).await?;
    }
    let failed_at = b.head("failed").await?.checkpoint.id;
    b.saver.fail(&thread("failed"), failed_at, failure(1, "boom")).await?;
    let paused_at = b.head("paused").await?.checkpoint.id;
    b.saver.ask(&thread("paused"), paused_at, vec![ask(1)]).await?;
    for (name, next) in [("finished", None), ("left", Some("__end__"))] {
        let mut end = step(Some(&b.head(name).await?.checkpoint), []);
        match next {
            None => end.frontier.tasks.clear(),
            Some(node) => end.frontier.tasks[0].node = node.into(),
        }
        b.put(name, &end).await?;
    }
    b.saver.fork(&thread("begun"), b.head("begun").await?.checkpoint.id, &thread("a fork")).await?;
    let elsewhere = Commit { graph: "another".into(), ..commit_of("elsewhere", &step(None, [])) };
    b.put_as(elsewhere).await?;

    let mut expected = b.saver.threads().await?;
    expected.retain(|line| line.graph == "graph" && !line.head.next.is_empty());
    let unfinished = b.saver.unfinished(&"graph".into()).await?;
    equal("the unfinished of all threads", &unfinished, &expected)?;
    equal("their names", names(&unfinished), ["a fork", "begun", "failed", "paused"])?;
    equal("their open questions", &unfinished[3].open_asks, &[ask(1)])?;
    equal("of another graph", names(&b.saver.unfinished(&"another".into()).await?), ["elsewhere"])
}

async fn open_questions_are_listed_by_graph(b: &Bench<'_>) -> Verdict {
    for name in ["b", "a"] {
        let first = b.advance(name, None, []).await?;
        b.saver.ask(&thread(name), first.id, vec![due(2, 5), ask(1)]).await?;
    }
    b.saver.answer_all(&thread("b"), vec![(ask(1).id, super::material::json("1"))]).await?;
    let open = b.saver.open_asks(&"graph".into()).await?;
    let expected = [(thread("a"), due(2, 5)), (thread("a"), ask(1)), (thread("b"), due(2, 5))];
    equal("the open questions", open, expected)?;
    equal("those of another graph", b.saver.open_asks(&"another".into()).await?.len(), 0)
}

async fn describing_a_graph_twice_changes_nothing(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut renamed = graph();
    renamed.name = "renamed".into();
    b.saver.register(&renamed).await?;
    let mut wider = schema();
    wider.fields.push(super::material::field("e"));
    b.saver.register(&described(wider)).await?;
    let loaded = b.head("t").await?;
    equal("the schema", loaded.schema, schema())?;
    equal("the graph of the thread", loaded.graph.as_str(), "graph")?;
    b.advance("t", Some(&first), []).await?;
    holds("the graph goes on", b.names().await? == ["t"])
}
