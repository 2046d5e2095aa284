//! The checkpoint tree that contains a thread.

use superstep_core::checkpoint::{CheckpointerExt, Commit};

use super::bench::Bench;
use super::item::items;
use super::material::{commit_of, step, task, thread};
use super::verdict::{Verdict, equal};

items! { "lineage":
    is_the_whole_tree "A lineage has every checkpoint that goes back to the same first one, newest first, of branches and forks."
    is_the_same_from_every_thread_of_it "All threads that share a first checkpoint have the same lineage; others have their own."
    has_no_subgraphs "Checkpoints of subgraphs are in no lineage."
    shows_the_past_of_a_deleted_thread "What stays of a deleted thread is shown under the name that it had."
}

async fn is_the_whole_tree(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("fork")).await?;
    let forked = b.advance("fork", Some(&first), []).await?;
    let branch = step(Some(&first), []);
    b.put_as(Commit { expected: Some(second.id), ..commit_of("t", &branch) }).await?;
    let tree = b.saver.lineage(&thread("t")).await?;
    let lines: Vec<_> = tree.iter().map(|line| (line.id, line.parent, line.thread.as_str())).collect();
    let on_first = Some(first.id);
    let expected = [
        (branch.id, on_first, "t"),
        (forked.id, on_first, "fork"),
        (second.id, on_first, "t"),
        (first.id, None, "t"),
    ];
    equal("the tree", lines, expected)
}

async fn is_the_same_from_every_thread_of_it(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("fork")).await?;
    b.advance("fork", Some(&first), []).await?;
    b.advance("other", None, []).await?;
    let tree = b.saver.lineage(&thread("t")).await?;
    equal("how many it has", tree.len(), 2)?;
    equal("the fork's", b.saver.lineage(&thread("fork")).await?, tree)?;
    equal("the other's", b.saver.lineage(&thread("other")).await?, b.history("other").await?)
}

async fn has_no_subgraphs(b: &Bench<'_>) -> Verdict {
    b.advance("t", None, []).await?;
    b.advance(thread("t").below(task(1)).as_str(), None, []).await?;
    equal("the tree", b.saver.lineage(&thread("t")).await?, b.history("t").await?)
}

async fn shows_the_past_of_a_deleted_thread(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("fork")).await?;
    let forked = b.advance("fork", Some(&first), []).await?;
    b.advance("t", Some(&first), []).await?;
    b.delete("t").await?;
    let left = b.saver.lineage(&thread("fork")).await?;
    let left: Vec<_> = left.iter().map(|line| (line.id, line.thread.as_str())).collect();
    equal("the tree", left, [(forked.id, "fork"), (first.id, "t")])
}
